"""How variants differ from their controls in what else may move a metric: standardised mean differences."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations, groupby, pairwise
from math import copysign, inf, nan, sqrt
from operator import itemgetter
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import sentence_spans, words
from homogenization.models.built import with_built_weights
from homogenization.models.tokenizer import load_tokenizer
from homogenization.models.weights import resolve_configuration
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.tables.comparisons import BALANCE_SCHEMA, same_texts, unbalanced
from homogenization.tables.over_reviews import keep_accepted

# smaller differences and spreads, as a fraction of the values, are rounding
_ROUNDING = 1e-12
# in the order of the table
COVARIATES = (
    "displacement",
    "order",
    "phrases_together",
    "bigrams_kept",
    "sentences_changed",
    "first_word_changed",
    "words",
    "tokens_per_word",
    "f1",
    "loss_per_word",
)
_OF_EVERY_TEXT = tuple(name for name in COVARIATES if name not in ("tokens_per_word", "loss_per_word"))
_VALUES_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "model": pl.String,
    "covariate": pl.String,
    "value": pl.Float64,
}
SCHEMAS = (BALANCE_SCHEMA,)


def text_covariates(original: str, rewritten: str, placements: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """What a rewriting did to a review, by covariate; None where the review has no such value.

    Args:
        original: Text of the review.
        rewritten: Text of its variant.
        placements: The phrases that moved: phrase (folded words), sentence, original_position, position.

    Returns:
        displacement: Mean over phrases of |position - original position|, as a fraction of the sentence.
        order: Share of the pairs of phrases of a sentence that stand in the order of the original.
        phrases_together: Share of the neighbouring phrases of a sentence, in the variant, with no word between them.
        bigrams_kept: Share of the original's bigrams of words that the variant has; a bigram counts as often as both
            have it.
        sentences_changed: Share of the original's sentences whose words no longer follow each other in the variant.
        first_word_changed: 1 if the review begins with another word, otherwise 0.
        words: Words of the variant.
    """
    before, after = words(original), words(rewritten)
    text = _spaced(after)
    by_sentence = _by_sentence(placements)
    placed = [phrase for phrases in by_sentence for phrase in phrases]
    pairs = [pair for phrases in by_sentence for pair in combinations(phrases, 2)]
    neighbours = [pair for phrases in by_sentence for pair in pairwise(sorted(phrases, key=itemgetter("position")))]
    sentences = [words(original[slice(*span)]) for span in sentence_spans(original)]
    bigrams, bigrams_after = (Counter(pairwise(text_words)) for text_words in (before, after))
    return {
        "displacement": _mean([abs(at["position"] - at["original_position"]) for at in placed]),
        "order": _mean([first["position"] < second["position"] for first, second in pairs]),
        "phrases_together": _mean([_spaced([one["phrase"], next["phrase"]]) in text for one, next in neighbours]),
        "bigrams_kept": (bigrams & bigrams_after).total() / bigrams.total() if bigrams else None,
        "sentences_changed": _mean([_spaced(sentence) not in text for sentence in sentences if sentence]),
        "first_word_changed": float(before[:1] != after[:1]),
        "words": float(len(after)),
    }


def _by_sentence(placements: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The phrases of each sentence in the order of the original, without those that are a whole sentence."""
    placed = [at for at in placements if at["position"] is not None and at["original_position"] is not None]
    ordered = sorted(placed, key=itemgetter("sentence", "original_position"))
    return [list(phrases) for _, phrases in groupby(ordered, itemgetter("sentence"))]


def _spaced(sequence: Sequence[str]) -> str:
    """Words so that one sequence is part of another only at whole words."""
    return f" {' '.join(sequence)} "


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def covariates_of_reviews(
    variants: pl.DataFrame, similarity: pl.DataFrame, tokens: Mapping[str, Sequence[int]]
) -> pl.DataFrame:
    """Every covariate of every rewritten review that is accepted: a row for each variant, review, model and covariate.

    Args:
        variants: All variants, columns of `VARIANT_SCHEMA`.
        similarity: tables/similarity.parquet.
        tokens: By model, the number of tokens of each row of `variants`.

    Returns:
        Columns variant, review_id, model (null for a covariate of the text alone), covariate, value (null where the
        review has none).
    """
    originals = dict(variants.filter(variant=ORIGINAL).select("review_id", "text").iter_rows())
    token_counts = pl.DataFrame({f"tokens {model}": counts for model, counts in tokens.items()})
    accepted = keep_accepted(variants.hstack(token_counts), similarity).filter(pl.col("variant") != ORIGINAL)
    scores = similarity.select("variant", "review_id", "f1", "loss_per_word")
    rows = []
    for review in accepted.join(scores, on=["variant", "review_id"], maintain_order="left").iter_rows(named=True):
        name = review["variant"], review["review_id"]
        of_text = text_covariates(originals[review["review_id"]], review["text"], review["placements"])
        of_text |= {score: review[score] for score in ("f1", "loss_per_word")}
        rows += [(*name, None, covariate, value) for covariate, value in of_text.items()]
        rows += [(*name, model, "tokens_per_word", review[f"tokens {model}"] / of_text["words"]) for model in tokens]
    return pl.DataFrame(rows, schema=_VALUES_SCHEMA, orient="row")


def standardised_mean_difference(values: np.ndarray, control: np.ndarray) -> float:
    """(mean of `values` - mean of `control`) / sqrt((s² of `values` + s² of `control`) / 2), variances with n - 1.

    The definition of Rosenbaum and Rubin (1985), as Austin (2009) uses it to judge balance. The spread is that between
    reviews, not that of paired differences: it says how far two groups of texts are apart. Equal means give 0 and
    different means without any spread ±infinity, both up to rounding; fewer than two values give NaN.

    Args:
        values: Covariate of each review in the variant, (reviews,).
        control: The same in the control, (reviews,).
    """
    if min(len(values), len(control)) < 2:
        return nan
    difference = float(np.mean(values) - np.mean(control))
    spread = sqrt((np.var(values, ddof=1) + np.var(control, ddof=1)) / 2)
    rounding = _ROUNDING * max(np.abs(values).max(), np.abs(control).max())
    if abs(difference) <= rounding:
        return 0.0
    return difference / spread if spread > rounding else copysign(inf, difference)


def balance_table(
    covariates: pl.DataFrame,
    similarity: pl.DataFrame,
    pairs: Sequence[tuple[str, str, str | None]],
    max_imbalance: float,
) -> pl.DataFrame:
    """Balance of each variant and its control: the table `balance` (`BALANCE_SCHEMA`), in the order of `pairs`.

    Each row is over the reviews that are accepted in both, with texts that differ, and have the covariate in both, as
    the comparison is. Covariates without any such
    review have no row; of a pair that no review has in common, those of every text have one with NaN.

    Args:
        covariates: Table from `covariates_of_reviews`.
        similarity: tables/similarity.parquet.
        pairs: (variant, control, role).
        max_imbalance: Largest absolute standardised mean difference that counts as balanced.
    """
    values = covariates.drop_nulls("value")
    rows = []
    for variant, control, role in pairs:
        differing = values.join(same_texts(similarity, variant, control), on="review_id", how="anti")
        both = differing.filter(variant=variant).join(
            differing.filter(variant=control),
            on=["review_id", "model", "covariate"],
            nulls_equal=True,
            suffix="_control",
        )
        for (covariate, model), reviews in both.sort("review_id").group_by("covariate", "model"):
            pair = reviews["value"].to_numpy(), reviews["value_control"].to_numpy()
            smd = standardised_mean_difference(*pair)
            means = (float(part.mean()) for part in pair)
            balanced = None if smd != smd else abs(smd) <= max_imbalance
            rows.append((variant, control, role, model, covariate, *means, smd, len(reviews), balanced))
        if both.is_empty():
            rows += [(variant, control, role, None, covariate, nan, nan, nan, 0, None) for covariate in _OF_EVERY_TEXT]
    order = {(variant, control): number for number, (variant, control, _) in enumerate(pairs)}
    rows.sort(key=lambda row: (order[row[:2]], COVARIATES.index(row[4]), row[3] or ""))
    return pl.DataFrame(rows, schema=BALANCE_SCHEMA, orient="row")


def tabulate(
    variants: Sequence[str],
    similarity: pl.DataFrame,
    pairs: Sequence[tuple[str, str, str | None]],
    models: Mapping[str, Mapping[str, Any]],
    max_imbalance: float,
    **_: Any,
) -> pl.DataFrame:
    """The table `balance`.

    Args:
        variants: Files of the rewritten reviews and of the originals.
        similarity: The table `similarity`.
        pairs: (variant, control, role).
        models: By name, `weights` of a model that reads and `files` that the workflow has built of them.
        max_imbalance: Largest absolute standardised mean difference that counts as balanced.
        **_: Files of weights, which the rule waits for.
    """
    reviews = read_tables(variants)
    tokens = {name: _token_counts(entry, reviews["text"].to_list()) for name, entry in models.items()}
    covariates = covariates_of_reviews(reviews, similarity, tokens)
    balance = balance_table(covariates, similarity, pairs, max_imbalance)
    for (variant, control), names in unbalanced(balance).items():
        logging.info("%s and %s are out of balance: %s", variant, control, ", ".join(names))
    return balance


def _token_counts(entry: Mapping[str, Any], texts: list[str]) -> list[int]:
    """Tokens of each whole text, without special tokens."""
    weights = with_built_weights(entry, entry["files"])["weights"]
    tokenizer = load_tokenizer(resolve_configuration(weights))
    encoded = tokenizer(texts, add_special_tokens=False, return_attention_mask=False, verbose=False)
    return list(map(len, encoded["input_ids"]))
