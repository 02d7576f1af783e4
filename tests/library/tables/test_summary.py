from types import SimpleNamespace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from homogenization.run.parquet import write_table
from homogenization.tables.metrics import metrics_of_reviews
from homogenization.tables.summary import summary_table, tabulate
from measured import geometry_of, spectra_of


def test_summary():
    metrics = metrics_of_reviews(spectra_of(), geometry_of(), None, ["stable_rank"])
    summary = summary_table(pl.concat([metrics, metrics.with_columns(pl.lit("end").alias("variant"))]))
    keys = ["model", "variant", "point", "layer", "depth", "view", "metric"]
    assert summary.columns == [*keys, "n_reviews", "mean", "std", "median", "ci_low", "ci_high"]
    assert len(summary) == 2 * 3 * 2
    assert summary["variant"].is_sorted()
    chosen = {"variant": "front", "point": "final_norm", "view": "raw"}
    row = summary.filter(**chosen).row(0, named=True)
    values = metrics.filter(**chosen)["value"]
    assert (row["n_reviews"], row["mean"]) == (3, pytest.approx(values.mean()))


def test_both_files_hold_the_same(tmp_path):
    metrics = metrics_of_reviews(spectra_of(), geometry_of(), None, ["stable_rank"])
    write_table(metrics, tmp_path / "metrics")
    for summary in tabulate(SimpleNamespace(metrics=str(tmp_path / "metrics"))):
        assert_frame_equal(summary, summary_table(metrics), check_exact=True)
