"""Language models from safetensors: network, tokenizer, largest number of tokens, and provenance."""

import importlib.metadata
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerBase

from homogenization.models.devices import placement
from homogenization.models.digests import verified_digests
from homogenization.models.loading import checked_max_tokens, load_config, load_network, load_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.states.attention import unsupported
from homogenization.states.network import PackedModel, packed_model

logger = logging.getLogger(__name__)

_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "zarr")


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model.

    Attributes:
        packed: network, ready for packed passes.
        tokenizer: fast tokenizer.
        max_tokens: most tokens of a text, at most the model's context.
        bos: whether a BOS token opens a text: `always`, `never`, or `default` (as the tokenizer does).
        long_texts: what is done with a longer review (`homogenization.states.long_texts`).
        provenance: weights, their revision and digests, architecture, dtype, bos, max_tokens and library versions.
    """

    packed: PackedModel
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    bos: str
    provenance: dict[str, Any]
    long_texts: str = "common_sentence_end"


def load_model(entry: Mapping[str, Any], gpus: int = 1) -> LanguageModel:
    """Load the model of a configuration entry: only safetensors, each compared with its digest, and no code with them.

    Args:
        entry: entry of `models`: `weights` (see `homogenization.models.weights`), `dtype`, `device` (auto: CUDA, MPS,
            CPU), `bos`, `max_tokens` (None: the model's context), `long_texts` (if absent, the default).
        gpus: number of the job's GPUs; if there are several, each holds some of the blocks.

    Raises:
        HomogenizationError: files are missing or damaged, the architecture is unknown or can't be honoured, the device
            is absent or too small, `max_tokens` is above the context, or `bos` is `always` and there is no BOS token.
    """
    weights = resolve_weights(entry["weights"])
    folder = Path(weights.folder)
    digests = verified_digests(weights)
    places = placement(entry["device"], gpus)
    config = load_config(folder)
    if getattr(config, "is_encoder_decoder", False):
        raise unsupported(config.model_type, "an encoder-decoder has two residual streams")
    tokenizer = load_tokenizer(folder)
    max_tokens = checked_max_tokens(entry, config, tokenizer, folder)
    packed = packed_model(_load_network(folder, entry["dtype"], places))
    provenance = {
        "weights": weights.description,
        "revision": weights.revision,
        "weights_sha256": digests,
        "architecture": packed.architecture,
        "dtype": entry["dtype"],
        "bos": entry["bos"],
        "max_tokens": max_tokens,
        "libraries": {library: importlib.metadata.version(library) for library in _LIBRARIES},
    }
    long_texts = entry.get("long_texts", LanguageModel.long_texts)
    return LanguageModel(
        packed, tokenizer, max_tokens, entry["bos"], provenance | {"long_texts": long_texts}, long_texts
    )


def _load_network(folder: Path, dtype: str, places: Mapping[str, Any]) -> PreTrainedModel:
    """The base model (without a head) in `dtype`; `places` are the arguments that `placement` gives."""
    # a pooler follows the last block and no state depends on it
    network = load_network(AutoModel, folder, dtype, not_needed=("pooler.",), attn_implementation="eager", **places)
    outside = {"cpu", "disk"}.intersection(map(str, getattr(network, "hf_device_map", {}).values()))
    if places and outside:
        logger.warning("the GPUs do not hold all weights; those on the %s are fetched in every pass", min(outside))
    return network
