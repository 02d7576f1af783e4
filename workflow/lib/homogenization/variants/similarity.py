"""BERTScore of rewritten reviews against their originals, and of unrelated reviews as the baseline."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.models.weights import resolve_weights
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.variants.schemas import SCORE_SCHEMA

LONGEST_INPUT = 512


@dataclass(frozen=True)
class Encoder:
    """The model whose hidden states BERTScore compares, without the blocks above the compared layer.

    Each text passes alone, so that its states depend neither on other texts nor on their order: in a batch, padding and
    the order of a set of texts (bert-score's own, which follows Python's hash seed) change the last digits of scores.
    """

    model: Any
    tokenizer: Any
    device: str
    _states_by_text: dict[str, tuple[Any, Any, Any]] = field(default_factory=dict)

    def states(self, text: str, keep: bool = False) -> tuple[Any, Any, Any]:
        """States (1, tokens, width), mask and weights (1, tokens) of a text, as bert-score gives them, or kept ones."""
        import torch

        states = self._states_by_text.get(text)
        if states is None:
            # bert-score's `get_bert_embedding` walks through all modules for each text, an eighth of its time
            limit = self.tokenizer.model_max_length
            tokens = self.tokenizer(text.strip(), truncation=True, max_length=limit, verbose=False)["input_ids"]
            ids = torch.tensor([tokens], device=self.device)
            # without idf: 0 for the tokens that open and close a text
            around = (self.tokenizer.cls_token_id, self.tokenizer.sep_token_id)
            weights = torch.tensor([[float(token not in around) for token in tokens]])
            mask = torch.ones_like(ids)
            with torch.no_grad():
                states = self.model(ids, attention_mask=mask)[0], mask, weights
            if keep:
                self._states_by_text[text] = states
        return states


def load_encoder(encoder: Mapping[str, Any], layer: int, device: str = "auto") -> Encoder:
    """Load an encoder in float32, from safetensors, without the blocks above `layer`.

    This function replaces bert-score's own loader, which takes any path that contains "t5" for a T5, reads pickled
    weights, keeps the checkpoint's precision, and lets a tokenizer without a limit overflow the encoder.

    Args:
        encoder: Weights of the encoder, an entry for `homogenization.models.weights.resolve_weights`.
        layer: Number of the block whose hidden states are compared, from 1.
        device: "cpu", "cuda", "mps", or "auto" for the first available of CUDA, MPS and CPU.

    Raises:
        HomogenizationError: the weights are not found or damaged, or the encoder has no such layer.
    """
    from transformers import AutoModel
    from transformers.utils import logging as transformers_logging

    from homogenization.models.devices import placement
    from homogenization.models.loading import context_of, load_config, load_network
    from homogenization.models.tokens import load_tokenizer

    resolved = resolve_weights(encoder)
    folder = resolved.folder
    config = load_config(folder)
    n_blocks = getattr(config, "num_hidden_layers", None)
    if n_blocks is None:
        raise HomogenizationError(
            f"similarity: {resolved.description} ({config.model_type}) holds several networks, or none with blocks "
            "(num_hidden_layers). Choose an encoder of texts, or save the text model of this one alone."
        )
    if not 1 <= layer <= n_blocks:
        raise HomogenizationError(
            f"similarity: layer {layer} does not exist in {resolved.description}. Allowed: 1 to {n_blocks}."
        )
    config.num_hidden_layers = layer
    for name, value in config.to_dict().items():
        if isinstance(value, list) and len(value) == n_blocks:  # an entry for each block, as for windows of attention
            setattr(config, name, value[:layer])
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # the dropped blocks would be reported as unexpected weights
    model = load_network(AutoModel, folder, "float32", config=config, **placement(device, 1))
    transformers_logging.set_verbosity(verbosity)
    if config.is_encoder_decoder:
        model = model.encoder
    tokenizer = load_tokenizer(folder)
    tokenizer.model_max_length = min(LONGEST_INPUT, context_of(config, tokenizer))
    loaded = Encoder(model.eval(), tokenizer, model.device.type)
    try:
        loaded.states("A text.")
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise HomogenizationError(
            f"similarity: {resolved.description} ({config.model_type}) gives no states of a text alone "
            f"({first_line(error)}). Choose another encoder, such as RoBERTa or MiniLM."
        ) from error
    return loaded


def bert_scores(encoder: Encoder, candidates: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """BERTScore (Zhang et al. 2020) of each pair: no idf weights, not rescaled.

    Of a longer text, only the first tokens that fit the encoder (at most 512) are compared. The scores of a pair depend
    on its two texts alone. The encoder keeps the states of references, for further calls.

    Returns:
        float64, pairs × (precision, recall, F1).

    Raises:
        HomogenizationError: a text is empty.
    """
    from bert_score.utils import greedy_cos_idf

    if not candidates:
        return np.empty((0, 3))
    for text in (*candidates, *references):
        if not text.strip():
            raise HomogenizationError("similarity: a review is empty. Delete its variant's file and rewrite it.")
    tokenizer = encoder.tokenizer
    limit = tokenizer.model_max_length
    lengths = [len(ids) for ids in tokenizer(list(references), truncation=False, verbose=False)["input_ids"]]
    n_cut = sum(length > limit for length in lengths)
    logging.info("%d of %d reviews are longer than the %d tokens compared", n_cut, len(lengths), limit)
    scores, reference_texts = np.empty((len(candidates), 3)), set(references)
    for pair, (candidate, reference) in enumerate(zip(candidates, references, strict=True)):
        states = (*encoder.states(reference, True), *encoder.states(candidate, candidate in reference_texts))
        # bert-score scales states and weights in place
        scores[pair] = [float(part) for part in greedy_cos_idf(*(tensor.clone() for tensor in states))]
    return scores


def score_against_originals(encoder: Encoder, originals: pl.DataFrame, variants: pl.DataFrame) -> pl.DataFrame:
    """Score each rewritten review against its original.

    Args:
        encoder: Encoder from `load_encoder`.
        originals: Columns review_id, text.
        variants: Columns variant, review_id, text, of the same reviews, without those that could not be rewritten.

    Returns:
        Columns of `SCORE_SCHEMA`, a row for each rewritten review in the order of `originals`.
    """
    rewritten = variants.select("variant", "review_id", rewritten="text")
    pairs = originals.select("review_id", original="text").join(
        rewritten, on="review_id", how="inner", maintain_order="left", validate="1:1"
    )
    scores = bert_scores(encoder, pairs["rewritten"].to_list(), pairs["original"].to_list())
    return _scored(pairs.select("variant", "review_id"), scores)


def random_partners(review_ids: Sequence[str], seed: int) -> list[str]:
    """Pair each review with another: the reviews form a circle in the order of a hash, and each gets the next one.

    Each of two or more reviews is the partner of one other review. The order of `review_ids` does not affect the pairs.
    """
    circle = sorted(review_ids, key=lambda name: seeded_hash(seed, name))
    partner = {name: circle[(place + 1) % len(circle)] for place, name in enumerate(circle)}
    return [partner[name] for name in review_ids]


def score_random_pairs(encoder: Encoder, originals: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Score each review against another of the shard: the BERTScore of unrelated reviews.

    Args:
        encoder: Encoder from `load_encoder`.
        originals: Columns review_id, text.
        seed: Seed of the pairing.

    Returns:
        Columns of `SCORE_SCHEMA`, with other_review_id after review_id; the variant is `RANDOM_PAIRS`. One row for each
        review in the order of `originals`; no row if the shard holds a single review.
    """
    if len(originals) < 2:
        logging.warning("a shard of one review has no random pair")
        originals = originals.clear()
    texts = dict(originals.select("review_id", "text").iter_rows())
    others = random_partners(list(texts), seed)
    scores = bert_scores(encoder, [texts[name] for name in others], list(texts.values()))
    table = _scored(originals.select(pl.lit(RANDOM_PAIRS).alias("variant"), "review_id"), scores)
    return table.insert_column(2, pl.Series("other_review_id", others, pl.String))


def _scored(reviews: pl.DataFrame, scores: np.ndarray) -> pl.DataFrame:
    """The columns variant and review_id of `reviews` with their scores, reviews × (precision, recall, F1)."""
    return reviews.hstack(pl.DataFrame(scores, schema=["precision", "recall", "f1"])).cast(SCORE_SCHEMA)
