"""How similar rewritten reviews are to the originals, how well they read, and which of them are accepted."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import words
from homogenization.names.changes import LEAST_SHARE, MORE_CHANGE
from homogenization.names.columns import columns
from homogenization.names.variants import ORIGINAL, RANDOM_PAIRS
from homogenization.run.parquet import read_table, read_tables
from homogenization.variants.schemas import FLUENCY_SCHEMA, SCORE_SCHEMA

# of a rewritten review
CHANGES_SCHEMA = {
    "words_hash": pl.String,  #: of the words in their order: two texts of a review with one hash are the same
    "changed": pl.Boolean,  #: the words, in their order, are not those of the original; null for `random_pairs`
    #: sentences of the original with a phrase that was to move, the sum of the next three; null for `random_pairs`,
    #: also in these
    "n_sentences": pl.Int64,
    "n_sentences_moved": pl.Int64,  #: of which a phrase has another place in its sentence than in the original
    #: in which no phrase has, and one stands at the variant's edge; 0 for a variant without an edge
    "n_sentences_in_place": pl.Int64,
    "n_sentences_not_moved": pl.Int64,  #: the others
}
_ROWS_SCHEMA = {**columns("variant", "review_id"), **CHANGES_SCHEMA}
_EDGES = {"front": 0.0, "end": 1.0}  # the place in a sentence that is at an edge
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
    #: sentences of the rewritten reviews with a phrase that was to move, the sum of the next three
    "n_sentences": pl.Int64,
    "n_sentences_moved": pl.Int64,  #: in which a phrase has another place than in the original
    "n_sentences_in_place": pl.Int64,  #: in which none has, and one stands at the variant's edge
    "n_sentences_not_moved": pl.Int64,  #: the others
    **dict.fromkeys(("mean_f1", "median_f1"), pl.Float64),  #: over all rewritten reviews
    "baseline_median_f1": pl.Float64,  #: over pairs of unrelated reviews
    "threshold": pl.Float64,  #: `similarity.threshold`, which variants by `order` need not reach
    #: nats, over all rewritten reviews; null without `fluency`, also in the next column
    "mean_loss_per_word": pl.Float64,
    "median_excess_loss": pl.Float64,  #: nats per word above the original, over all rewritten reviews
    "max_excess_loss": pl.Float64,  #: `fluency.max_excess`
}
SCHEMAS = {"similarity": SIMILARITY_SCHEMA, "acceptance": ACCEPTANCE_SCHEMA}
_SENTENCES = tuple(name for name in CHANGES_SCHEMA if name.startswith("n_sentences"))


def similarity_table(
    variants: Sequence[pl.DataFrame],
    random_pairs: Sequence[pl.DataFrame],
    fluency: Sequence[pl.DataFrame] = (),
    *,
    threshold: float,
    max_excess: float | None = None,
    always_accepted: Sequence[str] = (),
    changes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Scores of all variants and of random pairs: the table `similarity` (`SIMILARITY_SCHEMA`).

    A rewritten review is accepted where its F1 is at least `threshold` and, with `max_excess`, its excess loss at most
    that. This is null for random pairs. A score that is missing or NaN accepts nothing.

    Args:
        variants: Scores of variants, columns of `SCORE_SCHEMA`.
        random_pairs: Scores of random pairs of reviews.
        fluency: Losses of variants and of the originals, columns of `FLUENCY_SCHEMA`; empty where not computed: losses
            are null.
        threshold: Least F1 of an accepted review.
        max_excess: Largest loss per word minus that of the original, in nats, of an accepted review; None: no bound.
        always_accepted: Variants of which every review is accepted, whatever its scores.
        changes: What the rewriting of each review changed, from `changes_of_reviews`; None: its columns are null.
    """
    # polars counts NaN as larger than any number
    accepted = pl.col("f1").fill_nan(None) >= threshold
    if max_excess is not None:
        accepted &= pl.col("excess_loss").fill_nan(None) <= max_excess
    table = _concatenated(variants, SCORE_SCHEMA).join(
        _excess_losses(_concatenated(fluency, FLUENCY_SCHEMA)),
        on=["variant", "review_id"],
        how="left",
        maintain_order="left",
        validate="m:1",
    )
    accepted = accepted.fill_null(False) | pl.col("variant").is_in(always_accepted)
    table = table.with_columns(accepted.alias("accepted"))
    if changes is not None:
        table = table.join(changes, on=["variant", "review_id"], how="left", maintain_order="left", validate="1:1")
    parts = [pl.DataFrame(schema=SIMILARITY_SCHEMA), table, _concatenated(random_pairs, SCORE_SCHEMA)]
    return pl.concat(parts, how="diagonal").select(*SIMILARITY_SCHEMA)


def _excess_losses(fluency: pl.DataFrame) -> pl.DataFrame:
    """Columns variant, review_id, loss_per_word and excess_loss: the loss minus that of the original."""
    originals = fluency.filter(variant=ORIGINAL).select("review_id", original="loss_per_word")
    excess = (pl.col("loss_per_word") - pl.col("original")).alias("excess_loss")
    return fluency.join(originals, on="review_id", how="left", validate="m:1").select(
        "variant", "review_id", "loss_per_word", excess
    )


def _concatenated(tables: Sequence[pl.DataFrame], schema: Mapping[str, Any]) -> pl.DataFrame:
    chosen = (table.select(*schema).cast(schema) for table in tables)
    return pl.concat([pl.DataFrame(schema=schema), *chosen])


def acceptance_table(
    similarity: pl.DataFrame,
    variants: Sequence[str],
    threshold: float,
    n_reviews: int,
    max_excess: float | None = None,
) -> pl.DataFrame:
    """Acceptance by variant, beside the median F1 of random pairs: the table `acceptance` (`ACCEPTANCE_SCHEMA`).

    Args:
        similarity: The table `similarity`; it lacks the reviews that a language model failed to rewrite.
        variants: Names of the rewritten variants, one row for each; one without scores has null means.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample, the denominator of the rate.
        max_excess: Largest excess loss of an accepted review; None: no bound.
    """
    counts = similarity.group_by("variant").agg(
        pl.len().alias("n_rewritten"),
        pl.col("accepted").sum().alias("n_accepted"),
        pl.col("f1").mean().alias("mean_f1"),
        pl.col("f1").median().alias("median_f1"),
        pl.col("loss_per_word").mean().alias("mean_loss_per_word"),
        pl.col("excess_loss").median().alias("median_excess_loss"),
        (pl.col("accepted") & pl.col("changed")).sum().alias("n_changed"),
        (pl.col("n_sentences") == 0).sum().alias("n_without_phrases"),
        *(pl.col(name).sum() for name in _SENTENCES),
    )
    baseline = similarity.filter(pl.col("variant") == RANDOM_PAIRS)["f1"].median()
    return (
        pl.DataFrame({"variant": list(variants)}, schema={"variant": pl.String})
        .join(counts, on="variant", how="left", maintain_order="left")
        .with_columns(pl.col("n_rewritten", "n_accepted", "n_changed", "n_without_phrases", *_SENTENCES).fill_null(0))
        .with_columns(
            pl.lit(n_reviews).alias("n_reviews"),
            (pl.col("n_accepted") / n_reviews).alias("acceptance_rate"),
            (pl.col("n_changed") / pl.col("n_accepted")).fill_nan(None).alias("share_changed"),
            pl.lit(baseline, dtype=pl.Float64).alias("baseline_median_f1"),
            pl.lit(threshold, dtype=pl.Float64).alias("threshold"),
            pl.lit(max_excess, dtype=pl.Float64).alias("max_excess_loss"),
        )
        .select(*ACCEPTANCE_SCHEMA)
        .cast(ACCEPTANCE_SCHEMA)
    )


def _warn_of_rejection(acceptance: pl.DataFrame) -> None:
    """Warn of the variants of which more rewritten reviews are rejected than accepted."""
    for row in acceptance.filter(2 * pl.col("n_accepted") < pl.col("n_rewritten")).iter_rows(named=True):
        baseline = row["baseline_median_f1"]
        unrelated = "" if baseline is None else f"; that of unrelated reviews is {baseline:.3f}"
        key, bound = "similarity.threshold", f"{row['threshold']}"
        if row["max_excess_loss"] is not None:
            key, bound = f"{key} and fluency.max_excess", f"{bound} and {row['max_excess_loss']}"
            median = row["median_excess_loss"]
            unrelated += "" if median is None else f"; their median excess loss is {median:.3f} nats per word"
        logging.warning(
            "%s: %s accept %d of the %d rewritten reviews of %s, whose median F1 is %.3f%s. A bound belongs to its "
            "model: choose it from figures/similarity.svg and tables/similarity.parquet. Only tables and figures are "
            "computed again.",
            key,
            bound,
            row["n_accepted"],
            row["n_rewritten"],
            row["variant"],
            row["median_f1"],
            unrelated,
        )


def _warn_of_unchanged(acceptance: pl.DataFrame) -> None:
    """Say which variants hold texts that are as the original, and warn where these are more than a few."""
    for row in acceptance.filter(pl.col("n_changed") < pl.col("n_accepted")).iter_rows(named=True):
        n_same = row["n_accepted"] - row["n_changed"]
        logging.log(
            logging.WARNING if row["share_changed"] < LEAST_SHARE else logging.INFO,
            "%s: %d of %d accepted texts are as the original, %d without a key phrase; phrases moved in %d of %d "
            "sentences, stood in place in %d, and could not move in %d. Comparisons are over texts that differ. %s.",
            row["variant"],
            n_same,
            row["n_accepted"],
            row["n_without_phrases"],
            row["n_sentences_moved"],
            row["n_sentences"],
            row["n_sentences_in_place"],
            row["n_sentences_not_moved"],
            MORE_CHANGE,
        )


def tabulate(
    variants: Sequence[str],
    positions: Mapping[str, str | None],
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
    """The tables `similarity` and `acceptance`.

    Args:
        variants: Names of the rewritten variants.
        positions: Where phrases of a variant are to stand, by its name.
        threshold: Least F1 of an accepted review.
        n_reviews: Reviews of the sample.
        max_excess: Largest excess loss of an accepted review; None: no bound.
        always_accepted: Variants of which every review is accepted.
        similarity: Files of scores of the rewritten reviews; None where the study has none.
        random_pairs: Files of scores of unrelated reviews; None likewise.
        fluency: Files of losses; None where the study computes none.
        originals: Files of the original reviews.
        rewritten: Files of the rewritten reviews; None where there are none.
    """
    scores = [list(map(read_table, files or ())) for files in (similarity, random_pairs, fluency)]
    changes = changes_of_reviews(read_tables(originals), map(read_table, rewritten or ()), positions)
    bounds = {"threshold": threshold, "max_excess": max_excess}
    scored = similarity_table(*scores, changes=changes, always_accepted=always_accepted, **bounds)
    acceptance = acceptance_table(scored, variants, n_reviews=n_reviews, **bounds)
    logging.info("%s", acceptance)
    _warn_of_rejection(acceptance)
    _warn_of_unchanged(acceptance)
    return scored, acceptance


def changes_of_reviews(
    originals: pl.DataFrame, variants: Iterable[pl.DataFrame], positions: Mapping[str, str | None]
) -> pl.DataFrame:
    """What the rewriting of each review changed: variant, review_id and `CHANGES_SCHEMA`, in the order of `variants`.

    Args:
        originals: Columns review_id, text.
        variants: Rewritten reviews, columns of `VARIANT_SCHEMA`.
        positions: Where phrases of a variant are to stand, by its name; only `front` and `end` are edges.
    """
    texts = dict(originals.select("review_id", "text").iter_rows())
    rows = []
    for variant, name, text, placements in (
        row for table in variants for row in table.select("variant", "review_id", "text", "placements").iter_rows()
    ):
        own = words(text)
        edge = _EDGES.get(positions.get(variant))
        rows.append((variant, name, _hash(own), own != words(texts[name]), *sentence_counts(placements, edge)))
    return pl.DataFrame(rows, schema=_ROWS_SCHEMA, orient="row")


def _hash(text_words: Sequence[str]) -> str:
    return seeded_hash(0, " ".join(text_words), size=8).hex()


def sentence_counts(placements: Sequence[Mapping[str, Any]], edge: float | None) -> tuple[int, int, int, int]:
    """Sentences with a phrase that was to move; of these: moved, in place already, not moved.

    Args:
        placements: The phrases: sentence, original_position and position; a phrase that is its sentence has neither
            position, and cannot move.
        edge: The position of the edge at which the phrases are to stand; None where there is none.
    """
    by_sentence: dict[int, list[tuple[float | None, float | None]]] = {}
    for at in placements:
        by_sentence.setdefault(at["sentence"], []).append((at["original_position"], at["position"]))
    moved = [any(before != after for before, after in places) for places in by_sentence.values()]
    there = [edge is not None and any(after == edge for _, after in places) for places in by_sentence.values()]
    n_in_place = sum(at_edge and not has_moved for at_edge, has_moved in zip(there, moved, strict=True))
    return len(moved), sum(moved), n_in_place, len(moved) - sum(moved) - n_in_place
