import numpy as np
import polars as pl
import pytest

from homogenization.claims.answers import answers_table
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from library.statistics.shared import words_of

CONTROLS = {"front": {"edge": "inward", "key": "other"}}
PLAIN = "mean change by first 0.1 (steering) at the output"
SHARP = "mean change by first 0.1 (steering) minus removed at equal KL at the output"
ODD = "mean change by template 0.5 at the output"
RANK, MEV = "normalized_effective_rank", "max_explainable_variance"


def claim(statistic, metric, verdict, estimate, minus=None, share=np.nan, **more):
    row = {"model": "m", "statistic": statistic, "metric": metric, "verdict": verdict, "estimate": estimate}
    row |= {"measured": "", "convention": "raw", "fragile": False, "first_decides": False, "n_same_first": None}
    row |= {"variant": "front" if minus else "original", "minus": minus, "relative_effect": share, "depth_range": 0.125}
    row |= {"layers": "all" if minus else None, "since": None, "view": None, "share_changed": 1.0, "n_reviews": 60}
    return row | more


def answer(*rows, unchanged=(), controls=CONTROLS):
    claims = pl.DataFrame(rows, infer_schema_length=None)
    still = {"unchanged": unchanged, "min_reviews": 10}
    return answers_table(claims, ["m"], controls, words_of("claims"), **still)["answer"].item()


NOT_TESTED_FIRST = (
    "Not tested: `front` is as the original in 17 of 20 texts, and `end` in 16 of 20 texts; at least 10 have to "
    "differ. Longer texts, keyphrases.min_document_frequency: 1 or a larger keyphrases.max_phrases change more."
)
NOTHING = "No claim on depth, position or attention was tested."
EDGES = "key phrases at an edge of their sentence make tokens more alike than in the original"


def largest(size, share, towards="more", metric="normalised effective rank"):
    return (
        f"the largest difference is {size} of {metric} towards {towards} alike, {share} % of what depth does, "
        "a range of 0.12"
    )


def moved(verdict, share=-0.02, metric=RANK, minus="original", **more):
    """A contrast of `front`, whose estimate is half of its share."""
    return claim("contrast", metric, verdict, share / 2, minus, share, **more)


def test_variants_of_which_too_few_texts_changed_come_first():
    unchanged = [("front", 17, 20), ("end", 16, 20)]
    slope, silent = claim("slope", RANK, SUPPORTED, -0.4), claim("slope", RANK, NOT_TESTED, np.nan)
    towards = "By normalised effective rank, the slope over all layers is towards more alike."
    assert answer(slope, unchanged=unchanged) == f"{NOT_TESTED_FIRST} {towards}"
    assert answer(silent, unchanged=unchanged) == f"{NOT_TESTED_FIRST} {NOTHING}"
    assert answer(silent) == NOTHING
    alone = NOT_TESTED_FIRST.replace(", and `end` in 16 of 20 texts", "")
    assert answer(silent, unchanged=unchanged[:1]) == f"{alone} {NOTHING}"


def test_a_comparison_says_how_many_of_the_texts_differ():
    first, second = moved(SUPPORTED, share_changed=0.6), moved(UNDECIDED, 0.02, minus="inward", share_changed=0.75)
    assert answer(first).endswith("These comparisons are over the texts that differ, 60 % of all.")
    assert f"{EDGES} in 1 of 1 comparison" in answer(first, second)
    assert answer(first, second).endswith("These comparisons are over the texts that differ, 60 % to 75 % of all.")
    assert "texts that differ" not in answer(moved(SUPPORTED))


def test_the_sentences_of_a_model():
    said = answer(
        claim("slope", RANK, SUPPORTED, -0.4),
        claim("slope", MEV, CONTRADICTED, -0.1),
        moved(SUPPORTED, fragile=True),
        moved(CONTRADICTED, -0.004, MEV),
        moved(NEGLIGIBLE, -0.001, minus="inward"),
        moved(UNDECIDED, 0.031, MEV, "inward"),
    )
    assert said == (
        "By normalised effective rank, the slope over all layers is towards more alike. By maximum explainable "
        "variance, the slope over all layers is towards less alike. Averaged over all layers, "
        f"{EDGES} in 1 of 2 comparisons (1 fragile; less alike in 1; {largest(0.01, 2)}) "
        "and than with the same phrases moved as far inward in 0 of 2 comparisons (negligible in 1; "
        f"undecided in 1; {largest(0.015, 3.1, metric='maximum explainable variance')})."
    )


def test_a_variant_without_controls_is_compared_with_the_original_and_the_answer_says_what_this_leaves_open():
    assert answer(moved(SUPPORTED), controls={"front": {}, "end": {}}) == (
        f"Averaged over all layers, {EDGES} in 1 of 1 comparison ({largest(0.01, 2)}). The study has no control of "
        "`front`, so it does not tell an effect of position from one of any rewriting."
    )
    assert "no control" not in answer(moved(SUPPORTED))


def test_the_output_has_a_sentence_of_its_own():
    """A mean over layers can be negligible where the output is not."""
    averaged = moved(NEGLIGIBLE, -0.001), moved(NEGLIGIBLE, 0.002, minus="inward")
    assert answer(*averaged, moved(SUPPORTED, -0.045, layers="output")) == (
        "Averaged over all layers, it makes no difference that matters whether key phrases stand at an edge of their "
        "sentence: each of 2 comparisons with the original and the controls is negligible "
        f"({largest(0.001, 0.2, 'less')}). "
        f"At the output, {EDGES} in 1 of 1 comparison ({largest(0.022, 4.5)})."
    )


def test_changed_attention_is_compared_with_each_control():
    """Nearness to the first token does not count as likeness."""
    at = {"layers": "output", "variant": "original"}
    said = answer(
        claim("intervention", RANK, SUPPORTED, -0.01, "untouched", -0.02, measured=PLAIN, **at),
        claim("intervention", MEV, NEGLIGIBLE, 0.001, "untouched", 0.001, measured=PLAIN, **at),
        claim("intervention", MEV, CONTRADICTED, -0.03, "removed", -0.05, measured=SHARP, **at),
        claim("intervention", "cosine_to_first_token", SUPPORTED, 0.4, "removed", 0.9, measured=SHARP, **at),
        claim("intervention", RANK, UNDECIDED, 0.4, "untouched", 0.007, measured=ODD, **at),
    )
    assert said == (
        "At the output, tokens are more alike under first 0.1 (steering), than untouched in 1 of 2 comparisons "
        f"(negligible in 1; {largest(0.01, 2)}) and than under removed at equal KL in 0 of 1 comparison "
        f"(less alike in 1; {largest(0.03, 5, 'less', 'maximum explainable variance')}); under template 0.5, "
        f"than untouched in 0 of 1 comparison (undecided in 1; {largest(0.4, 0.7, 'less')})."
    )


@pytest.mark.parametrize("verdict", [SUPPORTED, CONTRADICTED])
def test_the_estimate_says_which_side_not_the_claim(verdict):
    """A claim of the opposite that is contradicted says the same as a claim that is supported."""
    assert "towards more alike" in answer(claim("slope", RANK, verdict, -0.4))
    assert "towards less alike" in answer(claim("slope", RANK, verdict, 0.4))


def depths(metric, slope=None, **net):
    """Claims on the depth of a metric; each has a verdict and an estimate."""
    rows = [claim("net_change", metric, *net[since], since=since.replace("_", " ")) for since in net]
    return rows + ([claim("slope", metric, *slope)] if slope else [])


FALLS, RISES, OPEN, SMALL = (SUPPORTED, -0.2), (CONTRADICTED, 0.2), (UNDECIDED, -0.2), (NEGLIGIBLE, 0.001)


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (
            depths(RANK, FALLS, input=FALLS, first_block=FALLS),
            "tokens at the output are more alike than at the input and after the first block; the slope over all "
            "layers is towards more alike",
        ),
        (  # Gemma 3 270M: .62 at the input, .14 after block 1, .41 at the output
            depths(RANK, RISES, input=FALLS, first_block=RISES),
            "tokens at the output are more alike than at the input and less alike than after the first block; the "
            "slope over all layers is towards less alike",
        ),
        (  # Qwen2.5-0.5B: 15 of 16 reviews fall, and the slope is open
            depths(RANK, OPEN, input=FALLS),
            "tokens at the output are more alike than at the input; the slope over all layers is undecided",
        ),
        (
            depths(RANK, input=FALLS, first_block=OPEN),
            "tokens at the output are more alike than at the input; whether they are more or less alike than after the "
            "first block is undecided",
        ),
        (
            depths(RANK, SMALL, input=OPEN, first_block=OPEN),
            "whether tokens at the output are more or less alike than at the input or after the first block is "
            "undecided; the slope over all layers is negligible",
        ),
        (depths(RANK, input=SMALL), "tokens at the output are about as alike as at the input"),
        (  # one stored layer or block leaves one claim, or none
            [claim("net_change", RANK, NOT_TESTED, np.nan, since="first block"), *depths(RANK, input=RISES)],
            "tokens at the output are less alike than at the input",
        ),
    ],
)
def test_the_first_sentence_says_net_change_and_slope_each_by_its_verdict(claims, said):
    found = answer(*claims)
    assert found == f"By normalised effective rank, {said}."
    assert " not " not in found


def test_metrics_of_which_depth_says_the_same_share_a_sentence():
    """A metric that rises as tokens grow alike says the same as one that falls; another view is another metric."""
    bare = claim("net_change", RANK, *RISES, since="input", view="raw_without_first")
    front = claim("slope", RANK, *RISES) | {"variant": "front"}  # the sentence is about the originals
    assert answer(*depths(RANK, input=FALLS), *depths(MEV, input=(SUPPORTED, 0.3)), bare, front) == (
        "By normalised effective rank and maximum explainable variance, tokens at the output are more alike than at "
        "the input. By normalised effective rank (raw without first), tokens at the output are less alike than at the "
        "input."
    )


def test_verdicts_that_the_first_token_decides_are_counted():
    rows = [moved(UNDECIDED, first_decides=n > 0, n_same_first=n) for n in (12, 0, 14)]
    others = "another verdict in 2 where the first token stays, in 12 to 14 texts"
    assert f"(undecided in 3; {others}; {largest(0.01, 2)}" in answer(*rows)
    said = answer(moved(NEGLIGIBLE, -0.001, first_decides=True, n_same_first=13))
    assert "no difference" not in said
    others = "another verdict in 1 where the first token stays, in 13 texts"
    assert f"in 0 of 1 comparison (negligible in 1; {others}; the largest" in said


def test_views_are_counted_apart_and_each_says_how_many_texts_it_is_of_where_they_are_few():
    said = answer(
        moved(SUPPORTED, n_reviews=13),
        moved(SUPPORTED, 0.01, MEV, n_reviews=7),
        moved(CONTRADICTED, 0.5, view="raw_without_first"),
        moved(NEGLIGIBLE, 0.001, view="centred"),
    )
    assert f"than in the original in 2 of 2 comparisons (7 to 13 texts; {largest(0.01, 2)})" in said
    bare = largest(0.25, 50, "less", "normalised effective rank (raw without first)")
    assert f"than in the original, without the first token, in 0 of 1 comparison (less alike in 1; {bare})" in said
    assert "than in the original (centred) in 0 of 1 comparison (negligible in 1; the largest" in said
    assert "is negligible (15 texts; the largest difference" in answer(moved(NEGLIGIBLE, -0.001, n_reviews=15))
    assert "texts" not in answer(moved(NEGLIGIBLE, -0.001, n_reviews=16))


def test_differences_without_a_share_have_no_largest():
    """Depth does not move the metric."""
    said = answer(moved(SUPPORTED, np.nan) | {"estimate": -0.01}, moved(UNDECIDED, np.nan, MEV) | {"estimate": 1.0})
    assert "than in the original in 1 of 2 comparisons (undecided in 1)." in said


def test_what_is_no_answer_does_not_count():
    """Not tested, of the pooled convention, of a metric that is not about likeness, of an unknown pair."""
    said = answer(
        claim("slope", RANK, NOT_TESTED, np.nan),
        claim("slope", MEV, SUPPORTED, 0.4, convention="thesis"),
        claim("contrast", "first_token_norm", SUPPORTED, 0.4, "original"),
        claim("contrast", "cosine_to_first_token", SUPPORTED, 0.4, "original"),
        claim("contrast", RANK, SUPPORTED, -0.4, "scattered"),
        claim("level", RANK, SUPPORTED, 0.4),
        claim("component", "singular_anisotropy", SUPPORTED, 0.4),
        claim("similarity", None, SUPPORTED, 0.4),
    )
    assert said == NOTHING


@pytest.mark.parametrize(
    ("silent", "named"), [(["b"], "b"), (["b", "c", "d"], "b, c and d"), (["b", "c", "d", "e"], "4 other models")]
)
def test_models_without_an_answer_share_the_last_row(silent, named):
    claims = pl.DataFrame([claim("slope", RANK, SUPPORTED, -0.4)], infer_schema_length=None)
    said = answers_table(claims, [*silent[:1], "m", *silent[1:]], CONTROLS, words_of("claims"))
    assert said["model"].to_list() == ["m", named]
    assert said["answer"][1] == NOTHING
    alone = answers_table(claims, silent, CONTROLS, words_of("claims"))
    assert alone["model"].to_list() == [named.replace("4 other", "all 4")]
