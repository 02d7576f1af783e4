import math

import polars as pl
import pytest

from homogenization.tables.comparisons import COMPARISONS_SCHEMA, comparisons_table, too_few_accepted
from homogenization.tables.similarity import (
    ACCEPTANCE_SCHEMA,
    CHANGES_SCHEMA,
    SIMILARITY_SCHEMA,
    acceptance_table,
    similarity_table,
    tabulate,
)
from homogenization.variants.schemas import VARIANT_SCHEMA
from measured import written

REVIEWS = ("a", "b", "c")


def scores(variant, f1, reviews=REVIEWS, **more):
    columns = {"review_id": list(reviews), "precision": f1, "recall": f1, "f1": f1, **more}
    return pl.DataFrame(columns, schema_overrides={"review_id": pl.String, "f1": pl.Float64}).select(
        pl.lit(variant).alias("variant"), pl.all()
    )


RANDOM = scores("random_pairs", [0.3, 0.4, 0.5], other_review_id=["b", "c", "a"])


def test_a_review_is_accepted_in_each_variant_by_itself():
    table = similarity_table(
        [scores("front", [0.9, 0.8, math.nan]), scores("end", [0.92, 0.7], "ab")], [RANDOM], threshold=0.8
    )
    assert dict(table.schema) == SIMILARITY_SCHEMA
    accepted = {(row["variant"], row["review_id"]): row["accepted"] for row in table.to_dicts()}
    assert [accepted["front", review] for review in "abc"] == [True, True, False]  # the threshold itself is enough
    assert [accepted["end", review] for review in "ab"] == [True, False]
    assert [accepted["random_pairs", review] for review in "abc"] == [None] * 3


def test_disorder_is_accepted_whatever_its_scores():
    files = [scores("words", [0.1, 0.2, math.nan]), scores("front", [0.1, 0.9, 0.9])]
    table = similarity_table(files, [RANDOM], threshold=0.8, max_excess=0.1, always_accepted=["words"])
    accepted = table.filter("accepted")
    assert accepted.select("variant", "review_id").rows() == [("words", review) for review in REVIEWS]
    assert table.filter(variant="random_pairs")["accepted"].null_count() == 3


def texts(folder, variant="front", **reviews):
    """The arguments of the table that name texts: those of three reviews, and of a variant of which some are other."""
    rows = [(name, f"The house of {name} burns.") for name in "abcd"]
    originals = written(folder, pl.DataFrame(rows, schema=["review_id", "text"], orient="row"))
    variants = [(variant, name, reviews.get(name, text), None, []) for name, text in rows]
    rewritten = written(folder, pl.DataFrame(variants, schema=VARIANT_SCHEMA, orient="row"))
    return {"originals": originals, "rewritten": rewritten}


def test_acceptance_lists_every_variant_and_says_where_the_threshold_rejects_most(tmp_path, caplog):
    """One review could not be rewritten as front, and none as end."""
    files = {
        "similarity": written(tmp_path, scores("end", [], ""), scores("front", [0.9, 0.4, 0.3])),
        "random_pairs": written(tmp_path, RANDOM),
        "fluency": None,
        **texts(tmp_path, a="Burns, the house of a!"),
    }
    similarity, acceptance = tabulate(["end", "front"], {"end": "end", "front": "front"}, 0.8, 4, **files)
    assert dict(acceptance.schema) == ACCEPTANCE_SCHEMA
    assert acceptance.rows() == [
        ("end", 4, 0, 0, 0.0, 0, None, 0, 0, 0, 0, 0, None, None, pytest.approx(0.4), 0.8, None, None, None),
        ("front", 4, 3, 1, 0.25, 1, 1.0, 3, 0, 0, 0, 0, pytest.approx(1.6 / 3), 0.4, pytest.approx(0.4), 0.8)
        + (None,) * 3,
    ]
    assert (
        "similarity.threshold: 0.8 accept 1 of the 3 rewritten reviews of front, whose median F1 is 0.400"
        in caplog.text
    )
    assert "of end" not in caplog.text  # the writer failed, not the threshold
    assert similarity.filter(variant="end").is_empty()


def losses(variant, values, reviews=REVIEWS):
    columns = {"review_id": list(reviews), "n_words": 9, "n_tokens": 10, "loss_per_word": values}
    return pl.DataFrame(columns, schema_overrides={"loss_per_word": pl.Float64}).select(
        pl.lit(variant).alias("variant"), pl.all()
    )


def test_the_excess_is_that_over_the_same_review_and_can_bound_acceptance(tmp_path, caplog):
    """Of four reviews, one is too unlike, one too clumsy, one lies at the bound, one has no loss."""
    f1 = scores("front", [0.7, 0.9, 0.9, 0.9], "abcd")
    fluency = [losses("original", [3.0, 4.0, 5.0], "abc"), losses("front", [3.5, 5.0, 5.75], "abc")]
    table = similarity_table([f1], [RANDOM], fluency, threshold=0.8, max_excess=0.75)
    assert dict(table.schema) == SIMILARITY_SCHEMA
    front = table.filter(variant="front")
    assert front.select("review_id", "loss_per_word", "excess_loss", "accepted").rows() == [
        ("a", 3.5, 0.5, False),
        ("b", 5.0, 1.0, False),
        ("c", 5.75, 0.75, True),
        ("d", None, None, False),
    ]
    assert similarity_table([f1], [], fluency, threshold=0.8)["accepted"].to_list() == [False, True, True, True]
    assert table.filter(variant="random_pairs")["excess_loss"].null_count() == 3
    files = {"similarity": written(tmp_path, f1), "random_pairs": written(tmp_path, RANDOM)}
    files |= {"fluency": written(tmp_path, *fluency), **texts(tmp_path)}
    similarity, acceptance = tabulate(["front"], {"front": "front"}, 0.8, 4, max_excess=0.75, **files)
    assert similarity.drop(CHANGES_SCHEMA).equals(table.drop(CHANGES_SCHEMA))
    assert acceptance.select("n_changed", "share_changed", "n_without_phrases").rows() == [(0, 0.0, 4)]
    assert (
        "front: 1 of 1 accepted texts are as the original, 4 without a key phrase; phrases moved in 0 of 0 sentences, "
        "stood in place in 0, and could not move in 0. Comparisons are over texts that differ. Longer texts, "
        "keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more."
    ) in caplog.text
    assert acceptance.select("n_accepted", "mean_loss_per_word", "median_excess_loss", "max_excess_loss").rows() == [
        (1, 4.75, 0.75, 0.75)
    ]
    assert "similarity.threshold and fluency.max_excess: 0.8 and 0.75 accept 1 of the 4" in caplog.text
    assert "median excess loss is 0.750 nats per word" in caplog.text


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
        "1 of 4 reviews accepted in both; at least 2 are needed",
        "0 of 4 reviews accepted; at least 2 are needed",
    ]
    assert too_few_accepted(similarity, ["original"], 1, 2) is None


def test_tabulate_reads_the_shards_in_their_order(tmp_path):
    shards = written(tmp_path, scores("front", [0.9], "b"), scores("front", [0.8], "a"))
    files = {"similarity": shards, "random_pairs": written(tmp_path, RANDOM), "fluency": None, **texts(tmp_path)}
    similarity, _ = tabulate(["front"], {"front": "front"}, 0.85, 2, **files)
    assert similarity.select("review_id", "accepted").rows()[:2] == [("b", True), ("a", False)]
    assert len(similarity) == 2 + 3
