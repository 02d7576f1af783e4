"""Balance of variants and controls: each covariate on texts that can be counted by hand, and the difference itself."""

import math
import statistics

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.tables.balance import (
    COVARIATES,
    balance_table,
    covariates_of_reviews,
    standardised_mean_difference,
    tabulate,
    text_covariates,
)
from homogenization.tables.comparisons import BALANCE_SCHEMA, comparisons_table, unbalanced
from homogenization.tables.similarity import SIMILARITY_SCHEMA, similarity_table
from homogenization.variants.schemas import FLUENCY_SCHEMA, SCORE_SCHEMA, VARIANT_SCHEMA
from measured import written

ORIGINAL = "The slow train left at dawn. Ghosts again? A dull end."
FRONT = "Slow train dawn the left at. Ghosts again? Dull end a."
SCATTERED = "The dawn left at slow train. Ghosts again? Dull a end."
NUMBERS = st.lists(st.floats(-1e3, 1e3).map(lambda value: round(value, 3)), min_size=2, max_size=12)


def at(phrase, sentence, before, after):
    return {"phrase": phrase, "sentence": sentence, "original_position": before, "position": after}


# a sentence that is a phrase has no position
MOVED = {
    "original": [
        at("slow train", 0, 0.25, 0.25),
        at("dawn", 0, 1.0, 1.0),
        at("ghosts again", 1, None, None),
        at("dull", 2, 0.5, 0.5),
        at("end", 2, 1.0, 1.0),
    ],
    "front": [
        at("slow train", 0, 0.25, 0.0),
        at("dawn", 0, 1.0, 0.4),
        at("ghosts again", 1, None, None),
        at("dull", 2, 0.5, 0.0),
        at("end", 2, 1.0, 0.5),
    ],
    "scattered": [
        at("slow train", 0, 0.25, 1.0),
        at("dawn", 0, 1.0, 0.2),
        at("ghosts again", 1, None, None),
        at("dull", 2, 0.5, 0.0),
        at("end", 2, 1.0, 1.0),
    ],
}
TEXTS = {"original": ORIGINAL, "front": FRONT, "scattered": SCATTERED}


@pytest.mark.parametrize(
    ("variant", "displacement", "changed"),
    [("original", 0, 0), ("front", (0.25 + 0.6 + 0.5 + 0.5) / 4, 1), ("scattered", (0.75 + 0.8 + 0.5 + 0) / 4, 0)],
)
def test_what_a_rewriting_did_can_be_counted_by_hand(variant, displacement, changed):
    found = text_covariates(ORIGINAL, TEXTS[variant], MOVED[variant])
    assert found == {"displacement": pytest.approx(displacement), "first_word_changed": changed}
    assert text_covariates("No.", "No.", []) == {"displacement": None, "first_word_changed": 0}


@given(NUMBERS, NUMBERS)
def test_the_difference_is_that_of_the_definition(values, control):
    found = standardised_mean_difference(np.array(values), np.array(control))
    difference = statistics.fmean(values) - statistics.fmean(control)
    spread = math.sqrt((statistics.variance(values) + statistics.variance(control)) / 2)
    if abs(difference) <= 1e-12 * max(map(abs, values + control)):
        assert found == 0
    elif spread == 0:
        assert found == math.copysign(math.inf, difference)
    else:
        assert found == pytest.approx(difference / spread, rel=1e-6)


@given(NUMBERS, st.floats(-5, 5), st.floats(0.01, 100), st.floats(-100, 100))
def test_the_difference_is_in_standard_deviations_whatever_the_unit(values, shift, unit, zero):
    values = np.array(values)
    spread = values.std(ddof=1)
    if spread < 1e-3 or abs(shift) < 1e-3:
        return
    moved = values + shift * spread
    assert standardised_mean_difference(moved, values) == pytest.approx(shift, rel=1e-5)
    assert standardised_mean_difference(values, moved) == pytest.approx(-shift, rel=1e-5)
    scaled = [unit * part + zero for part in (moved, values)]
    assert standardised_mean_difference(*scaled) == pytest.approx(shift, rel=1e-4)


def test_without_spread_equal_means_are_balanced_and_others_infinitely_apart():
    thirds = np.full(7, 1 / 3)
    assert standardised_mean_difference(thirds, np.full(9, 1 / 3)) == 0  # their means differ by rounding
    assert standardised_mean_difference(np.zeros(3), np.ones(3)) == -math.inf
    assert standardised_mean_difference(np.ones(2), np.zeros(2)) == math.inf
    assert math.isnan(standardised_mean_difference(np.ones(1), np.zeros(1)))


def study(accepted):
    """Three reviews, each the same in its variant, of which `accepted` (by variant) are accepted; with losses."""
    names = ["a", "b", "c"]
    variants = pl.concat(
        pl.DataFrame(
            [(variant, name, text, "1", MOVED[variant]) for name in names], schema=VARIANT_SCHEMA, orient="row"
        )
        for variant, text in TEXTS.items()
    )
    scores = [
        pl.DataFrame(
            [(variant, name, 0.9, 0.9, 0.9 if name in accepted[variant] else 0.1) for name in names],
            schema=SCORE_SCHEMA,
            orient="row",
        )
        for variant in ("front", "scattered")
    ]
    loss = {("front", "a"): 5.0, ("front", "b"): 7.0, ("scattered", "a"): 4.0, ("scattered", "b"): 8.0}
    losses = [(*key, 11, 12, value) for key, value in loss.items()] + [
        ("original", name, 11, 12, 3.0) for name in names
    ]
    fluency = pl.DataFrame(losses, schema=FLUENCY_SCHEMA, orient="row")
    return variants, similarity_table(scores, [], [fluency], threshold=0.5)


def tokens_of(**by_model):
    """What models read: as many tokens of each review of a variant."""
    rows = [
        (model, variant, review, n)
        for model, counts in by_model.items()
        for variant, n in counts.items()
        for review in "abc"
    ]
    return pl.DataFrame(rows, schema=["model", "variant", "review_id", "n_tokens"], orient="row")


def test_a_pair_is_compared_on_the_reviews_that_are_accepted_in_both():
    variants, similarity = study({"front": "abc", "scattered": "ab"})
    tokens = tokens_of(small={"original": 20, "front": 22, "scattered": 11}, large=dict.fromkeys(TEXTS, 11))
    covariates = covariates_of_reviews(variants, similarity, tokens)
    pairs = [("front", "scattered", "rewriting"), ("scattered", "front", None)]
    table = balance_table(covariates, similarity, pairs, 0.25)
    assert dict(table.schema) == BALANCE_SCHEMA
    assert table.select("variant", "control", "role").unique(maintain_order=True).rows() == pairs
    front = table.filter(variant="front")
    assert front["covariate"].to_list() == [*COVARIATES[:3], "tokens", *COVARIATES[3:]]
    assert front["model"].to_list() == [None] * 2 + ["large", "small"] + [None] * 2
    assert set(table["n_reviews"]) == {2}
    rows = {(row["covariate"], row["model"]): row for row in front.to_dicts()}
    assert rows["tokens", "small"]["mean"] == 22
    assert rows["tokens", "small"]["smd"] == math.inf
    assert rows["tokens", "large"]["balanced"]
    assert rows["first_word_changed", None]["mean_control"] == 0
    # losses of 5 and 7, less 4 and 8
    assert rows["loss_per_word", None]["smd"] == 0
    there, back = (table.filter(variant=name)["smd"].to_list() for name in ("front", "scattered"))
    assert there == pytest.approx([-smd for smd in back])
    assert "tokens (small)" in unbalanced(table)["front", "scattered"]
    assert "loss_per_word" not in unbalanced(table)["front", "scattered"]


def test_a_pair_without_a_review_in_common_is_in_the_table():
    variants, similarity = study({"front": "ab", "scattered": ""})
    covariates = covariates_of_reviews(variants, similarity, tokens_of(small=dict.fromkeys(TEXTS, 20)))
    table = balance_table(covariates, similarity, [("front", "scattered", "rewriting")], 0.25)
    assert set(table["covariate"]) == {*COVARIATES} - {"tokens", "loss_per_word"}
    assert set(table["n_reviews"]) == {0}
    assert table["smd"].is_nan().all()
    assert table["balanced"].null_count() == len(table)
    assert unbalanced(table) == {}


def test_the_bound_itself_is_balanced_and_what_is_unknown_is_neither():
    rows = [("front", name, None, "f1", value) for name, value in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    rows += [("end", name, None, "f1", value) for name, value in (("a", 1.5), ("b", 2.5), ("c", 3.5))]
    rows += [("front", "a", None, "tokens", 1.0), ("end", "a", None, "tokens", 2.0), ("end", "b", None, "tokens", 2.0)]
    schema = ["variant", "review_id", "model", "covariate", "value"]
    covariates = pl.DataFrame(rows, schema=schema, orient="row", schema_overrides={"model": pl.String})
    for bound, balanced in ((0.5, True), (0.49, False)):
        table = balance_table(covariates, pl.DataFrame(schema=SIMILARITY_SCHEMA), [("front", "end", "key")], bound)
        assert table["covariate"].to_list() == ["tokens", "f1"]
        assert table["balanced"].to_list() == [None, balanced]
        assert table["n_reviews"].to_list() == [1, 3]
        assert unbalanced(table) == ({} if balanced else {("front", "end"): ["f1"]})


def test_comparisons_name_what_is_out_of_balance():
    _, similarity = study({"front": "abc", "scattered": "abc"})
    rows = [
        ("front", "scattered", "rewriting", None, "displacement", 1.0, 0.5, 3.0, 3, False),
        ("front", "scattered", "rewriting", None, "first_word_changed", 1.0, 1.0, 0.0, 3, True),
        ("front", "scattered", "rewriting", "m", "tokens", 1.0, 0.5, math.inf, 3, False),
        ("front", "scattered", "rewriting", None, "f1", 1.0, 0.5, math.nan, 1, None),
    ]
    balance = pl.DataFrame(rows, schema=BALANCE_SCHEMA, orient="row")
    pairs = [("front", "original"), ("front", "scattered"), ("scattered", "front")]
    table = comparisons_table(similarity, pairs, 3, 2, balance)
    assert table["imbalance"].to_list() == [None, "displacement, tokens (m)", None]
    assert comparisons_table(similarity, pairs, 3, 2)["imbalance"].to_list() == [None] * 3


def test_tokens_are_those_that_the_models_read(tmp_path):
    variants, similarity = study({"front": "abc", "scattered": "abc"})
    paths = written(tmp_path, *(variants.filter(variant=name) for name in TEXTS))
    (tmp_path / "read").mkdir()
    read = [
        pl.DataFrame(
            {"model": "m", "variant": name, "review_id": list("abc"), "n_tokens": [n + more for n in (6, 9, 5)]}
        )
        for name, more in (("front", 1), ("scattered", 0))
    ]
    files = written(tmp_path / "read", *read)
    table = tabulate(paths, files, similarity, [("front", "scattered", "rewriting")], 0.25)
    row = table.row(by_predicate=pl.col("covariate") == "tokens", named=True)
    assert (row["model"], row["mean"] - row["mean_control"], row["n_reviews"]) == ("m", 1, 3)
