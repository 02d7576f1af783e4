"""Language models and encoders: network, tokenizer, largest number of tokens, and provenance."""

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoModel,
    AutoModelForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from homogenization.models.blocks import base_of, blocks_of
from homogenization.models.built import with_built_weights
from homogenization.models.devices import placement
from homogenization.models.loading import context_of, is_causal, load_config, load_network, skeleton
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import resolve_weights

_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "zarr")


@dataclass(frozen=True)
class LanguageModel:
    """A loaded model.

    Attributes:
        network: network of transformers in evaluation mode, with its language-model head if it is causal and has one.
        tokenizer: fast tokenizer.
        max_tokens: most tokens of a text, the model's context.
        bos: whether a BOS token opens a text: `always`, `never`, or `default` (as the tokenizer does).
        provenance: weights, their revision, architecture, dtype, bos, max_tokens and library versions.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    max_tokens: int
    bos: str
    provenance: dict[str, Any]

    @property
    def base(self) -> PreTrainedModel:
        """The network without a head."""
        return base_of(self.network)

    @cached_property
    def blocks(self) -> torch.nn.ModuleList:
        """Transformer blocks, in order."""
        return blocks_of(self.base)

    @property
    def n_blocks(self) -> int:
        """Number of blocks; the residual stream has one layer more."""
        return len(self.blocks)

    @property
    def width(self) -> int:
        """Width of the residual stream."""
        return self.base.config.get_text_config().hidden_size

    @property
    def device(self) -> torch.device:
        """The device of token ids; blocks may be on other devices."""
        # weights that accelerate offloads are on no device until they are needed
        hook = getattr(self.network, "_hf_hook", None)
        return self.network.device if hook is None else torch.device(hook.execution_device)

    @property
    def architecture(self) -> str:
        """Name of the class of the network without its head."""
        return type(self.base).__name__

    @property
    def has_head(self) -> bool:
        """Whether the network predicts the next token."""
        return self.network is not self.base and self.causal

    @cached_property
    def causal(self) -> bool:
        """Whether a token attends to earlier ones and itself alone."""
        return is_causal(self.base)


def load_model(entry: Mapping[str, Any], gpus: int = 1) -> LanguageModel:
    """Load the model of a configuration entry: only safetensors, and no code with them.

    Args:
        entry: `weights`, `dtype`, `device` (auto: CUDA, MPS, CPU) and `bos` of a model.
        gpus: number of the job's GPUs; if there are several, each holds some of the blocks.

    Raises:
        HomogenizationError: files are missing or damaged; the architecture can't be honoured; the device is absent or
            too small; or `bos` is `always` and there is no BOS token.
    """
    weights = resolve_weights(entry["weights"])
    places = placement(entry["device"], gpus)
    config = load_config(weights.folder)
    predicts = is_causal(skeleton(config)) and type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
    tokenizer = load_tokenizer(weights.folder, entry["bos"])
    network = load_network(
        AutoModelForCausalLM if predicts else AutoModel,
        weights.folder,
        entry["dtype"],
        head_optional=True,
        config=config,
        attn_implementation="eager",
        **places,
    )
    provenance = {
        "weights": weights.description,
        "revision": weights.revision,
        "architecture": type(base_of(network)).__name__,
        **{name: entry[name] for name in ("dtype", "bos")},
        "max_tokens": context_of(config, tokenizer),
        "libraries": {library: importlib.metadata.version(library) for library in _LIBRARIES},
    }
    model = LanguageModel(network.eval(), tokenizer, provenance["max_tokens"], entry["bos"], provenance)
    assert model.blocks  # refuses architectures whose blocks can't be told
    return model


def model_of_job(job: Any) -> LanguageModel:
    """The model of a job: the parameter `model`, with the files of the input `weights`, on the job's GPUs."""
    entry = with_built_weights(job.params.model, job.input.get("weights", []))
    return load_model(entry, job.resources.get("gpu", 0))
