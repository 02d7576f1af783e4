"""The sample: reviews ranked by a seeded hash, in nested shards that are balanced over labels."""

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.run.errors import HomogenizationError


def sample_reviews(
    clean: pl.DataFrame,
    seed: int,
    start: int,
    stop: int,
    *,
    balance: bool = True,
    min_words: int | None = None,
    max_words: int | None = None,
) -> pl.DataFrame:
    """Take the ranks start … stop − 1 of the sample: one shard.

    Within each label the reviews are ranked by a hash of (seed, review_id), and the labels take turns in alphabetical
    order. A review's rank depends on nothing else, so shards are nested: a larger sample only adds ranks.

    Args:
        clean: Columns review_id, text, label, n_words.
        seed: Seed of the ranking.
        start: First rank; the first review of the sample has rank 0.
        stop: Last rank plus one.
        balance: Whether labels take turns; otherwise all reviews are ranked together.
        min_words: Smallest number of words of a review; None for no bound.
        max_words: Largest number of words of a review; None for no bound.

    Returns:
        Columns review_id, text, label, rank (Int64), row and further columns of `clean`, sorted by rank.

    Raises:
        HomogenizationError: there are too few reviews within the bounds for the ranks, or too few of a label.
    """
    n_words = pl.col("n_words")
    fitting = clean.filter(n_words >= (min_words or 0), pl.lit(True) if max_words is None else n_words <= max_words)
    labels = sorted(clean["label"].unique()) if balance else [None]
    ranked = []
    for turn, label in enumerate(labels):
        group = fitting if label is None else fitting.filter(pl.col("label") == label)
        hashes = [seeded_hash(seed, name) for name in group["review_id"]]
        ordered = group.with_columns(pl.Series("hash", hashes, pl.Binary)).sort("hash")
        ranked.append(ordered.with_columns(rank=pl.int_range(pl.len(), dtype=pl.Int64) * len(labels) + turn))
    shard = pl.concat(ranked).filter(pl.col("rank").is_between(start, stop, closed="left")).sort("rank")
    if len(shard) < stop - start:
        raise HomogenizationError(_too_few(fitting, labels, stop, min_words, max_words))
    own = ("review_id", "text", "label", "rank")
    return shard.select(*own, pl.exclude(*own, "n_words", "hash"))


def _too_few(
    fitting: pl.DataFrame, labels: list[str | None], stop: int, min_words: int | None, max_words: int | None
) -> str:
    """The error message with the numbers of reviews wanted and available, and the remedy."""
    bounds = f"{min_words or 0} to {'any number of' if max_words is None else max_words} words"
    if labels == [None]:
        return (
            f"corpus: {stop} reviews are wanted, but only {len(fitting)} of {bounds} are left after cleaning. "
            "Lower n_reviews, widen min_words and max_words, or give a larger corpus."
        )
    quota = {label: -(-(stop - turn) // len(labels)) for turn, label in enumerate(labels)}
    there = {label: fitting.filter(pl.col("label") == label).height for label in labels}
    counts = ", ".join(f"label '{label}': {there[label]} of {quota[label]} wanted" for label in labels)
    return (
        f"corpus: too few reviews of {bounds} for a balanced sample of {stop} ({counts}). Lower n_reviews, widen "
        "min_words and max_words, give a larger corpus, or set label_column: null to sample without regard to labels."
    )
