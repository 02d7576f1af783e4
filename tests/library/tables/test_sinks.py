import polars as pl
import pytest

from homogenization.measures.sinks import SINKS_SCHEMA
from homogenization.tables.sinks import SINKS_TABLE_SCHEMA, tabulate
from measured import accepted, written

TEXTS = {"a": "So the film is the film.", "b": "In 2 hours $5 is the price.", "c": "the"}


def sink(review_id, kind, position, word, blocks, peak, n_tokens=11):
    start = TEXTS[review_id].index(word) if word else 0
    span = (start, start + len(word))
    return ("tiny", "front", review_id, n_tokens, kind, position, *span, *blocks, blocks[1] - blocks[0] + 1, peak)


@pytest.fixture
def table(tmp_path):
    rows = [
        sink("a", "attention", 1, " the", (3, 8), 12.0),
        sink("a", "attention", 5, "the film.", (4, 9), 20.0),
        sink("b", "attention", 2, " ", (5, 5), 11.0),
        sink("b", "attention", 10, "", (5, 7), 13.0),
        sink("b", "massive", 7, "the", (2, 2), 30.0),
        ("tiny", "front", "c", 1, *[None] * 8),
    ]
    texts = [{"variant": "front", "review_id": name, "text": text} for name, text in TEXTS.items()]
    sinks = written(tmp_path, pl.DataFrame(rows, schema=SINKS_SCHEMA, orient="row"))
    variants = written(tmp_path, pl.DataFrame(texts))
    return lambda *reviews: tabulate(sinks, variants, accepted(*reviews))


def test_a_row_for_all_tokens_then_one_for_each_text_over_all_reviews_that_were_read(table):
    found = table("a", "b", "c")
    assert found.schema == pl.Schema(SINKS_TABLE_SCHEMA)
    columns = ("kind", "token", "n_reviews", "n_read", "n_sinks", "position", "earliest", "latest")
    assert found.select(*columns, "first_block", "last_block", "peak").rows() == [
        ("attention", None, 2, 3, 4, 3.5, 1, 10, 4.5, 7.5, 12.5),
        ("attention", " ", 1, 3, 1, 2.0, 2, 2, 5.0, 5.0, 11.0),
        ("attention", "(special)", 1, 3, 1, 10.0, 10, 10, 5.0, 7.0, 13.0),
        ("attention", "the", 1, 3, 1, 1.0, 1, 1, 3.0, 8.0, 12.0),
        ("attention", "the film.", 1, 3, 1, 5.0, 5, 5, 4.0, 9.0, 20.0),
        ("massive", None, 1, 3, 1, 7.0, 7, 7, 2.0, 2.0, 30.0),
        ("massive", "the", 1, 3, 1, 7.0, 7, 7, 2.0, 2.0, 30.0),
    ]
    assert found.filter(token="the film.")["relative_position"].item() == pytest.approx(0.5)


def test_reviews_that_are_not_accepted_do_not_count(table):
    found = table("b", "c")
    assert found["n_read"].unique().to_list() == [2]
    assert found.filter(token="the")["kind"].to_list() == ["massive"]
    assert table().is_empty()
