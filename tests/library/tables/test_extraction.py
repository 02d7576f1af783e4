import json
from types import SimpleNamespace

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.tables.extraction import EXTRACTION_SCHEMA, LONG_TEXTS_SCHEMA, extraction_table, tabulate

FRONT = {"model": "m", "variant": "front"}


def test_a_row_for_each_record(tmp_path):
    record = {name: 1 for name, dtype in EXTRACTION_SCHEMA.items() if dtype != pl.String}
    record |= {**FRONT, "shard": "000", "device": "cpu", "dtype": "float32", "weights_digest": "abc", "more": 3}
    (tmp_path / "000.json").write_text(json.dumps(record))
    table, _ = tabulate(SimpleNamespace(runs=[str(tmp_path / "000.json")]))
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.row(0, named=True)["n_tokens"] == 1
    assert table.row(0)[:3] == ("m", "front", "000")


def test_long_texts_are_added_up_and_announced(tmp_path, caplog):
    def record(number, model, variant, n_reviews, n_cut, n_left_out):
        read = {"n_reviews": n_reviews, "n_cut": n_cut, "n_left_out": n_left_out, "n_tokens": 90, "n_tokens_cut_off": 7}
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"model": model, "variant": variant, "shard": "0", "max_tokens": 64, **read}))
        return str(path)

    records = [("a", "front", 5, 2, 1), ("a", "front", 6, 3, 0), ("a", "original", 12, 4, 0), ("b", "front", 6, 0, 0)]
    runs = [record(number, *values) for number, values in enumerate(records)]
    _, long_texts = tabulate(SimpleNamespace(runs=runs))
    assert dict(long_texts.schema) == LONG_TEXTS_SCHEMA
    assert long_texts.rows()[:2] == [("a", "front", 64, 11, 5, 1, 180, 14), ("a", "original", 64, 12, 4, 0, 90, 7)]
    assert [message.partition(", since")[0] for message in caplog.messages] == [
        "models.a: of 24 texts of all variants, 9 are cut at a sentence end and 1 left out"
    ]


def test_a_model_whose_weights_changed_between_its_jobs_is_refused():
    runs = [FRONT | {"shard": "000", "weights_digest": "a" * 64}, FRONT | {"shard": "001", "weights_digest": "b" * 64}]
    extraction_table([runs[0], runs[1] | {"model": "other"}])
    with pytest.raises(HomogenizationError, match=r"models.m: .*front/000 read a{12}; front/001 read b{12}"):
        extraction_table(runs)
