import math

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.tables.over_reviews import keep_analysed
from homogenization.tables.rewriting import (
    CANDIDATES_SCHEMA,
    REASONS,
    REWRITING_SCHEMA,
    candidates_table,
    rewriting_table,
)
from homogenization.tables.similarity import (
    ACCEPTANCE_SCHEMA,
    PLACEMENT_SCHEMA,
    SIMILARITY_SCHEMA,
    acceptance_table,
    placement_table,
    similarity_table,
)

REVIEWS = ("a", "b", "c")


def scores(f1, reviews=REVIEWS, **more):
    return pl.DataFrame({"review_id": reviews, "precision": f1, "recall": f1, "f1": f1, **more})


RANDOM = scores([0.3, 0.4, 0.5], other_review_id=["b", "c", "a"])


class TestSimilarity:
    def test_paired_acceptance(self):
        table = similarity_table(
            [("front", scores([0.9, 0.8, 0.95])), ("end", scores([0.92, 0.9, 0.7]))],
            [RANDOM],
            threshold=0.8,
            n_reviews=3,
        )
        assert dict(table.schema) == SIMILARITY_SCHEMA
        rows = {(row["variant"], row["review_id"]): row for row in table.to_dicts()}
        assert rows["front", "b"]["accepted"]  # the threshold itself is enough
        assert not rows["end", "c"]["accepted"]
        assert rows["front", "c"]["accepted"]
        assert not rows["front", "c"]["analysed"]
        analysed = {review for (variant, review), row in rows.items() if row["analysed"]}
        assert analysed == {"a", "b"}
        assert rows["random_pairs", "a"]["accepted"] is None
        assert rows["random_pairs", "a"]["analysed"] is None

    def test_review_without_a_score_is_not_analysed(self):
        shards = [("front", scores([0.9, math.nan, 0.9])), ("end", scores([0.9, 0.9], reviews=["a", "b"]))]
        table = similarity_table(shards, [RANDOM], threshold=0.5, n_reviews=3)
        assert table.filter(pl.col("analysed"))["review_id"].unique().to_list() == ["a"]

    def test_shards_are_put_together(self):
        shards = [("front", scores([0.9], reviews=["a"])), ("front", scores([0.8], reviews=["b"]))]
        table = similarity_table(shards, [RANDOM, RANDOM], threshold=0.85, n_reviews=3)
        assert table.filter(pl.col("variant") == "front")["analysed"].to_list() == [True, False]
        assert (table["variant"] == "random_pairs").sum() == 6

    def test_nothing_accepted_says_what_to_do(self):
        with pytest.raises(HomogenizationError) as error:
            similarity_table(
                [("front", scores([0.7, 0.6, 0.5])), ("end", scores([0.9] * 3))], [RANDOM], threshold=0.8, n_reviews=3
            )
        message = str(error.value)
        assert "similarity.threshold: 0.8" in message
        assert "front: 0 of 3 accepted (0%), median F1 0.600" in message
        assert "end: 3 of 3 accepted (100%), median F1 0.900" in message
        assert "Random pairs of reviews have a median F1 of 0.400" in message

    def test_only_the_original(self):
        table = similarity_table([], [RANDOM], threshold=0.99, n_reviews=3)
        assert table["variant"].unique().to_list() == ["random_pairs"]
        assert keep_analysed(pl.DataFrame({"review_id": ["x"]}), table)["review_id"].to_list() == ["x"]
        assert acceptance_table(table, 0.99, 3).is_empty()
        assert dict(similarity_table([], [], threshold=0.5, n_reviews=3).schema) == SIMILARITY_SCHEMA

    def test_acceptance(self):
        table = similarity_table([("front", scores([0.9, 0.8, 0.4]))], [RANDOM], threshold=0.8, n_reviews=3)
        acceptance = acceptance_table(table, 0.8, n_reviews=4)  # one could not be rewritten
        assert dict(acceptance.schema) == ACCEPTANCE_SCHEMA
        assert acceptance.rows() == [
            ("front", 4, 3, 2, pytest.approx(2 / 4), pytest.approx(0.7), 0.8, pytest.approx(0.4), 0.8)
        ]


def test_rewriting_counts_reviews_and_reasons():
    judged = pl.DataFrame(
        {
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
    candidates = candidates_table([("front", judged), ("end", judged.filter(pl.col("review_id") != "c"))])
    assert dict(candidates.schema) == CANDIDATES_SCHEMA
    table = rewriting_table(candidates, reviews)
    assert dict(table.schema) == REWRITING_SCHEMA
    front, end = table.to_dicts()
    assert (front["n_reviews"], front["n_rewritten"], front["n_candidates"]) == (3, 2, 5)
    assert (end["n_reviews"], end["n_rewritten"], end["rewriting_rate"]) == (2, 2, 1)
    assert {reason: front[reason] for reason in REASONS if front[reason]} == {"malformed": 1, "empty": 1, "coverage": 1}
    assert sum(front[reason] for reason in REASONS) == front["n_candidates"] - front["n_rewritten"]
    assert (front["median_words_rewritten"], front["median_words_rejected"]) == (3, 7)
    assert end["median_words_rejected"] is None


def test_placement():
    placed = {"phrase": "good film", "sentence": 2, "original_position": 0.25, "position": 0.0}
    alone = {"phrase": "awful", "sentence": 0, "original_position": None, "position": None}
    reviews = pl.DataFrame(
        {"review_id": ["a", "b"], "text": ["", ""], "label": ["0", "1"], "placements": [[placed, alone], []]}
    )
    table = placement_table([("front", reviews)])
    assert dict(table.schema) == PLACEMENT_SCHEMA
    assert table.rows() == [("front", "a", "good film", 2, 0.25, 0.0), ("front", "a", "awful", 0, None, None)]
    assert placement_table([]).is_empty()
