"""How well a text reads: its loss per word under a causal language model."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM

from homogenization.corpus.sentences import words
from homogenization.models.devices import placement
from homogenization.models.loading import context_of, is_causal, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants.schemas import FLUENCY_SCHEMA


class Reader:
    """A causal language model that reads texts one by one, in float32; weights, device and gpus as for any model.

    Raises:
        HomogenizationError: files are missing or damaged, the model is not causal, or the device is absent.
    """

    def __init__(self, weights: Mapping[str, Any], device: str, gpus: int = 1):
        resolved, places = resolve_weights(weights), placement(device, gpus)
        self.tokenizer = load_tokenizer(resolved.folder)
        self.network = load_network(AutoModelForCausalLM, resolved.folder, "float32", **places).eval()
        self.context = context_of(self.network.config, self.tokenizer)
        if not is_causal(self.network):
            raise HomogenizationError(
                f"fluency: {resolved.description} sees the tokens that it is to predict. Name a causal language model, "
                "such as GPT-2 or SmolLM2."
            )

    def loss(self, text: str) -> tuple[int, float]:
        """Number of tokens of a text that are predicted, and the sum of -ln p of each given all before it, in nats.

        BOS opens the text where the tokenizer has one; it is no token of the text. Without BOS, the first token has
        nothing before it and is left out.

        Raises:
            HomogenizationError: the text is longer than the model's context.
        """
        opening = self.tokenizer.bos_token_id
        ids = [opening] * (opening is not None) + self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) > self.context:
            raise HomogenizationError(
                f"fluency: a text of {len(ids)} tokens is longer than the model's {self.context}. Lower max_words."
            )
        tokens = torch.tensor([ids], device=self.network.device)
        with torch.inference_mode():
            logits = self.network(input_ids=tokens, use_cache=False).logits[0, :-1].float()
        losses = cross_entropy(logits, tokens[0, 1:].to(logits.device), reduction="none")
        return len(losses), losses.double().sum().item()


def loss_per_word(reader: Reader, reviews: pl.DataFrame) -> pl.DataFrame:
    """The loss of each review over its number of words. Each text is read alone: no other text changes a digit.

    Variants by rule have as many words as their original, although a tokenizer may cut them into other tokens.

    Args:
        reader: The model.
        reviews: Columns variant, review_id, text.

    Returns:
        Columns of `FLUENCY_SCHEMA`, a row for each review in their order; the loss is in nats.
    """
    rows = []
    for variant, name, text in reviews.select("variant", "review_id", "text").iter_rows():
        (n_tokens, loss), n_words = reader.loss(text), len(words(text))
        rows.append((variant, name, n_words, n_tokens, loss / n_words))
    return pl.DataFrame(rows, schema=FLUENCY_SCHEMA, orient="row")
