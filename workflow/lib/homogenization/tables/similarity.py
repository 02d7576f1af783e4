"""How similar rewritten reviews are to the originals, how well they read, and which of them are accepted."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL, RANDOM_PAIRS
from homogenization.run.parquet import read_table, read_tables
from homogenization.variants.schemas import FLUENCY_SCHEMA, PLACEMENT, SCORE_SCHEMA

# of a rewritten review
CHANGES_SCHEMA = {
    "words_hash": pl.String,  #: of the words in their order: two texts of a review with one hash are the same
    "changed": pl.Boolean,  #: the words, in their order, are not those of the original; null for `random_pairs`
    "first_word_changed": pl.Boolean,  #: it begins with another word; null likewise
    #: each place of a key phrase: `phrase`, its words, casefolded; `sentence`, its number in the original, from 0;
    #: `original_position` and `position`, words before it / other words of the sentence: 0 is the beginning, 1 the end;
    #: null where the phrase is the sentence
    "placements": pl.List(PLACEMENT),
}
#: A row for each rewritten review and variant, then one for each pair of unrelated reviews (variant `random_pairs`).
SIMILARITY_SCHEMA = {
    **SCORE_SCHEMA,
    #: nats, of the variant's text under the model of `fluency`; null without it, and for `random_pairs`
    "loss_per_word": pl.Float64,
    "excess_loss": pl.Float64,  #: the same minus that of the original
    #: F1 is at least the threshold and, with `fluency.max_excess`, the excess loss at most that; true for variants by
    #: `order`, null for `random_pairs`
    "accepted": pl.Boolean,
    **CHANGES_SCHEMA,
}
#: A row for each variant except `original`.
ACCEPTANCE_SCHEMA = {
    **columns("variant"),
    "n_reviews": pl.Int64,  #: reviews of the sample
    #: rewritten reviews: all if written by rule; those with a passing candidate if written by a language model, 0 if
    #: none has one
    "n_rewritten": pl.Int64,
    "n_accepted": pl.Int64,  #: accepted reviews
    "acceptance_rate": pl.Float64,  #: accepted / reviews of the sample
    "n_changed": pl.Int64,  #: accepted reviews whose words, in their order, are not those of the original
    "share_changed": pl.Float64,  #: the same / accepted reviews; empty without any
    #: rewritten reviews in which no phrase was to move: that have no key phrase, or are by `order`
    "n_without_phrases": pl.Int64,
    "n_sentences": pl.Int64,  #: sentences of the rewritten reviews with a phrase that was to move
    "n_sentences_moved": pl.Int64,  #: in which a phrase has another place than in the original
    **dict.fromkeys(("mean_f1", "median_f1"), pl.Float64),  #: over all rewritten reviews
    "baseline_median_f1": pl.Float64,  #: over pairs of unrelated reviews
    "threshold": pl.Float64,  #: `similarity.threshold`, which variants by `order` need not reach
    #: nats, over all rewritten reviews; null without `fluency`, also in the next column
    "mean_loss_per_word": pl.Float64,
    "median_excess_loss": pl.Float64,  #: nats per word above the original, over all rewritten reviews
    "max_excess_loss": pl.Float64,  #: `fluency.max_excess`
}
SCHEMAS = {"similarity": SIMILARITY_SCHEMA, "acceptance": ACCEPTANCE_SCHEMA}
_REVIEW = ["variant", "review_id"]


def tabulate(
    variants: Sequence[str],
    threshold: float,
    n_reviews: int,
    *,
    max_excess: float | None = None,
    always_accepted: Sequence[str] = (),
    similarity: Sequence[str] | None,
    random_pairs: Sequence[str] | None,
    fluency: Sequence[str] | None,
    originals: Sequence[str],
    rewritten: Sequence[str] | None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `similarity` and `acceptance` of `variants`, from files; None for those that a study has not.

    A review is accepted in a variant with an F1 of at least the `threshold`, whose loss per word is at most
    `max_excess` (nats) above that of the original; all are in the variants that are `always_accepted`.
    """
    changes = changes_of_reviews(read_tables(originals), [read_table(path) for path in rewritten or ()])
    scores, pairs = (_columns_of(files, SCORE_SCHEMA) for files in (similarity, random_pairs))
    of_text = [changes, excess_losses(_columns_of(fluency, FLUENCY_SCHEMA))]
    bounds = {"threshold": threshold, "max_excess": max_excess}
    scored = similarity_table(scores, pairs, *of_text, always_accepted=always_accepted, **bounds)
    acceptance = acceptance_table(scored, variants, n_reviews=n_reviews, **bounds)
    _warn(acceptance)
    return scored, acceptance


def _columns_of(files: Sequence[str] | None, schema: Mapping[str, Any]) -> pl.DataFrame:
    tables = (read_table(path).select(*schema).cast(schema) for path in files or ())
    return pl.concat([pl.DataFrame(schema=schema), *tables])


def changes_of_reviews(originals: pl.DataFrame, variants: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What rewriting changed: variant, review_id and `CHANGES_SCHEMA` of each review, in the order of `variants`."""
    texts = dict(originals.select("review_id", "text").iter_rows())
    rows = []
    for table in variants:
        for variant, name, text, placements in table.select(*_REVIEW, "text", "placements").iter_rows():
            own = words(text)
            hashed = seeded_hash(0, " ".join(own), size=8).hex()
            original = words(texts[name])
            rows.append((variant, name, hashed, own != original, own[:1] != original[:1], placements))
    return pl.DataFrame(rows, schema=columns(*_REVIEW) | CHANGES_SCHEMA, orient="row")


def excess_losses(fluency: pl.DataFrame) -> pl.DataFrame:
    """Columns variant, review_id, loss_per_word and excess_loss: the loss minus that of the original."""
    originals = fluency.filter(variant=ORIGINAL).select("review_id", original="loss_per_word")
    excess = (pl.col("loss_per_word") - pl.col("original")).alias("excess_loss")
    return fluency.join(originals, on="review_id", how="left", validate="m:1").select(*_REVIEW, "loss_per_word", excess)


def similarity_table(
    scores: pl.DataFrame,
    random_pairs: pl.DataFrame,
    changes: pl.DataFrame,
    losses: pl.DataFrame,
    *,
    threshold: float,
    max_excess: float | None = None,
    always_accepted: Sequence[str] = (),
) -> pl.DataFrame:
    """The table `similarity` from scores of variants and of random pairs, `changes_of_reviews` and `excess_losses`.

    A score that is missing or NaN accepts nothing. The other arguments are those of `tabulate`.
    """
    # polars counts NaN as larger than any number
    accepted = pl.col("f1").fill_nan(None) >= threshold
    if max_excess is not None:
        accepted &= pl.col("excess_loss").fill_nan(None) <= max_excess
    table = scores
    for more in (losses, changes):
        table = table.join(more, on=_REVIEW, how="left", maintain_order="left", validate="m:1")
    accepted = accepted.fill_null(False) | pl.col("variant").is_in(always_accepted)
    parts = [pl.DataFrame(schema=SIMILARITY_SCHEMA), table.with_columns(accepted=accepted), random_pairs]
    return pl.concat(parts, how="diagonal").select(*SIMILARITY_SCHEMA)


def acceptance_table(
    similarity: pl.DataFrame,
    variants: Sequence[str],
    *,
    threshold: float,
    n_reviews: int,
    max_excess: float | None = None,
) -> pl.DataFrame:
    """Acceptance by variant, beside the median F1 of random pairs: the table `acceptance` (`ACCEPTANCE_SCHEMA`).

    A variant without scores has null means. The arguments are those of `tabulate`.
    """
    counts = similarity.group_by("variant").agg(
        pl.len().alias("n_rewritten"),
        pl.col("accepted").sum().alias("n_accepted"),
        pl.col("f1").mean().alias("mean_f1"),
        pl.col("f1").median().alias("median_f1"),
        pl.col("loss_per_word").mean().alias("mean_loss_per_word"),
        pl.col("excess_loss").median().alias("median_excess_loss"),
        (pl.col("accepted") & pl.col("changed")).sum().alias("n_changed"),
        (pl.col("placements").list.len() == 0).sum().alias("n_without_phrases"),
    )
    named = pl.DataFrame({"variant": list(variants)}, schema=columns("variant"))
    for more in (counts, sentence_counts(similarity)):
        named = named.join(more, on="variant", how="left", maintain_order="left")
    baseline = similarity.filter(variant=RANDOM_PAIRS)["f1"].median()
    return (
        named.with_columns(pl.selectors.starts_with("n_").fill_null(0))
        .with_columns(
            (pl.col("n_accepted") / n_reviews).alias("acceptance_rate"),
            (pl.col("n_changed") / pl.col("n_accepted")).fill_nan(None).alias("share_changed"),
            n_reviews=pl.lit(n_reviews),
            baseline_median_f1=pl.lit(baseline, pl.Float64),
            threshold=pl.lit(threshold, pl.Float64),
            max_excess_loss=pl.lit(max_excess, pl.Float64),
        )
        .select(*ACCEPTANCE_SCHEMA)
        .cast(ACCEPTANCE_SCHEMA)
    )


def sentence_counts(similarity: pl.DataFrame) -> pl.DataFrame:
    """variant, and its sentences with a phrase that was to move: all, and those in which one has another place."""
    places = similarity.select(*_REVIEW, "placements").explode("placements").drop_nulls("placements")
    places = places.unnest("placements")
    moved = pl.col("position").ne_missing(pl.col("original_position")).any()
    sentences = places.group_by(*_REVIEW, "sentence").agg(moved=moved)
    return sentences.group_by("variant").agg(n_sentences=pl.len(), n_sentences_moved=pl.col("moved").sum())


def _warn(acceptance: pl.DataFrame) -> None:
    """Say of which variants most rewritten reviews are rejected, and which hold texts that are as the original."""
    logging.info("%s", acceptance)
    for row in acceptance.iter_rows(named=True):
        if 2 * row["n_accepted"] < row["n_rewritten"]:
            logging.warning(
                "{variant}: {n_accepted} of the {n_rewritten} rewritten reviews are accepted (similarity.threshold: "
                "{threshold}, fluency.max_excess: {max_excess_loss}). Their median F1 is {median_f1:.3f}, that of "
                "unrelated reviews {baseline_median_f1}; their median excess loss is {median_excess_loss}. A bound "
                "belongs to its model: choose it from figures/similarity.svg. No model runs again.".format(**row)
            )
        if row["n_changed"] < row["n_accepted"]:
            level = logging.WARNING if row["share_changed"] < LEAST_SHARE else logging.INFO
            message = "{variant}: {n_changed} of {n_accepted} accepted texts differ from the original. "
            message += "{n_without_phrases} texts have no key phrase; phrases moved in {n_sentences_moved} of "
            message += "{n_sentences} sentences. "
            logging.log(level, message.format(**row) + MORE_CHANGE + ".")
