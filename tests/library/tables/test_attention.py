import numpy as np
import pytest

from homogenization.tables.attention import ATTENTION_PROFILE_SCHEMA, tabulate
from measured import accepted, attention_of, written


def test_profiles_of_the_accepted_reviews(tmp_path):
    table = tabulate(written(tmp_path, attention_of(("a", "b")), attention_of(("c",))), accepted("a", "b"))
    assert dict(table.schema) == ATTENTION_PROFILE_SCHEMA
    assert len(table) == 2 * 4
    assert table["relative_position"].to_list()[:4] == [0.125, 0.375, 0.625, 0.875]
    assert table["depth"].to_list() == [0.5] * 4 + [1.0] * 4
    first = np.array([row[0] for row in attention_of(("a", "b")).filter(layer=1)["received"]])
    row = table.row(0, named=True)
    assert row["n_reviews"] == np.isfinite(first).sum()
    assert row["received"] == pytest.approx(np.nanmean(first))
    assert row["ci_low"] < row["received"] < row["ci_high"]
