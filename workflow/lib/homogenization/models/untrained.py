"""Models with random weights, the untrained control: any architecture, with a tokenizer trained on the corpus."""

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
from homogenization.models.weights import failure
from homogenization.run.errors import HomogenizationError, nearest

_BOS, _EOS = "<s>", "</s>"


def build_random_model(
    random: Mapping[str, Any],
    seed: int,
    texts: Sequence[str],
    folder: str | Path,
    *,
    head: bool = False,
) -> None:
    """Save a model with random weights and its tokenizer in `folder`; equal arguments give equal bytes.

    `random` are fields of the transformers configuration; the architecture's own initialisation draws the weights.

    Raises:
        HomogenizationError: a field is unknown, transformers refuses the configuration, or there is no such head.
    """
    tokenizer = train_tokenizer(texts)
    config = _config(random, tokenizer)
    auto = AutoModelForCausalLM if head else AutoModel
    with failure(f"weights.random: no {auto.__name__} of {config.model_type}"), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = auto.from_config(config, dtype=torch.float32, trust_remote_code=False)
    most = getattr(config, "max_position_embeddings", None)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_BOS, eos_token=_EOS, model_max_length=most)
    save_model(network, fast, folder)


def train_tokenizer(texts: Sequence[str], vocab_size: int = 2000) -> Tokenizer:
    """A byte-level BPE tokenizer (Sennrich et al. 2016) of at most `vocab_size` tokens that puts BOS before a text."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    alphabet = {"initial_alphabet": sorted(ByteLevel.alphabet()), "special_tokens": [_BOS, _EOS]}
    tokenizer.train_from_iterator(texts, BpeTrainer(vocab_size=vocab_size, show_progress=False, **alphabet))
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
    for name in fields.keys() & {"vocab_size", "bos_token_id", "eos_token_id", "pad_token_id"}:
        raise HomogenizationError(
            f"weights.random.{name}: the tokenizer, which is trained on the corpus, decides it. Leave it out."
        )
    for name in fields.keys() - known:
        hint = nearest(name, known)
        raise HomogenizationError(f"weights.random.{name}: the {model_type} configuration has no such field{hint}.")
    vocabulary = {
        "vocab_size": tokenizer.get_vocab_size(),
        "bos_token_id": tokenizer.token_to_id(_BOS),
        "eos_token_id": tokenizer.token_to_id(_EOS),
        "pad_token_id": None,
    }
    with failure(f"weights.random: {model_type} refuses this configuration"):
        return config_class(**fields | vocabulary)
