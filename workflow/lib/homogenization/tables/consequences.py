"""The table `consequences`: what each condition does to tokens, predictions and pooled states, review by review."""

from collections.abc import Sequence

import polars as pl

from homogenization.interventions.schemas import INTERVENED_SCHEMA
from homogenization.names.consequences import CROSS_ENTROPY, KL, PERTURBATIONS, POOLED, PREDICTIONS, PROBE, SHIFT
from homogenization.run.parquet import read_tables
from homogenization.tables.intervened import INTERVENED_BY_REVIEW_SCHEMA, UNTOUCHED, by_review
from homogenization.tables.over_reviews import keep_accepted, linearised

_KEYS = ("model", "variant", "review_id", "condition")
#: A row for each review, text, condition, part of the depth and outcome, as in
#: [`intervened.parquet`](#intervenedparquet). Made where `consequences` is configured, like the tables up to
#: `consequences.csv`. The variant is the text: a variant, `typo` or `deleted_word`. The view is also `pooled`, of probe
#: and shift, or `predictions`, of KL and cross-entropy, which stand at the output; the metric is `cosine_anisotropy`,
#: `normalized_effective_rank`, `kl`, `cross_entropy`, `probe_log_loss` or `shift`. The value of a `shift` is the
#: shift minus what the review takes by the scales of all ([how](consequences.md#what-is-measured)); the mean of these
#: values over the reviews of a text is the mean shift.
CONSEQUENCES_SCHEMA = {**INTERVENED_BY_REVIEW_SCHEMA}
SCHEMAS = (CONSEQUENCES_SCHEMA,)


def keep_read(table: pl.DataFrame, similarity: pl.DataFrame) -> pl.DataFrame:
    """The rows of accepted reviews; perturbed texts have no similarity and all stay."""
    perturbed = pl.col("variant").is_in(PERTURBATIONS)
    return pl.concat([keep_accepted(table.filter(~perturbed), similarity), table.filter(perturbed)])


def shifts_of_changed(readings: pl.DataFrame, similarity: pl.DataFrame) -> pl.DataFrame:
    """`readings` in which a text that is as its original has no shift: it is 0 because nothing was moved."""
    unchanged = similarity.filter(~pl.col("changed")).select("variant", "review_id", unchanged=pl.lit(True))
    marked = readings.join(unchanged, on=["variant", "review_id"], how="left", maintain_order="left")
    shift = pl.when("unchanged").then(pl.lit(float("nan"))).otherwise(SHIFT)
    return marked.with_columns(shift.alias(SHIFT)).select(readings.columns)


def of_predictions(texts: pl.DataFrame) -> pl.DataFrame:
    """KL and cross-entropy of each text and condition as rows of metrics at the last layer; none of an encoder."""
    rows = texts.unpivot([KL, CROSS_ENTROPY], index=_KEYS, variable_name="metric", value_name="value")
    last = {"layer": pl.lit(0), "depth": pl.lit(1.0), "view": pl.lit(PREDICTIONS)}
    return _beside_untouched(rows.drop_nulls("value").with_columns(**last))


def of_pooled_states(readings: pl.DataFrame) -> pl.DataFrame:
    """Log-loss of the probe and shift of each text, condition and layer as rows of metrics.

    Shifts are `linearised` over the rows of a text, condition and layer: their mean is the mean shift.
    """
    cells = [
        rows.with_columns(shift=linearised(*(rows[name].to_numpy()[:, None] for name in (SHIFT, "in_scales")))[:, 0])
        for rows in readings.partition_by("model", "variant", "condition", "layer", maintain_order=True)
    ]
    renamed = pl.concat([readings.clear(), *cells]).rename({"log_loss": PROBE})
    rows = renamed.unpivot([PROBE, SHIFT], index=[*_KEYS, "layer", "depth"], variable_name="metric", value_name="value")
    return _beside_untouched(rows.with_columns(view=pl.lit(POOLED)))


def _beside_untouched(rows: pl.DataFrame) -> pl.DataFrame:
    """`rows` with the value of the untouched run (`INTERVENED_SCHEMA`)."""
    keys = ("model", "variant", "review_id", "metric", "layer")
    untouched = rows.filter(condition=UNTOUCHED).select(*keys, untouched="value")
    both = rows.join(untouched, on=keys, how="left", maintain_order="left")
    return both.select(*INTERVENED_SCHEMA).cast(INTERVENED_SCHEMA)


def tabulate(
    metrics: Sequence[str], texts: Sequence[str], readings: Sequence[str], similarity: pl.DataFrame
) -> pl.DataFrame:
    """Every outcome of every accepted text in every condition, averaged over parts of the depth: `CONSEQUENCES_SCHEMA`.

    Args:
        metrics: files of metrics by layer of all jobs (`INTERVENED_SCHEMA`).
        texts: files of numbers of all jobs (`TEXTS_SCHEMA`).
        readings: files of probes and shifts of all models (`POOLED_READINGS_SCHEMA`).
        similarity: the table `similarity`.
    """
    of_texts = read_tables(texts)
    read = shifts_of_changed(keep_read(read_tables(readings), similarity), similarity)
    rows = pl.concat([read_tables(metrics), of_predictions(of_texts), of_pooled_states(read)])
    by_run = rows.partition_by("model", "variant", as_dict=True)
    parts = [pl.DataFrame(schema=INTERVENED_BY_REVIEW_SCHEMA)]
    for (model, variant), doses in sorted(
        keep_read(of_texts, similarity).partition_by("model", "variant", as_dict=True).items()
    ):
        parts.append(by_review(by_run[model, variant], doses))
    return pl.concat(parts)
