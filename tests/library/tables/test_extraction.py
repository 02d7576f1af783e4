import json

import polars as pl
import pytest

from homogenization.tables.extraction import EXTRACTION_SCHEMA, tabulate

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
    table = tables_of(record)
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.row(0, named=True)["n_tokens"] == 1
    assert table.row(0)[:3] == ("m", "front", "000")


def test_texts_that_are_left_out_are_announced(tables_of, caplog):
    records = [("a", "front", 5, 1), ("a", "front", 6, 0), ("a", "original", 12, 2), ("b", "front", 6, 0)]
    tables_of(
        *(
            {"model": model, "variant": variant, "shard": "0", "max_tokens": 64, "n_reviews": n, "n_left_out": left_out}
            for model, variant, n, left_out in records
        )
    )
    assert [message.partition(", since")[0] for message in caplog.messages] == [
        "models.a: of 26 texts of all variants, 3 are left out"
    ]
