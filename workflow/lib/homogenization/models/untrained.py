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
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM, PreTrainedConfig, PreTrainedTokenizerFast

from homogenization.models.built import save_model
from homogenization.models.weights import told
from homogenization.run.errors import HomogenizationError, nearest

_BOS, _EOS = "<s>", "</s>"
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
    """Save a model with random weights and its tokenizer in `folder`; equal arguments give equal bytes.

    Args:
        random: fields of the transformers configuration, `model_type` among them.
        seed: seed of the weights, which the architecture's own initialisation draws.
        texts: texts that train the tokenizer (`train_tokenizer`).
        vocab_size: most tokens of the vocabulary.
        folder: folder of the files.
        positions: `own`, or `none` for a network without positions, whose other weights are the same.
        head: whether the network has a language-model head.

    Raises:
        HomogenizationError: `model_type` or a field is unknown, transformers refuses the configuration, or the
            architecture can't be without positions or has no such head.
    """
    tokenizer = train_tokenizer(texts, vocab_size)
    config = _config(random, tokenizer)
    optional_rotation = hasattr(config, "no_rope_layers")
    if positions == "none" and optional_rotation:
        config.no_rope_layers = [0] * config.num_hidden_layers
    auto_class = AutoModelForCausalLM if head else AutoModel
    with told(f"weights.random: no {auto_class.__name__} of {config.model_type}"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = auto_class.from_config(config, dtype=torch.float32, trust_remote_code=False)
    if positions == "none":
        learned = position_embeddings(network)
        if not optional_rotation and (hasattr(config, "rope_parameters") or not learned):
            raise HomogenizationError(
                f"positions: 'none' is not possible in the architecture {config.model_type}. Choose one with "
                "no_rope_layers (smollm3), or one with learned positions (gpt2, opt)."
            )
        for parameter in learned:
            parameter.data.zero_()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=_BOS,
        eos_token=_EOS,
        model_max_length=getattr(config, "max_position_embeddings", None),
    )
    save_model(network, fast, folder)


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
    opening = [(_BOS, tokenizer.token_to_id(_BOS))]
    tokenizer.post_processor = TemplateProcessing(single=f"{_BOS} $A", special_tokens=opening)
    return tokenizer


def _config(random: Mapping[str, Any], tokenizer: Tokenizer) -> PreTrainedConfig:
    """The configuration with the fields of `random` and the tokenizer's vocabulary."""
    fields = dict(random)
    model_type = fields.pop("model_type")
    if model_type not in CONFIG_MAPPING:
        hint = nearest(str(model_type), CONFIG_MAPPING)
        raise HomogenizationError(f"weights.random.model_type: {model_type!r} is not known to transformers{hint}.")
    config_class = CONFIG_MAPPING[model_type]
    known = {*config_class().to_dict(), *config_class.attribute_map}
    for name in fields.keys() - known:
        raise HomogenizationError(
            f"weights.random.{name}: the {model_type} configuration has no such field{nearest(name, known)}."
        )
    vocabulary = {
        "vocab_size": tokenizer.get_vocab_size(),
        "bos_token_id": tokenizer.token_to_id(_BOS),
        "eos_token_id": tokenizer.token_to_id(_EOS),
        "pad_token_id": None,
    }
    with told(f"weights.random: {model_type} refuses this configuration"):
        return config_class(**fields | vocabulary)
