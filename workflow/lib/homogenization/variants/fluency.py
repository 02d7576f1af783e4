"""How well a text reads: its loss per word under a causal language model."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from homogenization.corpus.sentences import words
from homogenization.models.devices import placement
from homogenization.models.loading import context_of, load_config, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants.schemas import FLUENCY_SCHEMA

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reader:
    """A causal language model that reads texts one by one.

    Attributes:
        network: The network with its head, on its device.
        tokenizer: A fast tokenizer.
        context: Largest number of tokens of a pass, at least 2.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    context: int

    def token_losses(self, text: str) -> np.ndarray:
        """-ln p of each token of `text`, given all tokens before it, in nats: float64 (tokens,).

        BOS opens the text where the tokenizer has one, whether or not the tokenizer sets it by itself; it is no token
        of the text. Without BOS, the first token has nothing before it and is left out. No token closes the text.

        A text that is longer than the context is read in windows of that length, each half a context after the one
        before. A window adds the losses of its tokens that no earlier window has: from the second window on, a token is
        predicted from at least half a context.
        """
        opening = self.tokenizer.bos_token_id
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        ids = torch.tensor(ids if opening is None else [opening, *ids], device=self.network.device)
        losses, first, done = [], 0, 1
        while done < len(ids):
            window = ids[first : first + self.context]
            with torch.inference_mode():
                logits = self.network(input_ids=window[None], use_cache=False).logits[0]
            new = done - first
            predicted = logits[new - 1 : -1].float()
            losses.append(cross_entropy(predicted, window[new:].to(predicted.device), reduction="none"))
            done = first + len(window)
            first += self.context // 2
        return torch.cat(losses).double().cpu().numpy() if losses else np.empty(0)


def load_reader(entry: Mapping[str, Any], gpus: int = 1) -> Reader:
    """Load the language model of the section `fluency`: only safetensors.

    Args:
        entry: `weights` (see `homogenization.models.weights`), `dtype`, `device` (auto: CUDA, MPS, CPU).
        gpus: Number of the job's GPUs; if there are several, each holds some of the blocks.

    Raises:
        HomogenizationError: Files are missing or damaged, the model has no head that predicts the next token, the
            device is absent or too small, or the context is unknown.
    """
    weights = resolve_weights(entry["weights"])
    folder = weights.folder
    config, tokenizer = load_config(folder), load_tokenizer(folder)
    network = load_network(AutoModelForCausalLM, folder, entry["dtype"], **placement(entry["device"], gpus)).eval()
    with torch.inference_mode():  # an encoder with a head sees another second token when it predicts from the first
        pairs = (torch.tensor([[3, second]], device=network.device) for second in (4, 5))
        first, other = (network(input_ids=ids, use_cache=False).logits[0, 0] for ids in pairs)
    if not torch.allclose(first, other):
        raise HomogenizationError(
            f"fluency: {weights.description} ({config.model_type}) sees the tokens that it is to predict. Name a "
            "causal language model, such as GPT-2 or SmolLM2."
        )
    return Reader(network, tokenizer, context_of(config, tokenizer))


def loss_per_word(reader: Reader, reviews: pl.DataFrame) -> pl.DataFrame:
    """The loss of each review over its number of words. Each text is read alone: no other text changes a digit.

    Words are those of `homogenization.corpus.sentences`: variants by rule have as many as their original, although a
    tokenizer may cut them into other tokens.

    Args:
        reader: Model from `load_reader`.
        reviews: Columns variant, review_id, text.

    Returns:
        Columns of `FLUENCY_SCHEMA`, a row for each review in their order; the loss is in nats.

    Raises:
        HomogenizationError: A text has no word, or no loss of its own (a single token without BOS before it).
    """
    rows, n_long = [], 0
    for variant, name, text in reviews.select("variant", "review_id", "text").iter_rows():
        losses, n_words = reader.token_losses(text), len(words(text))
        if not n_words or not losses.size:
            raise HomogenizationError(
                f"fluency: review {name} of {variant} has no words. Delete its variant's file and write it again."
            )
        n_long += len(losses) >= reader.context  # a first token has no loss
        rows.append((variant, name, n_words, len(losses), losses.sum() / n_words))
    logger.info("%d of %d texts are longer than a pass of %d tokens", n_long, len(rows), reader.context)
    return pl.DataFrame(rows, schema=FLUENCY_SCHEMA, orient="row")
