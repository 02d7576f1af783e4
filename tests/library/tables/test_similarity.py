import math
from types import SimpleNamespace

import polars as pl
import pytest

from homogenization.run.parquet import write_table
from homogenization.tables.comparisons import COMPARISONS_SCHEMA, comparisons_table, too_few_accepted
from homogenization.tables.similarity import (
    ACCEPTANCE_SCHEMA,
    SIMILARITY_SCHEMA,
    acceptance_table,
    similarity_table,
    tabulate,
)

REVIEWS = ("a", "b", "c")


def scores(variant, f1, reviews=REVIEWS, **more):
    columns = {"review_id": list(reviews), "precision": f1, "recall": f1, "f1": f1, **more}
    return pl.DataFrame(columns, schema_overrides={"review_id": pl.String, "f1": pl.Float64}).select(
        pl.lit(variant).alias("variant"), pl.all()
    )


RANDOM = scores("random_pairs", [0.3, 0.4, 0.5], other_review_id=["b", "c", "a"])


def test_a_review_is_accepted_in_each_variant_by_itself():
    table = similarity_table([scores("front", [0.9, 0.8, math.nan]), scores("end", [0.92, 0.7], "ab")], [RANDOM], 0.8)
    assert dict(table.schema) == SIMILARITY_SCHEMA
    accepted = {(row["variant"], row["review_id"]): row["accepted"] for row in table.to_dicts()}
    assert [accepted["front", review] for review in "abc"] == [True, True, False]  # the threshold itself is enough
    assert [accepted["end", review] for review in "ab"] == [True, False]
    assert [accepted["random_pairs", review] for review in "abc"] == [None] * 3


def test_acceptance_lists_every_variant_and_says_where_the_threshold_rejects_most(tmp_path, caplog):
    """One review could not be rewritten as front, and none as end."""
    for name, table in {"front": scores("front", [0.9, 0.4, 0.3]), "end": scores("end", [], ""), "r": RANDOM}.items():
        write_table(table, tmp_path / name)
    inputs = SimpleNamespace(similarity=[tmp_path / "end", tmp_path / "front"], random_pairs=[tmp_path / "r"])
    similarity, acceptance = tabulate(inputs, ["end", "front"], 0.8, 4)
    assert dict(acceptance.schema) == ACCEPTANCE_SCHEMA
    assert acceptance.rows() == [
        ("end", 4, 0, 0, 0.0, None, None, pytest.approx(0.4), 0.8),
        ("front", 4, 3, 1, 0.25, pytest.approx(1.6 / 3), 0.4, pytest.approx(0.4), 0.8),
    ]
    assert "accepts 1 of the 3 rewritten reviews of front, whose median F1 is 0.400" in caplog.text
    assert "of end" not in caplog.text  # the writer failed, not the threshold
    assert similarity.filter(variant="end").is_empty()


def test_only_the_original():
    table = similarity_table([], [RANDOM], threshold=0.99)
    assert table["variant"].unique().to_list() == ["random_pairs"]
    assert acceptance_table(table, [], 0.99, 3).is_empty()
    assert dict(similarity_table([], [], threshold=0.5).schema) == SIMILARITY_SCHEMA


def test_comparisons_count_what_is_accepted_in_both():
    similarity = similarity_table(
        [scores("front", [0.9, 0.9, 0.1]), scores("end", [0.9, 0.1, 0.9])], [RANDOM], threshold=0.8
    )
    pairs = [("front", "original"), ("original", "end"), ("front", "end"), ("lost", "original")]
    table = comparisons_table(similarity, pairs, 4, 2)
    assert dict(table.schema) == COMPARISONS_SCHEMA
    assert table["n_accepted"].to_list() == [2, 2, 1, 0]
    assert table["tested"].to_list() == [True, True, False, False]
    assert table["reason"].to_list() == [
        None,
        None,
        "1 of 4 reviews accepted in both front and end; at least 2 are needed",
        "0 of 4 reviews accepted in lost; at least 2 are needed",
    ]
    assert too_few_accepted(similarity, ["original"], 1, 2) is None


def test_tabulate_reads_the_shards_in_their_order(tmp_path):
    shards = {"front-1": scores("front", [0.9], "b"), "front-0": scores("front", [0.8], "a"), "random": RANDOM}
    for name, table in shards.items():
        write_table(table, tmp_path / name)
    inputs = SimpleNamespace(
        similarity=[tmp_path / "front-1", tmp_path / "front-0"], random_pairs=[tmp_path / "random"]
    )
    similarity, _ = tabulate(inputs, ["front"], 0.85, 2)
    assert similarity.select("review_id", "accepted").rows()[:2] == [("b", True), ("a", False)]
    assert len(similarity) == 2 + 3
