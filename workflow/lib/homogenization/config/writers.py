"""The part of the configuration on language models that write: which they are, and how they are asked."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from homogenization.config.models import Device
from homogenization.config.weights import TrainedWeights
from homogenization.models.dtypes import Dtype
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import ExpandedPath, Option, without_nulls
from homogenization.writers.prompts import load_prompt


class Writer(Option):
    """A language model that finds key phrases or rewrites reviews.

    To add a backend, add a class here, list it in `AnyWriter`, and write the library module that it names, with a
    function `make_writer(entry, seed)` that returns a `homogenization.writers.requests.Writer`.
    """

    told_by: ClassVar[str] = "backend"
    module: ClassVar[str]

    temperature: float = Field(0.7, ge=0, description="Sampling temperature; 0: the most likely token each time.")
    top_p: float = Field(0.95, gt=0, le=1, description="Sampling is from the likeliest tokens of this probability.")
    max_new_tokens: int = Field(1024, ge=1, description="Longest answer in tokens; a longer one is rejected.")

    def built_files(self, results: str) -> list[str]:
        """Files below the folder `results` that the workflow makes of the writer's weights, where it has any."""
        return self.weights.built_files(results) if hasattr(self, "weights") else []


class LocalWriter(Writer):
    """A language model that runs in the job."""

    module: ClassVar[str] = "writers.local"

    backend: Literal["transformers"] = Field(description="`transformers` runs the weights in the job.")
    weights: TrainedWeights = Field(description="An instruction-tuned model with a chat template.")
    dtype: Dtype = Field("bfloat16", description="Precision.")
    device: Device = Field("auto", description="`auto`: CUDA, then MPS, then CPU.")
    batch_size: int = Field(16, ge=1, description="Requests of a batch. Halves when memory runs out.")
    structured_output: Literal["json_schema", "none"] = Field(
        "json_schema",
        description="How the form of answers is enforced: by their JSON schema, or by the prompt alone. Answers are "
        "read strictly in any case.",
    )
    gpus: int = Field(1, ge=1, exclude=True, description="GPUs of a job. Nothing reruns.")
    billions: float | None = Field(
        None, gt=0, exclude=True, description="Billions of parameters, as `models.NAME.billions`. Nothing reruns."
    )

    # it sends no requests
    connections: ClassVar[int] = 0
    timeout_seconds: ClassVar[int] = 0
    max_retries: ClassVar[int] = 0


class EndpointWriter(Writer):
    """A language model behind an endpoint."""

    module: ClassVar[str] = "writers.endpoint"

    backend: Literal["openai"] = Field(
        description="`openai` asks an OpenAI-compatible endpoint (vLLM, `transformers serve`, llama.cpp)."
    )
    model: str = Field(min_length=1, description="The endpoint's name for the model.")
    revision: str | None = Field(
        None, description="Your label of what is served (a commit, say); another label asks everything again."
    )
    base_url: str | None = Field(
        None,
        description="Address of the endpoint, to `/v1`. `$VARIABLES` in it are read in the job; null: "
        "`OPENAI_BASE_URL`.",
    )
    api_key_variable: str = Field(
        "OPENAI_API_KEY",
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the key, for an endpoint that wants one.",
    )
    structured_output: Literal["json_schema", "json_object", "none"] = Field(
        "json_schema",
        description="How the form of answers is enforced: by their JSON schema, as some JSON object, or by the prompt "
        "alone. Answers are read strictly in any case.",
    )
    connections: int = Field(8, ge=1, exclude=True, description="Requests at a time. Nothing reruns.")
    timeout_seconds: int = Field(120, ge=1, exclude=True, description="Longest wait for an answer. Nothing reruns.")
    max_retries: int = Field(6, ge=0, exclude=True, description="Further tries of a failed request. Nothing reruns.")


AnyWriter = Annotated[LocalWriter | EndpointWriter, Field(discriminator="backend"), BeforeValidator(without_nulls)]


def _readable_prompt(path: str) -> str:
    """`path`, after a check that its file holds a prompt."""
    try:
        load_prompt(Path(path))
    except HomogenizationError as error:
        raise ValueError(str(error)) from None
    return path


Prompt = Annotated[ExpandedPath, AfterValidator(_readable_prompt)]
