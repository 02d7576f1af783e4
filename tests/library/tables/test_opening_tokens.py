import polars as pl
import pytest

from examples import example_table
from homogenization.measures.geometry import GEOMETRY_SCHEMA
from homogenization.tables.opening_tokens import (
    OPENING_TOKENS_SCHEMA,
    reviews_whose_first_token_stays,
    tabulate,
)
from measured import written

FIRST = {"original": [5, 6, 7], "front": [5, 9, 7]}


@pytest.fixture
def table(tmp_path):
    parts = []
    for variant, tokens in FIRST.items():
        for layer in (1, 0):
            names = {"model": "m", "variant": variant, "review_id": ["c", "a", "b"], "layer": layer}
            rows = example_table(GEOMETRY_SCHEMA, **names).sort("review_id", descending=True)
            first = pl.col("review_id").replace_strict(dict(zip("cab", tokens, strict=True)))
            parts.append(rows.with_columns(first_token=first))
    return tabulate(written(tmp_path, *parts))


def test_a_row_for_each_review_and_variant(table):
    assert dict(table.schema) == OPENING_TOKENS_SCHEMA
    assert table.filter(variant="front").rows() == [
        ("m", "front", "a", 9),
        ("m", "front", "b", 7),
        ("m", "front", "c", 5),
    ]
    assert len(table) == 6


def test_reviews_that_begin_alike_in_two_variants(table):
    assert reviews_whose_first_token_stays(table, "m", ("front", "original")) == ["b", "c"]
    assert reviews_whose_first_token_stays(table, "m", ("front", "front")) == ["a", "b", "c"]
    assert reviews_whose_first_token_stays(table, "m", ("front", "end")) is None
    assert reviews_whose_first_token_stays(table, "other", ("front", "original")) is None
    unknown = table.with_columns(first_token=pl.lit(None, pl.Int64))
    assert reviews_whose_first_token_stays(unknown, "m", ("front", "original")) is None
