"""The part of the configuration on language models that write: which they are, and how they are asked."""

from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, field_validator

from homogenization.config.models import Dtype, RunModel
from homogenization.config.paths import InputPath, readable
from homogenization.config.weights import TrainedWeights
from homogenization.run.sections import Option, without_nulls
from homogenization.writers.prompts import load_prompt


class Writer(Option):
    """A language model that finds key phrases or rewrites reviews.

    To add a backend, add a class here, list it in `AnyWriter`, and write the library module that it names, with a
    function `make_writer(entry)` that returns a `homogenization.writers.asking.Writer`.
    """

    discriminator: ClassVar[str] = "backend"
    module: ClassVar[str]

    temperature: float = Field(0.7, ge=0)
    """Sampling temperature; 0: the most likely token each time."""
    top_p: float = Field(0.95, gt=0, le=1)
    """Sampling is from the likeliest tokens of this probability."""
    max_new_tokens: int = Field(1024, ge=1)
    """Longest answer in tokens; a longer one is rejected."""

    def files(self, results: str) -> list[str]:
        """Files that jobs depend on: those of the writer's weights, where it has any."""
        return self.weights.files(results) if hasattr(self, "weights") else []


class LocalWriter(Writer, RunModel):
    """A language model that runs in the job."""

    module: ClassVar[str] = "writers.local"

    backend: Literal["transformers"]
    """`transformers` runs the weights in the job."""
    weights: TrainedWeights
    """An instruction-tuned model with a chat template."""
    dtype: Dtype = "bfloat16"
    """Precision of the forward pass."""
    batch_size: int = Field(16, ge=1)
    """Requests of a batch. 16 is right on the CPU, and for 7 billion parameters on a GPU of 24 GiB; with 80 GB, 128."""

    threads: ClassVar[int] = 2
    # it sends no requests
    connections: ClassVar[int] = 0
    timeout_seconds: ClassVar[int] = 0
    max_retries: ClassVar[int] = 0


class EndpointWriter(Writer):
    """A language model behind an endpoint."""

    module: ClassVar[str] = "writers.endpoint"

    backend: Literal["openai"]
    """`openai` asks an OpenAI-compatible endpoint (vLLM, `transformers serve`, llama.cpp)."""
    model: str = Field(min_length=1)
    """The endpoint's name for the model."""
    revision: str | None = None
    """Your label of what is served (a commit, say); another label asks everything again."""
    base_url: str | None = None
    """Address of the endpoint, to `/v1`. `$VARIABLES` in it are read in the job; null: `OPENAI_BASE_URL`."""
    api_key_variable: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Environment variable that holds the key, for an endpoint that wants one."""
    threads: ClassVar[int] = 2
    connections: int = Field(8, ge=1, exclude=True)
    """Requests at a time. Nothing reruns."""
    timeout_seconds: int = Field(120, ge=1, exclude=True)
    """Longest wait for an answer. Nothing reruns."""
    max_retries: int = Field(6, ge=0, exclude=True)
    """Further tries of a failed request. Nothing reruns."""

    @field_validator("base_url")
    @classmethod
    def is_an_address(cls, base_url: str | None) -> str | None:
        """An address with its protocol, unless a variable holds it; without a key."""
        if base_url is not None and not base_url.startswith(("http://", "https://", "$")):
            raise ValueError(f"{base_url!r} is no address; begin it with http:// or https://")
        if not (urlsplit(base_url or "").password or "$").startswith("$"):
            raise ValueError(
                "it holds a password, which would stand in logs and tables; put it into an environment variable, and "
                "write https://user:$PASSWORD@host/v1"
            )
        return base_url


AnyWriter = Annotated[LocalWriter | EndpointWriter, Field(discriminator="backend"), BeforeValidator(without_nulls)]


Prompt = Annotated[InputPath, AfterValidator(readable(load_prompt))]
