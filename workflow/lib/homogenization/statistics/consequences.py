"""The tables `consequences` and `probes`: what homogenization costs each model."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.interventions.schemas import INTERVENED_SCHEMA
from homogenization.names.columns import columns
from homogenization.names.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE
from homogenization.run.parquet import read_tables
from homogenization.statistics.effects import EFFECTS_SCHEMA, effects_table, text_effects
from homogenization.statistics.estimate import Settings
from homogenization.tables.intervened import CONDITION, UNTOUCHED, by_review, without_draw
from homogenization.tables.over_reviews import keep_accepted, summarise

QUANTITIES = {  # column of the readings -> quantity of the table
    "log_loss": "log_loss",
    "correct": "accuracy",
    "null_log_loss": "null_log_loss",
    "null_correct": "null_accuracy",
}
_PLACE = (*CONDITION, "variant", "quantity", "layer", "depth")
#: A row for each model, condition, text (`variant`), quantity and layer
#: ([consequences](interventions.md#consequences)).
PROBES_SCHEMA = {
    **columns("model"),
    **columns(*CONDITION),
    **columns("variant"),
    #: `log_loss` in nats, `accuracy`, and the same with permuted labels, of the originals alone: `null_log_loss`,
    #: `null_accuracy`
    "quantity": pl.String,
    **columns("layer", "depth", "n_reviews", "mean", "ci_low", "ci_high"),
}
#: As [`interventions`](#interventionsparquet). The metric is `cosine_anisotropy` or `normalized_effective_rank`; in the
#: view `predictions` `kl` and `cross_entropy`, which stand at the output; in the view `pooled` `probe_log_loss`.
CONSEQUENCES_SCHEMA = dict(EFFECTS_SCHEMA)
SCHEMAS = {"consequences": CONSEQUENCES_SCHEMA, "probes": PROBES_SCHEMA}
_KEYS = ("model", "variant", "review_id", "condition")


def tabulate(
    *,
    metrics: Sequence[str],
    texts: Sequence[str],
    readings: Sequence[str],
    similarity: pl.DataFrame,
    controls: Mapping[str, Mapping[str, str]],
    resampling: Mapping[str, Any],
    min_reviews: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `consequences` and `probes` from files of all jobs.

    `metrics` are files of `INTERVENED_SCHEMA`, `texts` of `DOSES_SCHEMA`, `readings` of `POOLED_READINGS_SCHEMA`;
    `controls` are those of a variant by their roles; `resampling` and `min_reviews` are fields of `Settings`.
    """
    doses = keep_accepted(read_tables(texts), similarity)
    read = keep_accepted(read_tables(readings), similarity)
    rows = pl.concat([read_tables(metrics), of_predictions(doses), of_pooled_states(read)])
    by_run = rows.partition_by("model", "variant", as_dict=True)
    runs = sorted(doses.partition_by("model", "variant", as_dict=True).items())
    values = pl.concat(by_review(by_run[run], of_run) for run, of_run in runs)
    settings = Settings(**resampling, min_reviews=min_reviews)
    # what a dose costs a model, it costs where the sink moves too
    changed = effects_table(values.with_columns(sink_moved=pl.lit(False)), settings)
    return pl.concat([changed, text_effects(values, similarity, controls, settings)]), probes_table(read, doses)


def of_predictions(texts: pl.DataFrame) -> pl.DataFrame:
    """KL and cross-entropy of each text and condition as rows of metrics at the last layer; none of an encoder."""
    rows = texts.unpivot([KL, CROSS_ENTROPY], index=_KEYS, variable_name="metric", value_name="value")
    last = {"layer": pl.lit(0), "depth": pl.lit(1.0), "view": pl.lit(PREDICTIONS)}
    return _beside_untouched(rows.drop_nulls("value").with_columns(**last))


def of_pooled_states(readings: pl.DataFrame) -> pl.DataFrame:
    """Log-loss of the probe of each text, condition and layer as rows of metrics."""
    rows = readings.select(*_KEYS, "layer", "depth", value="log_loss", metric=pl.lit(PROBE), view=pl.lit(POOLED))
    return _beside_untouched(rows)


def _beside_untouched(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with the value of the untouched run (`INTERVENED_SCHEMA`)."""
    keys = ("model", "variant", "review_id", "metric", "layer")
    untouched = rows.filter(condition=UNTOUCHED).select(*keys, untouched="value")
    both = rows.join(untouched, on=keys, how="left", maintain_order="left")
    return both.select(*INTERVENED_SCHEMA).cast(INTERVENED_SCHEMA)


def probes_table(readings: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Log-loss and accuracy of probes by layer: `PROBES_SCHEMA`; random draws of one condition are averaged."""
    conditions = texts.with_columns(without_draw()).select(*_KEYS, *CONDITION)
    named_readings = readings.join(conditions, on=_KEYS, maintain_order="left").rename(QUANTITIES)
    keys = ["model", "review_id", *(name for name in _PLACE if name != "quantity")]
    long = named_readings.unpivot(list(QUANTITIES.values()), index=keys, variable_name="quantity").filter(
        pl.col("value").is_not_nan()
    )
    of_reviews = long.group_by("model", *_PLACE, "review_id", maintain_order=True).agg(pl.col("value").mean())
    means = summarise(of_reviews, ("model", *_PLACE), "value").select(*PROBES_SCHEMA)
    return means.cast(PROBES_SCHEMA).sort("model", *_PLACE)
