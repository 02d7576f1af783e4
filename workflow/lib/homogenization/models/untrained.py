"""Models with random weights, the untrained control: any architecture, with a tokenizer trained on the corpus."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import BpeTrainer
from transformers import (
    CONFIG_MAPPING,
    AutoModel,
    AutoModelForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from homogenization.models.saving import save_model
from homogenization.run.errors import HomogenizationError, nearest

_BOS, _EOS = "<s>", "</s>"
_LEARNED = ("gpt2", "opt")  # architectures whose only positions are learned embeddings
_POSITIONS = re.compile(r"(^|\.)(wpe|embed_positions)\.weight$")


def build_random_model(
    random: Mapping[str, Any],
    seed: int,
    texts: Sequence[str],
    vocab_size: int,
    folder: str | Path,
    *,
    positions: str = "own",
    head: bool = False,
) -> None:
    """Save a model with random weights and its tokenizer in `folder`, as `save_model` does.

    Equal arguments give equal bytes.

    Args:
        random: fields of the transformers configuration, `model_type` among them.
        seed: seed of the weights, which the architecture's own initialisation draws.
        texts: texts that train the byte-level BPE tokenizer; it puts a BOS token before each text.
        vocab_size: largest size of the vocabulary; a small corpus yields a smaller one.
        folder: folder of the files.
        positions: `own`, or `none` for a network without positions, whose other weights are the same.
        head: whether the network has a language-model head.

    Raises:
        HomogenizationError: `model_type` or a field is unknown, transformers refuses the configuration, or the
            architecture can't be without positions or has no such head.
    """
    tokenizer = train_tokenizer(texts, vocab_size)
    config = _config(random, tokenizer)
    if positions == "none":
        leave_out_rotation(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _network(config, head)
    if positions == "none":
        for parameter in position_embeddings(network):
            parameter.data.zero_()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=_BOS,
        eos_token=_EOS,
        model_max_length=getattr(config, "max_position_embeddings", None),
    )
    save_model(network, fast, folder)


def _network(config: PreTrainedConfig, head: bool) -> PreTrainedModel:
    auto_class = AutoModelForCausalLM if head else AutoModel
    try:
        return auto_class.from_config(config, dtype=torch.float32, trust_remote_code=False)
    except ValueError as error:
        raise HomogenizationError(
            f"architecture.model_type: {config.model_type} has no language-model head in transformers, so it can't be "
            "trained to predict the next token. Choose a causal model, for example llama, smollm3, gpt2."
        ) from error


def leave_out_rotation(config: PreTrainedConfig) -> None:
    """Take rotary positions out of every block where the architecture can do without; learned ones are left.

    Raises:
        HomogenizationError: the architecture has positions that can't be left out.
    """
    if hasattr(config, "no_rope_layers"):
        config.no_rope_layers = [0] * config.num_hidden_layers
    elif hasattr(config, "rope_parameters") or config.model_type not in _LEARNED:
        raise HomogenizationError(
            f"positions: 'none' is not possible in the architecture {config.model_type}. Choose one with "
            f"no_rope_layers (smollm3), or one with learned positions ({', '.join(_LEARNED)})."
        )


def position_embeddings(network: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The learned positions of `network`, which are zeros and not trained in one without positions."""
    return [parameter for name, parameter in network.named_parameters() if _POSITIONS.search(name)]


def train_tokenizer(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """A byte-level BPE tokenizer (Sennrich et al. 2016) of at most `vocab_size` tokens that puts BOS before a text."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[_BOS, _EOS],
        initial_alphabet=sorted(ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer=trainer)
    tokenizer.post_processor = TemplateProcessing(
        single=f"{_BOS} $A", special_tokens=[(_BOS, tokenizer.token_to_id(_BOS))]
    )
    return tokenizer


def _config(random: Mapping[str, Any], tokenizer: Tokenizer) -> PreTrainedConfig:
    """The configuration with the fields of `random` and the tokenizer's vocabulary."""
    model_type = random.get("model_type")
    if model_type not in CONFIG_MAPPING:
        suggestion = nearest(str(model_type), CONFIG_MAPPING)
        raise HomogenizationError(
            f"weights.random.model_type: {model_type!r} is no architecture of transformers{suggestion}."
        )
    config_class = CONFIG_MAPPING[model_type]
    known = {*config_class().to_dict(), *config_class.attribute_map}
    for name in random:
        if name not in known:
            raise HomogenizationError(
                f"weights.random.{name}: the {model_type} configuration has no such field{nearest(name, known)}."
            )
    fields = {name: value for name, value in random.items() if name != "model_type"}
    vocabulary = {
        "vocab_size": tokenizer.get_vocab_size(),
        "bos_token_id": tokenizer.token_to_id(_BOS),
        "eos_token_id": tokenizer.token_to_id(_EOS),
        "pad_token_id": None,
    }
    try:
        return config_class(**fields | vocabulary)
    except Exception as error:  # each configuration class checks its fields in its own way
        raise HomogenizationError(f"weights.random: {model_type} refuses this configuration: {error}") from error
