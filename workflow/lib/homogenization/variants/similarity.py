"""BERTScore of rewritten reviews against their originals, and of unrelated reviews as the baseline."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.models.weights import resolve_weights
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.log import announce
from homogenization.variants.schemas import SCORE_SCHEMA

LONGEST_INPUT = 512


class Encoder(NamedTuple):
    """The model whose hidden states BERTScore compares, without the blocks above the compared layer."""

    model: Any
    tokenizer: Any

    def scores(self, candidates: Sequence[str], references: Sequence[str]) -> np.ndarray:
        """BERTScore (Zhang et al. 2020) of each pair by bert-score: no idf weights, not rescaled.

        Each text passes alone, so that the scores of a pair depend on its two texts alone. Of a longer text, only the
        first tokens that fit the encoder (at most 512) are compared, which is told.

        Returns:
            float64, pairs × (precision, recall, F1).

        Raises:
            HomogenizationError: a text is empty.
        """
        from bert_score.utils import bert_cos_score_idf

        if not candidates:
            return np.empty((0, 3))
        if not all(map(str.strip, (*candidates, *references))):
            raise HomogenizationError("similarity: a review is empty. Delete its variant's file and rewrite it.")
        tokenizer, limit = self.tokenizer, self.tokenizer.model_max_length
        texts = sorted({*candidates, *references})
        n_cut = sum(len(ids) > limit for ids in tokenizer(texts, truncation=False, verbose=False)["input_ids"])
        if n_cut:
            announce(f"similarity: {n_cut} of {len(texts)} texts are compared by their first {limit} tokens alone")
        # no weight of a token by its frequency, and none of those that open and close a text
        weights = defaultdict(lambda: 1.0, dict.fromkeys((tokenizer.cls_token_id, tokenizer.sep_token_id), 0.0))
        pairs = list(references), list(candidates)
        scores = bert_cos_score_idf(self.model, *pairs, tokenizer, weights, batch_size=1, device=self.model.device)
        return scores.double().numpy()


def load_encoder(encoder: Mapping[str, Any], layer: int, device: str = "auto") -> Encoder:
    """Load an encoder in float32, from safetensors, without the blocks above `layer`.

    bert-score's own loader takes any path that contains "t5" for a T5, reads pickled weights, and does not tell of
    missing ones.

    Args:
        encoder: Weights of the encoder, an entry for `homogenization.models.weights.resolve_weights`.
        layer: Number of the block whose hidden states are compared, from 1.
        device: "cpu", "cuda", "mps", or "auto" for the first available of CUDA, MPS and CPU.

    Raises:
        HomogenizationError: the weights are not found or damaged, or the encoder has no such layer.
    """
    from transformers import AutoModel
    from transformers.utils import logging

    from homogenization.models.devices import placement
    from homogenization.models.loading import context_of, load_config, load_network
    from homogenization.models.tokens import load_tokenizer

    resolved = resolve_weights(encoder)
    config, tokenizer = load_config(resolved.folder), load_tokenizer(resolved.folder)
    n_blocks = getattr(config, "num_hidden_layers", 0)
    if not 1 <= layer <= n_blocks:
        raise HomogenizationError(
            f"similarity: layer {layer} does not exist in {resolved.description}. Allowed: 1 to {n_blocks}."
        )
    config.num_hidden_layers = layer
    for name, value in config.to_dict().items():
        if isinstance(value, list) and len(value) == n_blocks:  # an entry for each block, as for windows of attention
            setattr(config, name, value[:layer])
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()  # the dropped blocks would be reported as unexpected weights
    model = load_network(AutoModel, resolved.folder, "float32", config=config, **placement(device, 1))
    logging.set_verbosity(verbosity)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = 0  # bert-score asks for one, and texts that pass alone have no padding
    tokenizer.model_max_length = min(LONGEST_INPUT, context_of(config, tokenizer))
    loaded = Encoder((model.encoder if config.is_encoder_decoder else model).eval(), tokenizer)
    try:
        loaded.scores(["A text."], ["A text."])
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise HomogenizationError(
            f"similarity: {resolved.description} ({config.model_type}) gives no states of a text alone "
            f"({first_line(error)}). Choose another encoder, such as RoBERTa or MiniLM."
        ) from error
    return loaded


def score_against_originals(
    encoder: Encoder, originals: pl.DataFrame, variants: Sequence[pl.DataFrame]
) -> list[pl.DataFrame]:
    """Score each rewritten review of some variants against its original.

    Args:
        encoder: Encoder from `load_encoder`.
        originals: Columns review_id, text.
        variants: Columns variant, review_id, text, of the same reviews, without those that could not be rewritten.

    Returns:
        Columns of `SCORE_SCHEMA` for each variant, a row for each rewritten review in the order of `originals`.
    """
    pairs = [
        originals.select("review_id", original="text").join(
            variant.select("variant", "review_id", "text"), on="review_id", maintain_order="left", validate="1:1"
        )
        for variant in variants
    ]
    together = pl.concat(pairs)
    scores = encoder.scores(together["text"].to_list(), together["original"].to_list())
    ends = np.cumsum([len(own) for own in pairs])
    return [_scored(own, part) for own, part in zip(pairs, np.split(scores, ends[:-1]), strict=True)]


def random_partners(review_ids: Sequence[str], seed: int) -> list[str]:
    """Pair each review with another: the reviews form a circle in the order of a hash, and each gets the next one."""
    circle = sorted(review_ids, key=lambda name: seeded_hash(seed, name))
    partner = dict(zip(circle, [*circle[1:], *circle[:1]], strict=True))
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
    originals = originals if len(originals) > 1 else originals.clear()
    texts = dict(originals.select("review_id", "text").iter_rows())
    others = random_partners(list(texts), seed)
    scores = encoder.scores([texts[name] for name in others], list(texts.values()))
    table = _scored(originals.select("review_id", variant=pl.lit(RANDOM_PAIRS)), scores)
    return table.insert_column(2, pl.Series("other_review_id", others, pl.String))


def _scored(reviews: pl.DataFrame, scores: np.ndarray) -> pl.DataFrame:
    """The columns variant and review_id of `reviews` with their scores, reviews × (precision, recall, F1)."""
    numbers = pl.DataFrame(scores, schema=["precision", "recall", "f1"])
    return reviews.select("variant", "review_id").hstack(numbers).cast(SCORE_SCHEMA)
