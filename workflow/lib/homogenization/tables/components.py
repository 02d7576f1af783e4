"""What changes from the input to the output of each component of a block: anisotropy, dimension, neighbours."""

from collections.abc import Sequence

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
    #: `cosine_anisotropy`, `singular_anisotropy`, `intrinsic_dimension` or `neighbourhood_overlap` (1 before each)
    "metric": pl.String,
    #: the metric at the component's input; for an addition, of the stream before it; NaN if undefined (a single token
    #: has no pair)
    "before": pl.Float64,
    "after": pl.Float64,  #: the metric at its output; for an addition, of the stream after it
    "change": pl.Float64,  #: after − before
}
SCHEMAS = {"components": COMPONENTS_SCHEMA}
METRICS = ("cosine_anisotropy", "singular_anisotropy", "intrinsic_dimension", "neighbourhood_overlap")
_KEYS = ("model", "variant", "review_id", "layer", "depth", "view", "metric")


def tabulate(components: Sequence[str], similarity: pl.DataFrame) -> pl.DataFrame:
    """Each anisotropy before and after each component of each block (`COMPONENTS_SCHEMA`), sorted by its keys.

    The metadata of the files `components` name the points before and after each component; of an addition, these are
    the stream.
    """
    parts = [pl.DataFrame(schema=COMPONENTS_SCHEMA)]
    for path in components:
        states = keep_accepted(read_table(path), similarity)
        long = states.unpivot(METRICS, index=("point", *_KEYS[:-1]), variable_name="metric")
        overlap = pl.col("metric") == "neighbourhood_overlap"
        for component, points in table_metadata(path)["components"].items():
            before, after = (
                long.filter(point=point).select(*_KEYS, pl.col("value").alias(name))
                for point, name in zip(points, ("before", "after"), strict=True)
            )
            # an overlap is with the point before; metrics that are not of a view are null
            before = before.with_columns(pl.when(overlap).then(1.0).otherwise("before").alias("before"))
            pairs = before.join(after.drop_nulls("after"), on=_KEYS, validate="1:1").with_columns(
                component=pl.lit(component), change=pl.col("after") - pl.col("before")
            )
            parts.append(pairs.select(*COMPONENTS_SCHEMA).cast(COMPONENTS_SCHEMA))
    return pl.concat(parts).sort("model", "variant", "review_id", "layer", "component", "view", "metric")
