import json

import polars as pl
import pytest

from homogenization.tables.extraction import EXTRACTION_SCHEMA, LONG_TEXTS_SCHEMA, tabulate

FRONT = {"model": "m", "variant": "front"}


@pytest.fixture
def tables_of(tmp_path):
    def made(*records):
        paths = [tmp_path / f"{number}.json" for number in range(len(records))]
        for path, record in zip(paths, records, strict=True):
            path.write_text(json.dumps(record))
        return tabulate(paths)

    return made


def test_a_row_for_each_record(tables_of):
    record = {name: 1 for name, dtype in EXTRACTION_SCHEMA.items() if dtype != pl.String}
    record |= {**FRONT, "shard": "000", "device": "cpu", "dtype": "float32", "weights": "a folder", "more": 3}
    table, _ = tables_of(record)
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.row(0, named=True)["n_tokens"] == 1
    assert table.row(0)[:3] == ("m", "front", "000")


def test_long_texts_are_added_up_and_announced(tables_of, caplog):
    def record(model, variant, n_reviews, n_cut, n_left_out):
        read = {"n_reviews": n_reviews, "n_cut": n_cut, "n_left_out": n_left_out, "n_tokens": 90, "n_tokens_cut_off": 7}
        return {"model": model, "variant": variant, "shard": "0", "max_tokens": 64, **read}

    records = [("a", "front", 5, 2, 1), ("a", "front", 6, 3, 0), ("a", "original", 12, 4, 0), ("b", "front", 6, 0, 0)]
    _, long_texts = tables_of(*(record(*values) for values in records))
    assert dict(long_texts.schema) == LONG_TEXTS_SCHEMA
    assert long_texts.rows()[:2] == [("a", "front", 64, 11, 5, 1, 180, 14), ("a", "original", 64, 12, 4, 0, 90, 7)]
    assert [message.partition(", since")[0] for message in caplog.messages] == [
        "models.a: of 24 texts of all variants, 9 are cut at a sentence end and 1 left out"
    ]
