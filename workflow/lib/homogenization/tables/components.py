"""The change of the anisotropies from the input to the output of each component of a block."""

from collections.abc import Mapping, Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.parquet import read_table, table_metadata
from homogenization.tables.over_reviews import keep_accepted

#: A row for each model, variant, accepted review, block, component, view and metric; sorted by these. It exists if
#: `components` is configured.
COMPONENTS_SCHEMA = {
    **columns("model", "variant", "review_id"),
    "layer": pl.Int32,  #: the block, from 1
    **columns("depth"),
    #: `attention`, `feed_forward`, `attention_addition`, `feed_forward_addition` (a parallel block: `addition`),
    #: `norm_1`, `norm_2`; where a norm follows inside the branch (Gemma 2, Gemma 3), `post_norm_1`, `post_norm_2`
    "component": pl.String,
    #: `all_tokens`, `without_first`, `centred`, `centred_without_first`: the last two minus the mean of their tokens
    "view": pl.String,
    "metric": pl.String,  #: `cosine_anisotropy` or `singular_anisotropy`
    #: the metric at the component's input; for an addition, of the stream before it; NaN if undefined (a single token
    #: has no pair)
    "before": pl.Float64,
    "after": pl.Float64,  #: the metric at its output; for an addition, of the stream after it
    "change": pl.Float64,  #: after − before
}
SCHEMAS = {"components": COMPONENTS_SCHEMA}
COMPONENT_METRICS = ("cosine_anisotropy", "singular_anisotropy")
# metric of a component -> the same of the stream, in tables/metrics.parquet
STREAM_METRICS = {"singular_anisotropy": "max_explainable_variance"}
_KEYS = ("model", "variant", "review_id", "layer", "depth", "view", "metric")
_GROUP = ("model", "variant", "review_id", "layer", "component", "view", "metric")


def component_changes(states: pl.DataFrame, components: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Each anisotropy before and after each component of each block of one model.

    Args:
        states: component states of the accepted reviews.
        components: the points before and after each component.

    Returns:
        Part of the table `components` (`COMPONENTS_SCHEMA`). For a norm, an attention or a feed-forward
        network, before is its input and after its output; for an addition, the stream before and after it.
    """
    parts = [pl.DataFrame(schema=COMPONENTS_SCHEMA)]
    long = states.unpivot(COMPONENT_METRICS, index=("point", *_KEYS[:-1]), variable_name="metric")
    for component, (before, after) in components.items():
        change = pl.col("after") - pl.col("before")
        pairs = (
            _at(long, before, "before")
            .join(_at(long, after, "after"), on=_KEYS, how="inner", validate="1:1")
            .with_columns(change.alias("change"), pl.lit(component).alias("component"))
        )
        parts.append(pairs.select(*COMPONENTS_SCHEMA).cast(COMPONENTS_SCHEMA))
    return pl.concat(parts)


def _at(long: pl.DataFrame, point: str, name: str) -> pl.DataFrame:
    """The values at one point, in a column `name` beside the keys."""
    return long.filter(pl.col("point") == point).select(*_KEYS, pl.col("value").alias(name))


def tabulate(components: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """The table `components` of the accepted reviews of all jobs, `components` their files, sorted by its keys."""
    parts = [
        component_changes(keep_accepted(read_table(path), similarity), table_metadata(path)["components"])
        for path in components
    ]
    return pl.concat(parts).sort(_GROUP)
