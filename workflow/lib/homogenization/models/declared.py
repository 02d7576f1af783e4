"""What config.json and the names of its tensors say of a network, before anything is loaded.

Every parse of the Snakefile imports it. An architecture that is not named here is judged by the job that loads it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from homogenization.models.folders import fields_of, header_of
from homogenization.run.errors import HomogenizationError

# causal decoders -> whether the head is the embedding where config.json does not say
TIED_BY_DEFAULT = {
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text", "gpt2", "gpt_neo", "smollm3", "opt", "starcoder2"), True),
    **dict.fromkeys(("llama", "mistral", "mixtral", "qwen2", "qwen3", "gpt_neox", "phi3", "olmo", "olmo2"), False),
}
ENCODERS = frozenset({"bert", "roberta", "xlm-roberta", "distilbert", "electra", "mpnet", "albert", "deberta-v2"})
# learned positions, or biases by distance
WITHOUT_ROTARY = ENCODERS | {"gpt2", "gpt_neo", "gpt_bigcode", "opt", "bloom", "biogpt"}
_N_BLOCKS = ("num_hidden_layers", "n_layer", "n_layers")
_CONTEXT = ("max_position_embeddings", "n_positions")
_HEADS = ("lm_head.", "embed_out.")


@dataclass(frozen=True)
class Declared:
    """A network as its files declare it.

    Attributes:
        fields: fields of the configuration, `model_type` among them.
        folder: folder of the safetensors; None for random weights, which are written without a head.
    """

    fields: Mapping[str, Any]
    folder: Path | None = None

    @property
    def model_type(self) -> str:
        """The architecture, by its name in transformers; empty where it is not given."""
        return str(self.fields.get("model_type", ""))

    @property
    def lacks_rotary_positions(self) -> bool:
        """Whether the positions are known not to be rotary."""
        return self.model_type in WITHOUT_ROTARY

    @property
    def is_encoder(self) -> bool:
        """Whether it is known to read a text in both directions."""
        return self.model_type in ENCODERS

    @property
    def n_blocks(self) -> int | None:
        """Number of blocks; None where it is not given."""
        return self._number(_N_BLOCKS)

    @property
    def context(self) -> int | None:
        """Most positions; None where it is not given."""
        return self._number(_CONTEXT)

    def _number(self, names: tuple[str, ...]) -> int | None:
        return next((self.fields[name] for name in names if isinstance(self.fields.get(name), int)), None)

    @cached_property
    def lacks_head(self) -> bool:
        """Whether it is a causal decoder that is known to be without its language-model head."""
        tied = TIED_BY_DEFAULT.get(self.model_type)
        if tied is None or self.fields.get("tie_word_embeddings", tied):
            return False
        return self.folder is None or not any(name.startswith(_HEADS) for name in _tensor_names(self.folder))


def declared_in(folder: Path) -> Declared | None:
    """What the folder of a model declares; None where it has no readable config.json, which its job says."""
    try:
        return Declared(fields_of(folder), folder)
    except HomogenizationError:
        return None


def _tensor_names(folder: Path) -> set[str]:
    """Names of the tensors in the safetensors files of a folder.

    A file that can't be read counts as one with a head: its job has the better message.
    """
    names: set[str] = set()
    for path in sorted(folder.glob("*.safetensors")):
        try:
            names |= header_of(path).keys()
        except (OSError, ValueError):
            return set(_HEADS)
    return names or set(_HEADS)
