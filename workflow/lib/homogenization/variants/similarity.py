"""BERTScore of rewritten reviews against their originals, and of unrelated reviews as the baseline."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.models.blocks import blocks_of
from homogenization.models.devices import placement
from homogenization.models.loading import context_of, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import announce
from homogenization.variants.schemas import SCORE_SCHEMA

LONGEST_INPUT = 512  # tokens


class Encoder(NamedTuple):
    """The model whose hidden states BERTScore compares, without the blocks above the compared layer."""

    model: Any
    tokenizer: Any

    def scores(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """BERTScore (Zhang et al. 2020) of each pair by bert-score: no idf weights, not rescaled.

        Each text passes alone, so that the scores of a pair depend on its two texts alone. Of a longer text, only the
        first tokens that fit the encoder (at most 512) are compared, which is told.

        Args:
            pairs: Columns variant, review_id, text, original; the result has those of `SCORE_SCHEMA`.
        """
        from bert_score.utils import bert_cos_score_idf

        if pairs.is_empty():
            return pl.DataFrame(schema=SCORE_SCHEMA)
        tokenizer, limit = self.tokenizer, self.tokenizer.model_max_length
        candidates, references = pairs["text"].to_list(), pairs["original"].to_list()
        texts = sorted({*candidates, *references})
        n_cut = sum(len(ids) > limit for ids in tokenizer(texts, truncation=False, verbose=False)["input_ids"])
        if n_cut:
            announce(f"similarity: {n_cut} of {len(texts)} texts are compared by their first {limit} tokens alone")
        # no weight of a token by its frequency, and none of those that open and close a text
        weights = defaultdict(lambda: 1.0, dict.fromkeys((tokenizer.cls_token_id, tokenizer.sep_token_id), 0.0))
        scored = bert_cos_score_idf(
            *(self.model, references, candidates, tokenizer, weights), batch_size=1, device=self.model.device
        )
        scores = pl.DataFrame(scored.double().numpy(), schema=["precision", "recall", "f1"])
        return pairs.select("variant", "review_id").hstack(scores).cast(SCORE_SCHEMA)


def load_encoder(encoder: Mapping[str, Any], layer: int, device: str) -> Encoder:
    """Load an encoder in float32, without the blocks above `layer`.

    bert-score's own loader reads pickled weights, and does not tell of missing ones.

    Args:
        encoder: Weights of the encoder, an entry for `homogenization.models.weights.resolve_weights`.
        layer: Number of the block whose hidden states are compared, from 1.
        device: As in `homogenization.models.devices.placement`.

    Raises:
        HomogenizationError: the weights are not found or damaged, or the encoder has no such layer.
    """
    from transformers import AutoModel

    resolved = resolve_weights(encoder)
    tokenizer = load_tokenizer(resolved.folder)
    model = load_network(AutoModel, resolved.folder, "float32", **placement(device, 1)).eval()
    blocks = blocks_of(model)
    if not 1 <= layer <= len(blocks):
        raise HomogenizationError(
            f"similarity: layer {layer} does not exist in {resolved.description}. Allowed: 1 to {len(blocks)}."
        )
    del blocks[layer:]
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token_id = 0  # bert-score asks for one, and texts that pass alone have no padding
    tokenizer.model_max_length = min(LONGEST_INPUT, context_of(model.config, tokenizer))
    return Encoder(model, tokenizer)


def score_against_originals(
    encoder: Encoder, originals: pl.DataFrame, variants: Sequence[pl.DataFrame]
) -> list[pl.DataFrame]:
    """Score each rewritten review of some variants against its original.

    Args:
        encoder: Encoder from `load_encoder`.
        originals: Columns review_id, text.
        variants: Columns variant, review_id, text of each, without reviews that could not be rewritten.

    Returns:
        Columns of `SCORE_SCHEMA` for each variant, a row for each rewritten review in the order of `originals`.
    """
    of_originals = originals.select("review_id", original="text")
    pairs = [
        of_originals.join(variant.select("variant", "review_id", "text"), on="review_id", maintain_order="left")
        for variant in variants
    ]
    scores = encoder.scores(pl.concat(pairs))  # together, for an original passes once
    return [scores[start:end] for start, end in pairwise(accumulate(map(len, pairs), initial=0))]


def random_partners(review_ids: Sequence[str], seed: int) -> dict[str, str]:
    """Pair each review with another: the reviews form a circle in the order of a hash, and each gets the next one."""
    circle = sorted(review_ids, key=lambda name: seeded_hash(seed, name))
    return dict(zip(circle, [*circle[1:], *circle[:1]], strict=True))


def score_random_pairs(encoder: Encoder, originals: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Score each review (columns review_id, text) against another of the shard: the BERTScore of unrelated reviews.

    The columns are those of `SCORE_SCHEMA`; the variant is `RANDOM_PAIRS`. A single review has no row.
    """
    texts = dict(originals.select("review_id", "text").iter_rows())
    other = {name: texts[partner] for name, partner in random_partners(list(texts), seed).items() if partner != name}
    rows = [(RANDOM_PAIRS, name, other[name], text) for name, text in texts.items() if name in other]
    return encoder.scores(pl.DataFrame(rows, ["variant", "review_id", "text", "original"], orient="row"))
