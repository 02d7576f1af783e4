import polars as pl
import pytest

from homogenization.tables.metrics import metrics_of_job
from homogenization.tables.summary import tabulate
from measured import attention_of, matrices_of


def test_summary():
    metrics = metrics_of_job(matrices_of(), attention_of(()), ["participation_ratio"])
    summary = tabulate(pl.concat([metrics, metrics.with_columns(pl.lit("end").alias("variant"))]))
    keys = ["model", "variant", "point", "layer", "depth", "view", "metric"]
    assert summary.columns == [*keys, "n_reviews", "mean", "std", "median", "ci_low", "ci_high"]
    assert len(summary) == 2 * 3 * (2 + 1)
    assert set(summary["metric"]) == {"participation_ratio", "n_tokens"}
    assert summary["variant"].is_sorted()
    chosen = {"variant": "front", "point": "final_norm", "view": "raw"}
    row = summary.filter(**chosen).row(0, named=True)
    values = metrics.filter(**chosen)["participation_ratio"]
    assert (row["n_reviews"], row["mean"]) == (3, pytest.approx(values.mean()))
