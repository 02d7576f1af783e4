"""Balance of variants and controls: each covariate on texts that can be counted by hand, and the difference itself."""

import math
import statistics

import polars as pl
import pytest

from examples import example_table
from homogenization.tables.balance import BALANCE_SCHEMA, standardised_mean_difference, tabulate
from homogenization.tables.predictions import PREDICTIONS_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA


def at(before, after):
    return {"phrase": "p", "sentence": 0, "original_position": before, "position": after}


def smd(values, control):
    columns = {name: pl.Series(of, dtype=pl.Float64) for name, of in (("a", values), ("b", control))}
    return pl.DataFrame(columns).select(standardised_mean_difference("a", "b")).item()


def test_the_difference_is_that_of_the_definition_and_without_spread_none_or_infinite():
    values, control = [3.0, 5.0, 7.5, 1.0], [2.0, 2.5, 9.0, 0.5]
    spread = math.sqrt((statistics.variance(values) + statistics.variance(control)) / 2)
    wanted = (statistics.fmean(values) - statistics.fmean(control)) / spread
    assert smd(values, control) == pytest.approx(wanted)
    assert smd([1 / 3] * 7, [1 / 3, *[1 / 3 + 1e-15] * 6]) == 0  # their means differ by rounding
    assert smd([0.0] * 3, [1.0] * 3) == -math.inf
    assert math.isnan(smd([1.0], [0.0]))


def similarity_of(variant, accepted, losses, placements):
    """Three reviews, and the letters of those that are accepted."""
    columns = {"loss_per_word": losses, "placements": [placements] * 3, "first_word_changed": variant == "front"}
    columns |= {"accepted": [name in accepted for name in "abc"], "words_hash": [variant + name for name in "abc"]}
    return example_table(SIMILARITY_SCHEMA, variant=variant, review_id=[*"abc"], f1=0.9, changed=True, **columns)


TOKENS = {("small", "front"): 22, ("small", "scattered"): 11, ("large", "front"): 11, ("large", "scattered"): 11}


def test_a_pair_is_compared_on_the_reviews_that_are_accepted_in_both():
    pairs = [("front", "scattered", "rewriting"), ("scattered", "front", None)]
    read = [
        example_table(PREDICTIONS_SCHEMA, model=model, variant=variant, review_id=["a", "b", "c"], n_tokens=n)
        for (model, variant), n in TOKENS.items()
    ]
    front = similarity_of("front", "abc", [5.0, 7.0, None], [at(0.25, 0.0), at(1.0, 0.4), at(None, None)])
    scattered = similarity_of("scattered", "ab", [4.0, 8.0, None], [at(0.25, 1.0)])
    table = tabulate(pl.concat([front, scattered]), pl.concat(read), pairs)
    assert dict(table.schema) == BALANCE_SCHEMA
    assert table.select("variant", "control", "role").unique(maintain_order=True).rows() == pairs
    front = table.filter(variant="front")
    means = {(row["covariate"], row["model"]): (row["mean"], row["mean_control"]) for row in front.to_dicts()}
    assert means["displacement", None] == pytest.approx(((0.25 + 0.6) / 2, 0.75))  # a phrase can be the sentence
    assert means["first_word_changed", None] == (1, 0)
    assert front["n_reviews"].to_list() == [2, 2, 3, 3, 2, 2]  # what models read is in `predictions`
    assert front.filter(model="small")["smd"].item() == math.inf
    assert front.filter(covariate="loss_per_word").select("smd", "balanced").row(0) == (0, True)  # 5 and 7, 4 and 8


@pytest.mark.parametrize(("difference", "balanced"), [(0.25, True), (0.26, False)])
def test_the_bound_itself_is_balanced_and_what_is_unknown_is_neither(difference, balanced):
    f1 = [1, 2, 3, *(value + difference for value in (1, 2, 3))]
    columns = {"variant": ["front"] * 3 + ["end"] * 3, "review_id": ["a", "b", "c"] * 2, "f1": f1}
    columns |= {"loss_per_word": [1.0, None, None] * 2, "words_hash": list("abcdef"), "accepted": True, "changed": True}
    similarity = example_table(SIMILARITY_SCHEMA, **columns)
    table = tabulate(similarity, pl.DataFrame(schema=PREDICTIONS_SCHEMA), [("front", "end", "key")])
    found = [("f1", 3, balanced), ("loss_per_word", 1, None)]
    assert table.select("covariate", "n_reviews", "balanced").rows() == found
