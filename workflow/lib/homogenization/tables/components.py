"""What each component of a block does to the anisotropies: the change from its input to its output."""

from collections.abc import Mapping, Sequence

import polars as pl

from homogenization.tables.over_reviews import keep_analysed, tagged, with_depth

COMPONENTS_SCHEMA = {
    "model": pl.String,
    "variant": pl.String,
    "review_id": pl.String,
    "layer": pl.Int32,
    "depth": pl.Float64,
    "component": pl.String,
    "view": pl.String,
    "metric": pl.String,
    "before": pl.Float64,
    "after": pl.Float64,
    "change": pl.Float64,
}
COMPONENT_METRICS = ("cosine_anisotropy", "singular_anisotropy")
_KEYS = ("review_id", "layer", "view", "metric")
_GROUP = ("model", "variant", "review_id", "layer", "component", "view", "metric")


def component_changes(
    jobs: Sequence[tuple[str, str, Mapping[str, Sequence[str]], pl.DataFrame]], similarity: pl.DataFrame
) -> pl.DataFrame:
    """Each anisotropy before and after each component of each block, of the analysed reviews.

    Args:
        jobs: (model, variant, the points before and after each component, component states of one shard).
        similarity: tables/similarity.parquet, which says which reviews are analysed.

    Returns:
        The table `components` (`COMPONENTS_SCHEMA`), sorted by its keys. Of a norm, an attention or a feed-forward
        network, before is its input and after its output; of an addition, the stream before and after it.
    """
    parts = [pl.DataFrame(schema=COMPONENTS_SCHEMA)]
    for model, variant, components, states in jobs:
        analysed = keep_analysed(states, similarity)
        long = analysed.unpivot(COMPONENT_METRICS, index=("point", *_KEYS[:-1]), variable_name="metric")
        n_blocks = int(states["layer"].max() or 0)
        for component, (before, after) in components.items():
            change = pl.col("after") - pl.col("before")
            pairs = (
                _at(long, before, "before")
                .join(_at(long, after, "after"), on=_KEYS, how="inner", validate="1:1")
                .with_columns(change.alias("change"), pl.lit(component).alias("component"))
            )
            named = tagged(with_depth(pairs, n_blocks), model=model, variant=variant)
            parts.append(named.select(*COMPONENTS_SCHEMA).cast(COMPONENTS_SCHEMA))
    return pl.concat(parts).sort(_GROUP)


def _at(long: pl.DataFrame, point: str, name: str) -> pl.DataFrame:
    """The values at one point, in a column `name` beside the keys."""
    return long.filter(pl.col("point") == point).select(*_KEYS, pl.col("value").alias(name))
