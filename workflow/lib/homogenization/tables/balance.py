"""How variants differ from their controls in what else may move a metric: standardised mean differences."""

import logging
from collections.abc import Mapping, Sequence
from math import copysign, inf, nan, sqrt
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import words
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.tables.comparisons import BALANCE_SCHEMA, same_texts, unbalanced
from homogenization.tables.over_reviews import keep_accepted

# smaller differences and spreads, as a fraction of the values, are rounding
_ROUNDING = 1e-12
# in the order of the table
COVARIATES = ("displacement", "first_word_changed", "tokens", "f1", "loss_per_word")
_OF_EVERY_TEXT = ("displacement", "first_word_changed", "f1")
_VALUES_SCHEMA = {
    "variant": pl.String,
    "review_id": pl.String,
    "model": pl.String,
    "covariate": pl.String,
    "value": pl.Float64,
}
SCHEMAS = {"balance": BALANCE_SCHEMA}


def text_covariates(original: str, rewritten: str, placements: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """What a rewriting did to a review, by covariate; None where the review has no such value.

    Args:
        original: Text of the review.
        rewritten: Text of its variant.
        placements: The phrases that moved: original_position, position.

    Returns:
        displacement: Mean over phrases of |position - original position|, as a fraction of the sentence; a phrase that
            is a whole sentence has no position.
        first_word_changed: 1 if the review begins with another word, otherwise 0.
    """
    moves = [
        abs(at["position"] - at["original_position"])
        for at in placements
        if at["position"] is not None and at["original_position"] is not None
    ]
    return {
        "displacement": sum(moves) / len(moves) if moves else None,
        "first_word_changed": float(words(original)[:1] != words(rewritten)[:1]),
    }


def covariates_of_reviews(variants: pl.DataFrame, similarity: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    """Every covariate of every rewritten review that is accepted: a row for each variant, review, model and covariate.

    Args:
        variants: All variants, columns of `VARIANT_SCHEMA`.
        similarity: tables/similarity.parquet.
        tokens: model, variant, review_id and n_tokens of what each model read.

    Returns:
        Columns variant, review_id, model (null for a covariate of the text alone), covariate, value (null where the
        review has none).
    """
    originals = dict(variants.filter(variant=ORIGINAL).select("review_id", "text").iter_rows())
    accepted = keep_accepted(variants, similarity).filter(pl.col("variant") != ORIGINAL)
    scores = similarity.select("variant", "review_id", "f1", "loss_per_word")
    rows = []
    for review in accepted.join(scores, on=["variant", "review_id"], maintain_order="left").iter_rows(named=True):
        of_text = text_covariates(originals[review["review_id"]], review["text"], review["placements"])
        of_text |= {score: review[score] for score in ("f1", "loss_per_word")}
        rows += [(review["variant"], review["review_id"], None, *of_one) for of_one in of_text.items()]
    read = tokens.join(accepted, on=["variant", "review_id"], how="semi")
    counts = read.select(
        *list(_VALUES_SCHEMA)[:3], covariate=pl.lit("tokens"), value=pl.col("n_tokens").cast(pl.Float64)
    )
    return pl.concat([pl.DataFrame(rows, schema=_VALUES_SCHEMA, orient="row"), counts])


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
    the comparison is. Covariates without any such review have no row; of a pair that no review has in common, those of
    every text have one with NaN.

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
    texts: Sequence[str],
    similarity: pl.DataFrame,
    pairs: Sequence[tuple[str, str, str | None]],
    max_imbalance: float,
) -> pl.DataFrame:
    """The table `balance`.

    Args:
        variants: Files of the rewritten reviews and of the originals.
        texts: Files of what each model read, which have the number of tokens.
        similarity: The table `similarity`.
        pairs: (variant, control, role).
        max_imbalance: Largest absolute standardised mean difference that counts as balanced.
    """
    tokens = read_tables(texts).select("model", "variant", "review_id", "n_tokens")
    covariates = covariates_of_reviews(read_tables(variants), similarity, tokens)
    balance = balance_table(covariates, similarity, pairs, max_imbalance)
    for (variant, control), names in unbalanced(balance).items():
        logging.info("%s and %s are out of balance: %s", variant, control, ", ".join(names))
    return balance
