"""The sample: reviews ranked by a seeded hash, in nested shards that may be balanced over a column."""

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.run.errors import HomogenizationError


def sample_reviews(
    clean: pl.DataFrame,
    seed: int,
    start: int,
    stop: int,
    *,
    balance_by: str | None = None,
    min_words: int = 0,
    max_words: int = 10**9,
) -> pl.DataFrame:
    """Take the ranks start … stop − 1 of the sample: one shard.

    The reviews of `min_words` to `max_words` are ranked by a hash of (seed, review_id). With `balance_by`, they are
    ranked within each group of that column, a review without a value in none, and the groups take turns in the order of
    their names. A review's rank depends on nothing else, so shards are nested: a larger sample only adds ranks.

    Returns:
        Columns review_id, text, label, rank (Int64), row and further columns of `clean`, sorted by rank.

    Raises:
        HomogenizationError: there are too few reviews within the bounds for the ranks, or too few of a group.
    """
    groups = _groups(clean, balance_by, min_words, max_words)
    ranked = []
    for turn, group in enumerate(groups.values()):
        hashes = pl.Series("hash", [seeded_hash(seed, name) for name in group["review_id"]], pl.Binary)
        rank = pl.int_range(pl.len(), dtype=pl.Int64) * len(groups) + turn
        ranked.append(group.with_columns(hashes).sort("hash").with_columns(rank=rank))
    shard = pl.concat(ranked).filter(pl.col("rank").is_between(start, stop, closed="left")).sort("rank")
    if len(shard) < stop - start:
        counts = ", ".join(f"{name} has {len(group)}" for name, group in groups.items())
        raise HomogenizationError(
            f"corpus: {stop} reviews are wanted, and too few of {min_words} to {max_words} words are left after "
            f"cleaning ({counts}). Lower n_reviews, widen min_words and max_words, give a larger corpus, or set "
            "balance_by: null."
        )
    own = ("review_id", "text", "label", "rank")
    return shard.select(*own, pl.exclude(*own, "n_words", "hash"))


def sample_size(clean: pl.DataFrame, balance_by: str | None, min_words: int, max_words: int) -> int:
    """How many reviews the largest sample has, with the arguments of `sample_reviews`."""
    groups = _groups(clean, balance_by, min_words, max_words).values()
    return len(groups) * min(map(len, groups), default=0)


def _groups(clean: pl.DataFrame, balance_by: str | None, min_words: int, max_words: int) -> dict[str, pl.DataFrame]:
    """The reviews of an allowed length by what is said of their group, in the order of the groups."""
    fitting = clean.filter(pl.col("n_words").is_between(min_words, max_words))
    if balance_by is None:
        return {"the corpus": fitting}
    names = clean[balance_by].drop_nulls().unique().sort()
    return {f"{balance_by} {name!r}": fitting.filter(pl.col(balance_by) == name) for name in names}
