import polars as pl
import pytest

from homogenization.tables.metrics import metrics_of_reviews
from homogenization.tables.summary import tabulate
from measured import geometry_of, spectra_of


def test_summary():
    metrics = metrics_of_reviews(spectra_of(), geometry_of(), None, ["stable_rank"])
    summary = tabulate(pl.concat([metrics, metrics.with_columns(pl.lit("end").alias("variant"))]))
    keys = ["model", "variant", "point", "layer", "depth", "view", "metric"]
    assert summary.columns == [*keys, "n_reviews", "mean", "std", "median", "ci_low", "ci_high"]
    assert len(summary) == 2 * 3 * 2
    assert summary["variant"].is_sorted()
    chosen = {"variant": "front", "point": "final_norm", "view": "raw"}
    row = summary.filter(**chosen).row(0, named=True)
    values = metrics.filter(**chosen)["value"]
    assert (row["n_reviews"], row["mean"]) == (3, pytest.approx(values.mean()))
