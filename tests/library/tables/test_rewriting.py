import polars as pl

from homogenization.tables.rewriting import REWRITING_SCHEMA, tabulate
from homogenization.variants.schemas import REASONS
from measured import written


def test_rewriting_counts_reviews_and_reasons(tmp_path):
    judged = pl.DataFrame(
        {
            "variant": "front",
            "review_id": ["a", "a", "b", "c", "c"],
            "candidate": [0, 1, 0, 0, 1],
            "request": ["1", "2", "3", "4", "5"],
            "text": [None, "t", "t", "", "t"],
            "reason": ["malformed", None, None, "empty", "coverage"],
            "coverage": [None, 1.0, 0.9, None, 0.2],
            "distance": [None, 0.1, None, None, None],
            "length_ratio": [None, 1.0, 1.0, None, 1.0],
            "f1": [None, 0.95, 0.9, None, None],
            "finish_reason": ["stop"] * 5,
        }
    )
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": ["one two", "one two three four", "1 2 3 4 5 6 7"]})
    shorter = judged.filter(pl.col("review_id") != "c").with_columns(variant=pl.lit("end"))
    shards, files = written(tmp_path, reviews), written(tmp_path, judged, shorter)
    table = tabulate(shards, files, ["front", "end"])
    assert dict(table.schema) == REWRITING_SCHEMA
    front, end = table.to_dicts()
    assert (front["n_reviews"], front["n_rewritten"], front["n_candidates"]) == (3, 2, 5)
    assert (end["n_reviews"], end["n_rewritten"], end["rewriting_rate"]) == (3, 2, 2 / 3)
    assert {name: front[name] for name in REASONS if front[name]} == dict.fromkeys(
        ("malformed", "empty", "coverage"), 1
    )
    assert sum(front[reason] for reason in REASONS) == front["n_candidates"] - front["n_rewritten"]
    assert (front["median_words_rewritten"], front["median_words_rejected"]) == (3, 7)
    assert (end["median_words_rewritten"], end["median_words_rejected"]) == (3, 7)
