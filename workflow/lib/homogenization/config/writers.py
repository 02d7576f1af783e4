"""The part of the configuration on language models that write: which they are, and how they are asked."""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from homogenization.config.models import TrainedWeights
from homogenization.config.paths import InputPath, readable
from homogenization.run.sections import Section, refused, without_nulls
from homogenization.writers.prompts import load_prompt


class Writer(Section):
    """A language model that finds key phrases or rewrites reviews."""

    temperature: float = Field(0.7, ge=0)
    """Sampling temperature; 0: the most likely token each time."""
    max_new_tokens: int = Field(1024, ge=1)
    """Longest answer in tokens; a longer one is rejected."""


class LocalWriter(Writer):
    """A language model that runs in the job."""

    backend: Literal["transformers"]
    """`transformers` runs the weights in the job."""
    weights: TrainedWeights
    """An instruction-tuned model with a chat template."""
    batch_size: int = Field(16, ge=1)
    """Requests of a batch. 16 is right on the CPU, and for 7 billion parameters on a GPU of 24 GiB; with 80 GB, 128."""
    connections: ClassVar[int] = 0


class EndpointWriter(Writer):
    """A language model behind an endpoint."""

    backend: Literal["openai"]
    """`openai` asks an OpenAI-compatible endpoint (vLLM, `transformers serve`, llama.cpp)."""
    model: str = Field(min_length=1)
    """The endpoint's name for the model; another asks everything again."""
    base_url: str | None = None
    """Address of the endpoint, to `/v1`. `$VARIABLES` in it are read in the job; null: `OPENAI_BASE_URL`."""
    connections: int = Field(8, ge=1, exclude=True)
    """Requests at a time."""
    weights: ClassVar[None] = None

    _base_url = field_validator("base_url")(
        refused(
            lambda address: not address.startswith(("http://", "https://", "$")),
            "{!r} is no address; begin it with http:// or https://",
        )
    )


AnyWriter = Annotated[LocalWriter | EndpointWriter, Field(discriminator="backend"), BeforeValidator(without_nulls)]


Prompt = Annotated[InputPath, AfterValidator(readable(load_prompt))]
