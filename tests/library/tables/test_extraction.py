"""Run records as a table, and what was too long for a model."""

import json

import polars as pl

from homogenization.tables.extraction import EXTRACTION_SCHEMA, records


def test_a_row_for_each_record_and_texts_that_are_left_out_are_announced(tmp_path, caplog):
    paths = []
    for number, (model, n, left_out) in enumerate([("a", 5, 1), ("a", 12, 2), ("b", 6, 0)]):
        record = {"model": model, "max_tokens": 64, "n_reviews": n, "n_left_out": left_out, "weights": "w", "more": 3}
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(record))
    table = records(paths)
    assert dict(table.schema) == EXTRACTION_SCHEMA
    assert table.select("model", "n_reviews", "weights").rows() == [("a", 5, "w"), ("a", 12, "w"), ("b", 6, "w")]
    assert table["device"].null_count() == 3
    assert [message.partition(", since")[0] for message in caplog.messages] == [
        "models.a: of 20 texts of all variants, 3 are left out"
    ]
    assert records([]).equals(pl.DataFrame(schema=EXTRACTION_SCHEMA))
