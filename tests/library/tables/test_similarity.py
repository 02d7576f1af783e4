import math
from types import SimpleNamespace

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table
from homogenization.tables.over_reviews import keep_analysed
from homogenization.tables.similarity import (
    ACCEPTANCE_SCHEMA,
    SIMILARITY_SCHEMA,
    acceptance_table,
    similarity_table,
    tabulate,
)

REVIEWS = ("a", "b", "c")


def scores(variant, f1, reviews=REVIEWS, **more):
    return pl.DataFrame({"variant": variant, "review_id": reviews, "precision": f1, "recall": f1, "f1": f1, **more})


RANDOM = scores("random_pairs", [0.3, 0.4, 0.5], other_review_id=["b", "c", "a"])


def test_paired_acceptance():
    table = similarity_table(
        [scores("front", [0.9, 0.8, 0.95]), scores("end", [0.92, 0.9, 0.7])],
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


def test_review_without_a_score_is_not_analysed():
    shards = [scores("front", [0.9, math.nan, 0.9]), scores("end", [0.9, 0.9], reviews=["a", "b"])]
    table = similarity_table(shards, [RANDOM], threshold=0.5, n_reviews=3)
    assert table.filter(pl.col("analysed"))["review_id"].unique().to_list() == ["a"]


def test_shards_are_put_together():
    shards = [scores("front", [0.9], reviews=["a"]), scores("front", [0.8], reviews=["b"])]
    table = similarity_table(shards, [RANDOM, RANDOM], threshold=0.85, n_reviews=3)
    assert table.filter(pl.col("variant") == "front")["analysed"].to_list() == [True, False]
    assert (table["variant"] == "random_pairs").sum() == 6


def test_nothing_accepted_says_what_to_do():
    with pytest.raises(HomogenizationError) as error:
        similarity_table(
            [scores("front", [0.7, 0.6, 0.5]), scores("end", [0.9] * 3)], [RANDOM], threshold=0.8, n_reviews=3
        )
    message = str(error.value)
    assert "similarity.threshold: 0.8" in message
    assert "front: 0 of 3 accepted (0%), median F1 0.600" in message
    assert "end: 3 of 3 accepted (100%), median F1 0.900" in message
    assert "Random pairs of reviews have a median F1 of 0.400" in message


def test_only_the_original():
    table = similarity_table([], [RANDOM], threshold=0.99, n_reviews=3)
    assert table["variant"].unique().to_list() == ["random_pairs"]
    assert keep_analysed(pl.DataFrame({"review_id": ["x"]}), table)["review_id"].to_list() == ["x"]
    assert acceptance_table(table, 0.99, 3).is_empty()
    assert dict(similarity_table([], [], threshold=0.5, n_reviews=3).schema) == SIMILARITY_SCHEMA


def test_acceptance():
    table = similarity_table([scores("front", [0.9, 0.8, 0.4])], [RANDOM], threshold=0.8, n_reviews=3)
    acceptance = acceptance_table(table, 0.8, n_reviews=4)  # one could not be rewritten
    assert dict(acceptance.schema) == ACCEPTANCE_SCHEMA
    assert acceptance.rows() == [
        ("front", 4, 3, 2, pytest.approx(2 / 4), pytest.approx(0.7), 0.8, pytest.approx(0.4), 0.8)
    ]


def test_tabulate_reads_the_shards_in_their_order(tmp_path):
    shards = {
        "end": scores("end", [0.9], reviews=["a"]),
        "front": scores("front", [0.8], reviews=["a"]),
        "random": RANDOM,
    }
    for name, table in shards.items():
        write_table(table, tmp_path / f"{name}.parquet")
    inputs = SimpleNamespace(
        similarity=[tmp_path / "end.parquet", tmp_path / "front.parquet"], random_pairs=[tmp_path / "random.parquet"]
    )
    similarity, acceptance = tabulate(inputs, 0.5, 1)
    assert similarity.equals(similarity_table([shards["end"], shards["front"]], [RANDOM], 0.5, 1))
    assert acceptance.equals(acceptance_table(similarity, 0.5, 1))
    assert acceptance["variant"].to_list() == ["end", "front"]
