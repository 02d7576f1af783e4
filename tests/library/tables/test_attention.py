from types import SimpleNamespace

import numpy as np
import pytest

from homogenization.run.parquet import write_table
from homogenization.tables.attention import ATTENTION_PROFILE_SCHEMA, attention_profiles, tabulate
from measured import accepted, attention_of


def test_profiles_of_the_accepted_reviews(tmp_path):
    paths = [str(tmp_path / name) for name in ("000", "001")]
    for path, reviews in zip(paths, [("a", "b"), ("c",)], strict=True):
        write_table(attention_of(reviews), path)
    write_table(accepted("a", "b"), tmp_path / "similarity")
    table = tabulate(SimpleNamespace(attention=paths, similarity=str(tmp_path / "similarity")))
    assert dict(table.schema) == ATTENTION_PROFILE_SCHEMA
    assert len(table) == 2 * 4
    assert table["relative_position"].to_list()[:4] == [0.125, 0.375, 0.625, 0.875]
    assert table["depth"].to_list() == [0.5] * 4 + [1.0] * 4
    first = np.array([row[0] for row in attention_of(("a", "b")).filter(layer=1)["received"]])
    row = table.row(0, named=True)
    assert row["n_reviews"] == np.isfinite(first).sum()
    assert row["received"] == pytest.approx(np.nanmean(first))
    assert row["ci_low"] < row["received"] < row["ci_high"]


def test_empty_bins_leave_a_review_out():
    table = attention_profiles(attention_of(("c",), n_bins=20))
    counts = dict(table.filter(layer=1).select("bin", "n_reviews").rows())
    assert [bin_ for bin_, count in counts.items() if count] == [5, 10, 15, 19]
