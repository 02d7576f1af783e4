"""Language models from safetensors: the network, its tokenizer, its context and where it runs."""

import importlib.metadata
import logging
from collections.abc import Mapping, Sequence
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
    """A model as it runs.

    Attributes:
        packed: the network, ready for packed passes.
        tokenizer: its (fast) tokenizer.
        max_tokens: tokens of a text beyond which it is truncated, at most the model's context.
        bos: `default` (what the tokenizer does), `always` or `never` a BOS token before a text.
        provenance: weights, their revision and digests, architecture, dtype, bos, max_tokens and library versions, for
            the record.
    """

    packed: PackedModel
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    bos: str
    provenance: dict[str, Any]


def with_built_weights(entry: Mapping[str, Any], files: Sequence[str]) -> dict[str, Any]:
    """`entry` as it is; of random weights, with the folder of `files`, where the workflow has built them."""
    random = entry["weights"].get("random")
    if random is None:
        return dict(entry)
    described = f"random weights of the architecture {random['model_type']}, seed {entry['weights']['seed']}"
    return {**entry, "weights": {"built": str(Path(files[0]).parent)}, "description": described}


def load_model(entry: Mapping[str, Any], gpus: int = 1) -> LanguageModel:
    """Load a model entry of the config: safetensors only, each compared with its digest, no code of the repository's.

    Args:
        entry: `weights` (see `homogenization.models.weights`), `dtype`, `device` (auto: CUDA, MPS, CPU), `bos`,
            `max_tokens` (None: the model's context), and optionally `description` for the provenance.
        gpus: that the job has; of more than one, each holds some of the blocks.

    Raises:
        HomogenizationError: files that are missing or damaged, an architecture that is unknown or can't be honoured, a
            device that is not there or too small, `max_tokens` above the context, no BOS token where one is wanted.
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
        "weights": entry.get("description", weights.description),
        "revision": weights.revision,
        "weights_sha256": digests,
        "architecture": packed.architecture,
        "dtype": entry["dtype"],
        "bos": entry["bos"],
        "max_tokens": max_tokens,
        "libraries": {library: importlib.metadata.version(library) for library in _LIBRARIES},
    }
    return LanguageModel(packed, tokenizer, max_tokens, entry["bos"], provenance)


def _load_network(folder: Path, dtype: str, places: Mapping[str, Any]) -> PreTrainedModel:
    """The base model (no head) in `dtype`, where `places` says."""
    # a pooler follows the last block and no state depends on it
    network = load_network(AutoModel, folder, dtype, not_needed=("pooler.",), attn_implementation="eager", **places)
    outside = {"cpu", "disk"}.intersection(map(str, getattr(network, "hf_device_map", {}).values()))
    if places and outside:
        logger.warning("the GPUs do not hold all weights; those on the %s are fetched in every pass", min(outside))
    return network
