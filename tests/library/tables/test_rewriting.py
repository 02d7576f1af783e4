import polars as pl

from homogenization.tables.rewriting import (
    CANDIDATES_SCHEMA,
    REWRITING_SCHEMA,
    candidates_table,
    rewriting_table,
    tabulate,
)
from homogenization.variants.refusals import REASONS, SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
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
    candidates, table = tabulate(shards, files, None, ["front", "end"])
    assert dict(candidates.schema) == CANDIDATES_SCHEMA
    assert dict(table.schema) == REWRITING_SCHEMA
    front, end = table.to_dicts()
    assert (front["n_reviews"], front["n_rewritten"], front["n_candidates"]) == (3, 2, 5)
    assert (end["n_reviews"], end["n_rewritten"], end["rewriting_rate"]) == (3, 2, 2 / 3)
    assert end["n_sentences"] is None
    assert {reason: front[reason] for reason in REASONS if front[reason]} == {
        "malformed": 1,
        "empty": 1,
        "coverage": 1,
    }
    assert sum(front[reason] for reason in REASONS) == front["n_candidates"] - front["n_rewritten"]
    assert (front["median_words_rewritten"], front["median_words_rejected"]) == (3, 7)
    assert (end["median_words_rewritten"], end["median_words_rejected"]) == (3, 7)


def test_rewriting_counts_sentences():
    rows = [
        ("front", "a", 0, 0, "1", "t", True, None, 1.0, 0.9, "stop", None),
        ("front", "a", 0, 1, "2", "t", False, None, 1.0, 0.8, "stop", None),
        ("front", "b", 2, 0, "3", "t", False, "names", 1.0, None, "stop", None),
    ]
    candidates = candidates_table([pl.DataFrame(rows, SENTENCE_CANDIDATE_SCHEMA, orient="row")])
    assert dict(candidates.schema) == CANDIDATES_SCHEMA
    outcomes = [
        ("front", "a", 0, "plot", "moved", None, True),
        ("front", "a", 1, "plot", "in_place", None, True),
        ("front", "b", 2, "plot", "kept", "names", False),
        ("front", "b", 3, None, "kept", "unsuited", False),
        ("end", "a", 0, "plot", "in_place", None, False),
    ]
    sentences = pl.DataFrame(outcomes, SENTENCE_SCHEMA, orient="row")
    reviews = pl.DataFrame({"review_id": ["a", "b", "c"], "text": ["one two", "one two three four", "1 2 3 4 5 6 7"]})
    front, end = rewriting_table(candidates, sentences, reviews, ["front", "end"]).to_dicts()
    assert (front["n_reviews"], front["n_rewritten"], front["n_candidates"], front["names"]) == (3, 1, 3, 1)
    counts = ("n_sentences", "n_moved", "n_in_place", "n_kept")
    assert [front[name] for name in counts] == [4, 1, 1, 2]
    assert [end[name] for name in counts] == [1, 0, 1, 0]
    assert (end["n_rewritten"], end["n_candidates"], end["names"]) == (0, 0, 0)
    assert (front["median_words_rewritten"], front["median_words_rejected"]) == (2, 5.5)
