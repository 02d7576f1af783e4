import json
from types import SimpleNamespace

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.tables.extraction import EXTRACTION_SCHEMA, extraction_table, tabulate

FRONT = {"model": "m", "variant": "front"}


def test_a_row_for_each_record(tmp_path):
    record = {name: 1 for name, dtype in EXTRACTION_SCHEMA.items() if dtype != pl.String}
    record |= {**FRONT, "shard": "000", "device": "cpu", "dtype": "float32", "weights_digest": "abc", "more": 3}
    (tmp_path / "000.json").write_text(json.dumps(record))
    table = tabulate(SimpleNamespace(runs=[str(tmp_path / "000.json")]))
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.row(0, named=True)["n_tokens"] == 1
    assert table.row(0)[:3] == ("m", "front", "000")


def test_a_model_whose_weights_changed_between_its_jobs_is_refused():
    runs = [FRONT | {"shard": "000", "weights_digest": "a" * 64}, FRONT | {"shard": "001", "weights_digest": "b" * 64}]
    extraction_table([runs[0], runs[1] | {"model": "other"}])
    with pytest.raises(HomogenizationError, match=r"models.m: .*front/000 read a{12}; front/001 read b{12}"):
        extraction_table(runs)
