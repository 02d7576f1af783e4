"""Language models from safetensors: network, tokenizer, largest number of tokens, and provenance."""

import importlib.metadata
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformers import AutoModel, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from homogenization.models.blocks import unsupported
from homogenization.models.built import with_built_weights
from homogenization.models.devices import placement
from homogenization.models.loading import checked_max_tokens, is_causal, load_config, load_network, skeleton
from homogenization.models.tokens import check_tokenizer, load_tokenizer, opening_token_id
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import Transformer, transformer_of

logger = logging.getLogger(__name__)

_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "zarr")


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model.

    Attributes:
        transformer: network, ready for passes.
        tokenizer: fast tokenizer.
        max_tokens: most tokens of a text, at most the model's context.
        bos: whether a BOS token opens a text: `always`, `never`, or `default` (as the tokenizer does).
        provenance: weights, their revision, architecture, dtype, bos, max_tokens and library versions.
        head: the same network with its language-model head; None where it was not asked for, or for an encoder.
    """

    transformer: Transformer
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    bos: str
    provenance: dict[str, Any]
    head: PreTrainedModel | None = None

    @property
    def with_head(self) -> Transformer:
        """The network with its language-model head, if it has one, ready for passes."""
        return self.transformer if self.head is None else replace(self.transformer, network=self.head)


def load_model(entry: Mapping[str, Any], gpus: int = 1, head: bool = False) -> LanguageModel:
    """Load the model of a configuration entry: only safetensors, and no code with them.

    Or take one that is in memory, as it is and where it is: its attention becomes the recorded one, its mode `eval`.

    Args:
        entry: entry of `models`: `weights` (see `homogenization.models.weights`), `dtype`, `device` (auto: CUDA, MPS,
            CPU), `bos`, `max_tokens` (None: the model's context). Of a model in
            memory, `weights` is the network of transformers, with its `tokenizer`; dtype and device are its own.
        gpus: number of the job's GPUs; if there are several, each holds some of the blocks.
        head: whether to load a causal model with its language-model head.

    Raises:
        HomogenizationError: files are missing or damaged, or lack the head that is asked for; the architecture is
            unknown or can't be honoured; the device is absent or too small; `max_tokens` is above the context; or `bos`
            is `always` and there is no BOS token.
    """
    read = _in_memory if isinstance(entry["weights"], PreTrainedModel) else _from_files
    network, tokenizer, made = read(entry, gpus, head)
    transformer = transformer_of(network.base_model)
    libraries = {library: importlib.metadata.version(library) for library in _LIBRARIES}
    provenance = made | {"architecture": transformer.architecture, "bos": entry["bos"], "libraries": libraries}
    return LanguageModel(
        transformer,
        tokenizer,
        made["max_tokens"],
        entry["bos"],
        provenance,
        network.eval() if head and network is not network.base_model else None,
    )


def model_of_job(job: Any, head: bool = False) -> LanguageModel:
    """The model of a job: the parameter `model`, with the files of the input `weights`, on the job's GPUs."""
    entry = with_built_weights(job.params.model, job.input.get("weights", []))
    return load_model(entry, job.resources.get("gpu", 0), head)


def _from_files(
    entry: Mapping[str, Any], gpus: int, head: bool
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, dict[str, Any]]:
    """Network, tokenizer, and where they come from with `max_tokens`; the weights are loaded when all else is right."""
    weights = resolve_weights(entry["weights"])
    places = placement(entry["device"], gpus)
    config = load_config(weights.folder)
    _refuse_two_streams(config)
    tokenizer = load_tokenizer(weights.folder, entry["bos"])
    made = {"weights": weights.description, "revision": weights.revision}
    made |= {"dtype": entry["dtype"], "max_tokens": checked_max_tokens(entry, config, tokenizer, weights.folder)}
    auto_class = AutoModelForCausalLM if head and is_causal(skeleton(config)) else AutoModel
    return _load_network(auto_class, weights.folder, entry["dtype"], places), tokenizer, made


def _in_memory(
    entry: Mapping[str, Any], gpus: int, head: bool
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, dict[str, Any]]:
    """The same of a network that is loaded, with the head that it has."""
    network, tokenizer = entry["weights"], entry.get("tokenizer")
    _refuse_two_streams(network.config)
    if tokenizer is None:
        raise HomogenizationError("tokenizer: missing; a model in memory needs it beside `weights`")
    check_tokenizer(tokenizer, network.config, "memory")
    if entry["bos"] == "always" and opening_token_id(tokenizer) is None:
        raise HomogenizationError(
            "bos: 'always', and the tokenizer names no BOS token. Set tokenizer.bos_token, or use default or never."
        )
    made = {"weights": "in memory", "revision": None}
    made |= {"dtype": str(network.dtype).removeprefix("torch.")}
    made |= {"max_tokens": checked_max_tokens(entry, network.config, tokenizer, Path("memory"))}
    return network, tokenizer, made


def _refuse_two_streams(config: PreTrainedConfig) -> None:
    if getattr(config, "is_encoder_decoder", False):
        raise unsupported(config.model_type, "an encoder-decoder has two residual streams")


def _load_network(auto_class: Any, folder: Path, dtype: str, places: Mapping[str, Any]) -> PreTrainedModel:
    """The network of `auto_class` in `dtype`; `places` are the arguments that `placement` gives."""
    # a pooler follows the last block and no state depends on it
    options = {"attn_implementation": "eager", **places}
    network = load_network(auto_class, folder, dtype, **options)
    outside = {"cpu", "disk"}.intersection(map(str, getattr(network, "hf_device_map", {}).values()))
    if places and outside:
        logger.warning("the GPUs do not hold all weights; those on the %s are fetched in every pass", min(outside))
    return network
