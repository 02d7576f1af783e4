"""The part of the configuration that is about language models that write: which they are, and what they are held to."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from homogenization.config.base import ExpandedPath, Section, Weights, whole_numbers_count
from homogenization.run.errors import HomogenizationError
from homogenization.writers.prompts import load_prompt

# what each backend needs and takes, besides what both take
_OF_BACKEND = {
    "transformers": {"weights", "dtype", "device", "batch_size", "gpus", "billions"},
    "openai": {"model", "revision", "base_url", "api_key_variable", "connections", "timeout_seconds", "max_retries"},
}
# how the requests are sent; no answer depends on it
_OPERATIONAL = frozenset({"gpus", "billions", "connections", "timeout_seconds", "max_retries"})


def readable_prompt(path: str) -> str:
    """`path`, whose file has to hold a prompt."""
    try:
        load_prompt(Path(path))
    except HomogenizationError as error:
        raise ValueError(str(error)) from None
    return path


Prompt = Annotated[ExpandedPath, AfterValidator(readable_prompt)]


class Writer(Section):
    """A language model that finds key phrases or rewrites reviews: one of its own, or one behind an endpoint."""

    backend: Literal["transformers", "openai"] = Field(
        description="`transformers` runs the weights in the job; `openai` asks an OpenAI-compatible endpoint (vLLM, "
        "`transformers serve`, llama.cpp)."
    )
    weights: Weights | None = Field(None, description="transformers: an instruction-tuned model with a chat template.")
    dtype: Literal["float32", "bfloat16", "float16"] = Field("bfloat16", description="transformers: its precision.")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", description="transformers: `auto` is CUDA, then MPS, then CPU."
    )
    batch_size: int = Field(16, ge=1, description="transformers: requests a batch. Halves when memory runs out.")
    gpus: int = Field(1, ge=1, description="transformers: GPUs of a job. Nothing reruns.")
    billions: float | None = Field(
        None, gt=0, description="transformers: billions of parameters, as `models.NAME.billions`. Nothing reruns."
    )
    model: str | None = Field(None, min_length=1, description="openai: the endpoint's name for the model.")
    revision: str | None = Field(
        None, description="openai: your label of what is served (a commit, say); another label asks everything again."
    )
    base_url: str | None = Field(
        None,
        description="openai: address of the endpoint, to `/v1`. `$VARIABLES` in it are read in the job; null: "
        "`OPENAI_BASE_URL`.",
    )
    api_key_variable: str = Field(
        "OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="openai: environment variable that holds the key, for an endpoint that wants one.",
    )
    structured_output: Literal["json_schema", "json_object", "none"] = Field(
        "json_schema",
        description="How the form of answers is enforced: by their JSON schema, as some JSON object (openai alone), or "
        "by the prompt alone. Answers are read strictly in any case.",
    )
    connections: int = Field(8, ge=1, description="openai: requests at a time. Nothing reruns.")
    timeout_seconds: int = Field(120, ge=1, description="openai: patience for an answer. Nothing reruns.")
    max_retries: int = Field(6, ge=0, description="openai: further tries of a failed request. Nothing reruns.")
    temperature: float = Field(0.7, ge=0, description="Sampling temperature; 0: the most likely token each time.")
    top_p: float = Field(0.95, gt=0, le=1, description="Sampling is from the likeliest tokens of this probability.")
    max_new_tokens: int = Field(1024, ge=1, description="Longest answer in tokens; a longer one is rejected.")

    _numbers = field_validator("temperature", "top_p", "billions", mode="before")(whole_numbers_count)

    @model_validator(mode="after")
    def what_the_backend_needs(self) -> "Writer":
        """Keys of the other backend would be ignored, so they are refused."""
        other = next(keys for backend, keys in _OF_BACKEND.items() if backend != self.backend)
        foreign = sorted(other & self.model_fields_set)
        if foreign:
            raise ValueError(f"backend {self.backend!r} takes no {', '.join(foreign)}; leave them out")
        if self.backend == "openai" and self.model is None:
            raise ValueError("backend 'openai' needs 'model': the endpoint's name for the model")
        if self.backend == "transformers":
            if self.weights is None or self.weights.random is not None:
                raise ValueError("backend 'transformers' needs 'weights' of a trained model: hub, path or package")
            if self.structured_output == "json_object":
                raise ValueError("structured_output 'json_object' goes with backend 'openai'; use json_schema or none")
        return self

    def without_effect(self) -> set[str]:
        """How requests are sent, and what belongs to the other backend."""
        return set().union(_OPERATIONAL, *(keys for backend, keys in _OF_BACKEND.items() if backend != self.backend))


class Rewriting(Section):
    """What a rewriting by a language model is held to; the first candidate that passes is taken."""

    candidates: int = Field(4, ge=1, description="Candidates asked for, one after the other, until one passes.")
    min_coverage: float = Field(
        0.8, ge=0, le=1, description="Least share of a review's key phrases that stand in the candidate word for word."
    )
    max_distance: float = Field(
        0.35,
        ge=0,
        le=1,
        description="Largest mean distance of the key phrases from the end of the sentence where they shall be, as a "
        "fraction of the sentence; for variants with a `position`.",
    )
    length_ratio: list[float] = Field(
        [0.6, 1.5], min_length=2, max_length=2, description="Least and largest number of words, over the review's."
    )
    min_f1: float | None = Field(
        None, ge=0, le=1, description="Least BERTScore F1 against the review (`similarity`'s encoder); null: not asked."
    )

    _numbers = field_validator("min_coverage", "max_distance", "min_f1", mode="before")(whole_numbers_count)

    @field_validator("length_ratio", mode="before")
    @classmethod
    def bounds_in_order(cls, bounds: Any) -> Any:
        """YAML's whole numbers are ratios too; the lower one comes first."""
        if isinstance(bounds, list) and len(bounds) == 2 and all(type(bound) in (int, float) for bound in bounds):
            if not 0 <= bounds[0] < bounds[1]:
                raise ValueError(f"{bounds} is no range; write [least, largest], from 0 on")
            return [float(bound) for bound in bounds]
        return bounds
