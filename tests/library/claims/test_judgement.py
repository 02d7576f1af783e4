"""Verdicts on claims: of an estimate and a criterion, and of rows of made-up tables of estimates."""

from math import inf, nan

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.claims.judgement import CLAIMS_SCHEMA, claims_table, judge
from homogenization.config.claims import Claim
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.statistics.depth import DEPTH_SCHEMA
from homogenization.statistics.effects import EFFECTS_SCHEMA

RANK, COSINE = "normalized_effective_rank", "cosine_anisotropy"
SCHEMAS = {"contrasts": CONTRASTS_SCHEMA, "depth": DEPTH_SCHEMA, "interventions": EFFECTS_SCHEMA}
SCHEMAS["consequences"] = EFFECTS_SCHEMA
FIXED = {"model": "m", "variant": "front", "minus": "original", "point": "residual_stream", "metric": RANK}
STEERED = {"variant": "original", "kind": "steering", "pattern": "first", "blocks": "all", "strength": 0.1}


def estimate(mean=0.1, reach=0.05, verdict="higher", reason=None, **columns):
    numbers = {"n_reviews": 32, "mean": mean, "ci_low": mean - reach, "ci_high": mean + reach, "median": mean}
    numbers |= {"p_wilcoxon": 0.01, "p_max_t": 0.012345, "yardstick": 0.5}
    return numbers | {"verdict": verdict, "reason": reason} | columns


def table(name, *rows):
    """A table of estimates with a row for each mapping of what is not as in `FIXED` and `estimate`."""
    return pl.DataFrame([FIXED | estimate(**row) for row in rows], SCHEMAS[name])


def judged(claims, models=("m",), **tables):
    """The table `claims` of entries, each with a name and a statement, of studies without further tables."""
    rows = []
    for number, entry in enumerate(claims):
        named = {"claim": f"claim{number}", "statement": "So it is.", "source": "someone"}
        rows += Claim.model_validate(named | entry).rows()
    return claims_table(rows, models, dict.fromkeys(SCHEMAS) | {"components": None} | tables)


@pytest.mark.parametrize(
    ("row", "criterion", "verdict"),
    [
        ({"verdict": "more alike"}, {"above": 0}, "yes"),
        ({"verdict": "less alike"}, {"below": 0}, "no"),
        ({"verdict": "lower", "mean": -0.1}, {"below": 0}, "yes"),
        ({"verdict": "negligible"}, {"below": 0}, "negligible"),
        # p decides, whatever the interval says
        ({"verdict": "undecided", "reach": 0.01}, {"above": 0}, "undecided"),
        # a size of its own: the interval decides, whatever the row says of 0
        ({}, {"above": 0.04}, "yes"),
        ({}, {"above": 0.07}, "undecided"),
        ({"verdict": "negligible"}, {"above": 0.2}, "no"),
        ({"mean": 0.5, "reach": 0.25}, {"between": [0.25, 0.75]}, "yes"),
        ({}, {"between": [0.1, 0.9]}, "undecided"),
        ({}, {"between": [0.2, 0.9]}, "no"),
        # of a place, which is no difference, the interval is told
        ({"verdict": "not tested", "reason": "a place"}, {"between": [0.04, 0.16]}, "yes"),
        ({"reason": "one review decides", "verdict": "undecided"}, {"above": 0.04}, "undecided"),
        ({"verdict": None}, {"above": 0}, "yes"),
        # of one value, or none
        ({"ci_low": nan, "ci_high": nan}, {"above": 0}, "not tested"),
        ({"mean": nan}, {"between": [0, 1]}, "not tested"),
    ],
)
def test_a_verdict_is_that_of_an_estimate_and_a_criterion(row, criterion, verdict):
    assert judge(estimate(**row), criterion) == verdict


@given(mean=st.floats(-1, 1), reach=st.floats(0, 1), bound=st.floats(-1, 1).filter(bool))
def test_what_is_above_a_bound_is_not_below_it(mean, reach, bound):
    row = estimate(mean, reach)
    above, below = judge(row, {"above": bound}), judge(row, {"below": bound})
    assert above == judge(row, {"between": [bound, inf]})
    mirrored = estimate(-mean, reach) | {"ci_low": -row["ci_high"], "ci_high": -row["ci_low"]}
    assert above == judge(mirrored, {"below": -bound})
    if bound not in (row["ci_low"], row["ci_high"]):
        assert {above, below} in ({"yes", "no"}, {"undecided"})


def test_rows_are_those_of_the_tables_with_four_digits():
    views = {"raw_without_first": -0.0293931, "raw": -0.0263947}
    last = {"layer": 4, "depth": 1.0, "verdict": "more alike"}
    contrasts = table(
        "contrasts",
        *({"view": view, "layers": "all", "mean": 2 * mean} for view, mean in views.items()),
        *(last | {"view": view, "mean": mean} for view, mean in views.items()),
        last | {"view": "raw", "layer": 3, "depth": 0.75},
        # what is not of all reviews, or after the final norm
        last | {"view": "raw", "mean": 9.0, "group": "news"},
        last | {"view": "raw", "mean": 9.0, "point": "final_norm"},
        {"view": "predictions", "point": "predictions", "metric": "loss_per_word", "mean": 0.6612345},
    )
    place = {"variant": "original", "view": "raw", "statistic": "steepest", "mean": 0.3, "verdict": None}
    pair = {"variant": "front", "minus": "original"}
    claims = [
        {"contrast": pair | {"metric": RANK}, "below": 0},
        {"contrast": pair | {"metric": "loss_per_word"}, "above": 0},
        {"depth": {"metric": RANK, "statistic": "steepest", "view": "raw"}, "between": [0.25, 0.75]},
    ]
    found = judged(claims, contrasts=contrasts, depth=table("depth", place))
    assert found.columns == list(CLAIMS_SCHEMA)
    assert set(found["verdict"]) == {"yes"}
    assert found.select("claim", "statistic", "view", "compared", "layers", "estimate", "ci_low", "p").rows() == [
        ("claim0", "contrast", "raw_without_first", "front − original", "all", -0.05879, -0.1088, 0.01235),
        ("claim0", "contrast", "raw", "front − original", "all", -0.05279, -0.1028, 0.01235),
        ("claim0", "contrast", "raw_without_first", "front − original", "output", -0.02939, -0.07939, 0.01235),
        ("claim0", "contrast", "raw", "front − original", "output", -0.02639, -0.07639, 0.01235),
        ("claim1", "contrast", "predictions", "front − original", "output", 0.6612, 0.6112, 0.01235),
        ("claim2", "steepest", "raw", "original", None, 0.3, 0.25, None),
    ]


def test_changed_attention_is_found_by_pattern_strength_and_control():
    cosine = STEERED | {"metric": COSINE, "layers": "all", "view": "without_first", "minus": "untouched"}
    at_kl = {"view": "after_quarter", "minus": "scattered at equal KL"}
    interventions = table(
        "interventions",
        cosine | {"mean": 0.3},
        cosine | {"view": "all_tokens", "mean": -0.3, "verdict": "lower"},
        cosine | at_kl | {"verdict": "negligible"},
        *(cosine | other | {"mean": 8.0} for other in ({"strength": 0.3}, {"blocks": "1,2"})),
        cosine | at_kl | {"minus": "scattered", "mean": 8.0},
    )
    texts = {"variant": "front", "kind": "untouched", "blocks": "all", "minus": "front-inward", "layers": "all"}
    harm = {"metric": "kl", "view": "predictions", "layers": "output", "minus": "removed", "mean": 0.2}
    consequences = table("consequences", STEERED | harm, texts | {"metric": "probe_log_loss", "view": "pooled"})
    alike = {"metric": COSINE, "pattern": "first", "strength": 0.1, "layers": "all"}
    steered = {"metric": "kl", "kind": "steering", "pattern": "first", "strength": 0.1, "minus": "removed"}
    probed = {"metric": "probe_log_loss", "variant": "front", "minus": "front-inward", "layers": "all"}
    claims = [{"effect": alike}, {"effect": alike | at_kl}, {"harm": steered}, {"harm": probed}]
    claims = [claim | {"above": 0} for claim in claims]
    found = judged(claims, interventions=interventions, consequences=consequences)
    assert found.select("statistic", "view", "compared", "layers", "verdict", "estimate").rows() == [
        ("effect", "without_first", "first 0.1 − untouched", "all", "yes", 0.3),
        ("effect", "all_tokens", "first 0.1 − untouched", "all", "no", -0.3),
        ("effect", "after_quarter", "first 0.1 − scattered at equal KL", "all", "negligible", 0.1),
        ("harm", "predictions", "first 0.1 − removed", "output", "yes", 0.2),
        ("harm", "pooled", "front − front-inward", "all", "yes", 0.1),
    ]


CONTRAST = {"metric": RANK, "variant": "front", "minus": "original", "view": "raw", "layers": "all"}
SLOPE = {"metric": RANK, "statistic": "slope"}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"contrast": CONTRAST | {"variant": "end"}}, "no variant end here; it has front, words"),
        ({"contrast": CONTRAST | {"variant": "words"}}, "several of point here"),
        ({"depth": SLOPE | {"view": "pooled_centred"}}, "one pool of texts has no interval"),
        ({"depth": SLOPE | {"metric": COSINE, "view": "all_tokens"}}, "fewer than two reviews have a value"),
        ({"effect": {"metric": COSINE, "pattern": "first", "strength": 0.1}}, "the study changes no attention"),
    ],
)
def test_what_the_study_lacks_is_not_tested_and_says_what_there_is(entry, reason):
    raw = {"view": "raw", "layers": "all"}
    contrasts = table("contrasts", raw, raw | {"variant": "words"}, raw | {"variant": "words", "point": "elsewhere"})
    pools = {"variant": "original", "statistic": "slope", "n_reviews": 1, "ci_low": nan, "ci_high": nan}
    pooled = pools | {"view": "pooled_centred", "verdict": "undecided"}
    depth = table("depth", pooled, pools | {"metric": COSINE, "view": "all_tokens"})
    for row in judged([entry | {"above": 0}], contrasts=contrasts, depth=depth).iter_rows(named=True):
        assert row["verdict"] == "not tested"
        assert reason in row["reason"]
