import numpy as np
import polars as pl
import pytest

from homogenization.claims.answers import answers_table
from homogenization.vocabulary.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from library.statistics.shared import words_of

CONTROLS = {"front": {"edge": "inward", "key": "other"}}
DOSES = {"plain": "first 0.1 (dial)", "sharp": "first 0.1 (dial) less removed at equal KL", "odd": "template 0.5"}
RANK, MEV = "normalized_effective_rank", "max_explainable_variance"


def claim(statistic, metric, verdict, estimate, minus=None, share=np.nan, **more):
    row = {"model": "m", "statistic": statistic, "metric": metric, "verdict": verdict, "estimate": estimate}
    row |= {"variant": "front" if minus else None, "minus": minus, "share_of_depth": share}
    row |= {"layers": "all" if minus else None}
    return row | {"convention": "raw", "fragile": False} | more


def answer(*rows):
    return answers_table(pl.DataFrame(rows, infer_schema_length=None), ["m"], CONTROLS, DOSES, words_of("claims"))[
        "answer"
    ].item()


def test_the_sentences_of_a_model():
    said = answer(
        claim("slope", RANK, SUPPORTED, -0.4),
        claim("slope", MEV, CONTRADICTED, -0.1),
        claim("contrast", RANK, SUPPORTED, -0.01, "original", -0.02, fragile=True),
        claim("contrast", MEV, CONTRADICTED, -0.01, "original", -0.004),
        claim("contrast", RANK, NEGLIGIBLE, -0.001, "inward", -0.001),
        claim("contrast", MEV, UNDECIDED, 0.001, "inward", 0.031),
    )
    assert said == (
        "Over depth, tokens grow alike by normalised effective rank, not by maximum explainable variance. Averaged "
        "over all layers, key phrases at an edge of their sentence make tokens more alike than in the "
        "original in 1 of 2 comparisons (1 fragile; less alike in 1; up to 2 % of what depth does) and than with the "
        "same phrases moved as far inward in 0 of 2 comparisons (negligible in 1; up to 3.1 % of what depth does)."
    )


def test_the_output_has_a_sentence_of_its_own():
    """A mean over layers can be negligible where the output is not."""
    said = answer(
        claim("contrast", RANK, NEGLIGIBLE, -0.001, "original", -0.001),
        claim("contrast", RANK, NEGLIGIBLE, 0.001, "inward", 0.002),
        claim("contrast", RANK, SUPPORTED, -0.028, "original", -0.045, layers="output"),
    )
    assert said == (
        "Averaged over all layers, it makes no difference that matters whether key phrases stand at an edge of their "
        "sentence: each of 2 comparisons with the original and the controls is negligible (up to 0.2 % of what depth "
        "does). At the output, key phrases at an edge of their sentence make tokens more alike than in the original in "
        "1 of 1 comparison (up to 4.5 % of what depth does)."
    )


def test_changed_attention_is_compared_with_each_control():
    """Nearness to the first token does not count as likeness."""
    at = {"layers": "output", "variant": "original"}
    said = answer(
        claim("intervention", RANK, SUPPORTED, -0.01, "untouched", -0.02, claim="plain", **at),
        claim("intervention", MEV, NEGLIGIBLE, 0.001, "untouched", 0.001, claim="plain", **at),
        claim("intervention", MEV, CONTRADICTED, -0.03, "removed", -0.05, claim="sharp", **at),
        claim("intervention", "cosine_to_first_token", SUPPORTED, 0.4, "removed", 0.9, claim="sharp", **at),
        claim("intervention", RANK, UNDECIDED, 0.4, "untouched", 0.007, claim="odd", **at),
    )
    assert said == (
        "At the output, tokens are more alike under first 0.1 (dial), than untouched in 1 of 2 comparisons (negligible "
        "in 1; up to 2 % of what depth does) and than under removed at equal KL in 0 of 1 comparison (less alike in 1; "
        "up to 5 % of what depth does); under template 0.5, than untouched in 0 of 1 comparison (up to 0.7 % of what "
        "depth does)."
    )


@pytest.mark.parametrize("verdict", [SUPPORTED, CONTRADICTED])
def test_the_estimate_says_which_side_not_the_claim(verdict):
    """A claim of the opposite that is contradicted says the same as a claim that is supported."""
    assert "grow alike by normalised" in answer(claim("slope", RANK, verdict, -0.4))
    assert "do not grow alike by normalised" in answer(claim("slope", RANK, verdict, 0.4))


def test_what_is_no_answer_does_not_count():
    """Not tested, of the pooled convention, of a metric that does not measure homogenization, of an unknown pair."""
    said = answer(
        claim("slope", RANK, NOT_TESTED, np.nan),
        claim("slope", MEV, SUPPORTED, 0.4, convention="thesis"),
        claim("contrast", "first_token_norm", SUPPORTED, 0.4, "original"),
        claim("contrast", RANK, SUPPORTED, -0.4, "scattered"),
        claim("level", RANK, SUPPORTED, 0.4),
        claim("component", "singular_anisotropy", SUPPORTED, 0.4),
        claim("similarity", None, SUPPORTED, 0.4),
    )
    assert said == "No claim on depth, position or attention was tested."


@pytest.mark.parametrize(
    ("silent", "named"),
    [
        (["b"], "b"),
        (["b", "c", "d"], "b, c and d"),
        (["b", "c", "d", "e"], "4 other models"),
    ],
)
def test_models_without_an_answer_share_the_last_row(silent, named):
    claims = pl.DataFrame([claim("slope", RANK, SUPPORTED, -0.4)], infer_schema_length=None)
    said = answers_table(claims, [*silent[:1], "m", *silent[1:]], CONTROLS, DOSES, words_of("claims"))
    assert said["model"].to_list() == ["m", named]
    assert said["answer"][1].startswith("No claim on depth")


def test_many_models_without_any_answer_are_one_row():
    claims = pl.DataFrame([claim("slope", RANK, SUPPORTED, -0.4)], infer_schema_length=None)
    said = answers_table(claims, ["b", "c", "d", "e"], CONTROLS, DOSES, words_of("claims"))
    assert said.rows() == [("all 4 models", "No claim on depth, position or attention was tested.")]
