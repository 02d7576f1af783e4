"""The table `consequences`: what each condition does to tokens, predictions and pooled states, review by review."""

from collections.abc import Sequence

import polars as pl

from homogenization.interventions.schemas import INTERVENED_SCHEMA
from homogenization.names.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE
from homogenization.run.parquet import read_tables
from homogenization.tables.intervened import INTERVENED_BY_REVIEW_SCHEMA, UNTOUCHED, by_review
from homogenization.tables.over_reviews import keep_accepted

_KEYS = ("model", "variant", "review_id", "condition")
#: A row for each review, variant, condition, part of the depth and outcome, as in
#: [`intervened.parquet`](#intervenedparquet). Made where `consequences` is configured, like `probes` and `harm.csv`.
#: The view is also `pooled`, of the probe, or `predictions`, of KL and cross-entropy, which stand at the output; the
#: metric is `cosine_anisotropy`, `normalized_effective_rank`, `kl`, `cross_entropy` or `probe_log_loss`.
CONSEQUENCES_SCHEMA = {**INTERVENED_BY_REVIEW_SCHEMA}
SCHEMAS = {"consequences": CONSEQUENCES_SCHEMA}


def of_predictions(texts: pl.DataFrame) -> pl.DataFrame:
    """KL and cross-entropy of each text and condition as rows of metrics at the last layer; none of an encoder."""
    rows = texts.unpivot([KL, CROSS_ENTROPY], index=_KEYS, variable_name="metric", value_name="value")
    last = {"layer": pl.lit(0), "depth": pl.lit(1.0), "view": pl.lit(PREDICTIONS)}
    return _beside_untouched(rows.drop_nulls("value").with_columns(**last))


def of_pooled_states(readings: pl.DataFrame) -> pl.DataFrame:
    """Log-loss of the probe of each text, condition and layer as rows of metrics."""
    rows = readings.rename({"log_loss": PROBE}).unpivot(
        [PROBE], index=[*_KEYS, "layer", "depth"], variable_name="metric", value_name="value"
    )
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
        texts: files of doses of all jobs (`DOSES_SCHEMA`).
        readings: files of probes of all models (`POOLED_READINGS_SCHEMA`).
        similarity: the table `similarity`.
    """
    of_texts = read_tables(texts)
    read = keep_accepted(read_tables(readings), similarity)
    rows = pl.concat([read_tables(metrics), of_predictions(of_texts), of_pooled_states(read)])
    by_run = rows.partition_by("model", "variant", as_dict=True)
    parts = [pl.DataFrame(schema=INTERVENED_BY_REVIEW_SCHEMA)]
    for (model, variant), doses in sorted(
        keep_accepted(of_texts, similarity).partition_by("model", "variant", as_dict=True).items()
    ):
        parts.append(by_review(by_run[model, variant], doses))
    return pl.concat(parts)
