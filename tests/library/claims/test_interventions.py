"""Claims about interventions: what they measure, what bars a review, and why one is not tested."""

import numpy as np
import polars as pl
import pytest

from dosed import COSINE, curves, intervened_rows, steering
from homogenization.claims.judgement import measure
from homogenization.claims.terms import UnavailableError
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED
from homogenization.statistics.doses import CONTROLS as PATTERNS_COMPARED
from homogenization.statistics.doses import Condition
from homogenization.statistics.interventions import effects_table
from homogenization.statistics.resampling import Resampling
from library.statistics.shared import CONFIDENCE, DRAWS, MARGIN, MIN_REVIEWS, SEED, claim_of, evidence_of, judged

N = 24
CONTROLS = ("first", *PATTERNS_COMPARED["steering"])
FIRST = {"pattern": "first", "strength": 0.2, "metric": COSINE}
TOWARDS = steering("first", 0.2)
RESAMPLING = Resampling(DRAWS, CONFIDENCE, SEED, MARGIN)


def evidence_with(conditions, kl=None, **rows):
    return evidence_of(interventions=effects_table(intervened_rows(conditions, kl, **rows), RESAMPLING, MIN_REVIEWS))


def claim_on(name="c", **keys):
    return claim_of(name, intervention=FIRST | keys, above=0)


@pytest.mark.parametrize(
    "compared",
    [{}, {"minus": "removed"}, {"minus": "uniform", "at": "kl"}],
    ids=lambda compared: compared.get("at", compared.get("minus", "untouched")),
)
def test_a_claim_has_the_numbers_of_the_table(compared):
    effects, damage = {"first": 0.2, "uniform": 0.1, "removed": -0.1}, {"first": 0.5, "uniform": 1.0, "removed": 0.1}
    evidence = evidence_with(*curves(effects, damage, N, 0.4), size=2.0)
    names = {"against": compared.get("minus", "untouched"), "at": compared.get("at", "strength")}
    row = evidence.interventions.filter(pattern="first", strength=0.2, **names).row(0, named=True)
    (found,) = judged([claim_on(**compared)], evidence).iter_rows(named=True)
    for column in ("estimate", "ci_low", "ci_high", "p_value", "p_max_t", "relative_effect", "n_reviews"):
        assert found[column] == pytest.approx(row[column]), column
    assert np.isfinite(found["yardstick"])


def test_verdicts_have_sign_and_size():
    conditions = {
        steering("first", 0.2): np.linspace(0.1, 0.3, N),
        steering("second", 0.2): np.linspace(-0.3, -0.1, N),
        steering("self", 0.2): np.linspace(0.0001, 0.0002, N),
    }
    table = judged([claim_on(name, pattern=name) for name in ("first", "second", "self")], evidence_with(conditions))
    assert table["verdict"].to_list() == [SUPPORTED, CONTRADICTED, NEGLIGIBLE]
    assert table["measured"][0] == "mean change by first 0.2 (steering, blocks: all) over all layers"


def test_reviews_whose_sink_moved_are_barred_and_this_is_said():
    values = {steering("first", 0.2): np.r_[9.0, np.full(N - 1, 0.1)], steering("removed", 0.2): np.zeros(N)}
    moved = {steering("first", 0.2): np.arange(N) < 1, steering("removed", 0.2): np.arange(N) > N - 3}
    evidence = evidence_with(values, moved=moved)
    alone, less = judged([claim_on("a"), claim_on("b", minus="removed")], evidence).iter_rows(named=True)
    assert (alone["estimate"], alone["n_reviews"]) == (pytest.approx(0.1), N - 1)
    assert alone["reason"] == f"1 of {N} reviews left out: another token took over the sink"
    assert (less["n_reviews"], less["reason"][:2]) == (N - 3, "3 ")


def test_at_equal_kl_reviews_count_that_both_sides_have_and_this_is_said():
    conditions, kl = curves({"first": 0.5, "uniform": 0.3}, {"first": 0.5, "uniform": 1.0}, N, 0.2)
    moved = {steering("uniform", 0.1): np.arange(N) < 3, steering("uniform", 0.4): np.arange(N) < 9}
    evidence = evidence_with(conditions, kl, moved=moved)
    found = measure(claim_on(minus="uniform", at="kl"), "m", evidence)
    assert (found["n_reviews"], found["reason"].split(":")[0]) == (N - 3, f"3 of {N} reviews left out")
    compared = {"pattern": "first", "strength": 0.2, "against": "uniform", "at": "kl"}
    row = evidence.interventions.filter(**compared).row(0, named=True)
    assert (row["n_reviews"], row["n_sink_moved"]) == (N - 3, 3)


@pytest.mark.parametrize(("n", "n_moved"), [(MIN_REVIEWS - 1, 0), (MIN_REVIEWS, 1), (MIN_REVIEWS, 0)])
@pytest.mark.parametrize("keys", [{}, {"minus": "uniform", "at": "kl"}], ids=["untouched", "kl"])
def test_too_few_reviews_are_not_tested(n, n_moved, keys):
    conditions, kl = curves({"first": 0.5, "uniform": 0.3}, {"first": 0.5, "uniform": 1.0}, n, 0.2)
    evidence = evidence_with(conditions, kl, moved={TOWARDS: np.arange(n) < n_moved})
    if n - n_moved >= MIN_REVIEWS:
        assert measure(claim_on(**keys), "m", evidence)["n_reviews"] == n
        return
    with pytest.raises(UnavailableError, match=f"{n - n_moved} reviews have a value; at least {MIN_REVIEWS} are"):
        measure(claim_on(**keys), "m", evidence)


def test_where_a_norm_follows_attention_removed_is_no_control_and_this_is_said():
    conditions, kl = curves({"first": 0.5, "removed": 0.3, "uniform": 0.1}, dict.fromkeys(CONTROLS, 0.5), N, 0.2)
    claims = [claim_on("a"), claim_on("b", minus="uniform"), claim_on("c", minus="removed")]
    claims += [claim_on("d", minus="removed", at="kl")]
    table = judged(claims, evidence_with(conditions, kl, branch_norm=True))
    assert table["verdict"].to_list() == [SUPPORTED, SUPPORTED, NOT_TESTED, NOT_TESTED]
    assert table["reason"][2:].str.starts_with("a norm follows attention in this model's blocks").all()
    assert table["estimate"][2:].is_nan().all()
    assert measure(claims[2], "m", evidence_with(conditions, kl))["n_reviews"] == N


def test_a_kind_without_strengths_needs_none():
    masked = Condition("masked", "massive", "all")
    claim = claim_on(kind="masked", pattern="massive", strength=None)
    assert measure(claim, "m", evidence_with({masked: np.full(N, -0.3)}))["estimate"] == pytest.approx(-0.3)


@pytest.fixture(scope="module")
def first_and_uniform():
    return evidence_with(*curves({"first": 0.5, "uniform": 0.2}, {"first": 4.1, "uniform": 1.0}, N))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"pattern": "frist"}, "no pattern frist of this intervention; it has first, uniform"),
        ({"strength": 0.3}, "no strength 0.3 of this intervention; it has 0.05, 0.1, 0.2, 0.4"),
        ({"blocks": "middle"}, "no blocks middle of this intervention; it has all"),
        ({"kind": "masked"}, "no kind masked of this intervention; it has steering"),
        ({"minus": "removed"}, "no pattern removed"),
        ({"minus": "removed", "at": "kl"}, "no pattern removed"),
        ({"variant": "front"}, "on the variant 'front'"),
        ({"metric": "participation_ratio"}, "no participation_ratio"),
        ({"view": "centred"}, "no view 'centred' of cosine_anisotropy"),
        ({"layers": "input"}, "over the layers 'input'"),
        ({"minus": "uniform", "at": "kl", "strength": 0.4}, "KL of 'uniform' reaches 0.16 nats, that of 'first' is"),
    ],
)
def test_what_the_study_lacks_is_not_tested(first_and_uniform, keys, said):
    (row,) = judged([claim_on(**keys)], first_and_uniform).iter_rows(named=True)
    assert (row["verdict"], said in row["reason"]) == (NOT_TESTED, True), row["reason"]


@pytest.mark.parametrize(
    ("evidence", "claim", "said"),
    [
        (evidence_of(), claim_on(), "the study changes no attention"),
        (evidence_with(*curves({"first": 0.1}, {"first": 1.0})), claim_on(), "not change this model's attention"),
        (
            evidence_with({steering(name, 0.2): np.ones(N) for name in ("first", "uniform")}, model="x"),
            claim_on(minus="uniform", at="kl"),
            "predicts no next token",
        ),
        (
            evidence_with(
                {steering("first", 0.2): np.ones(N)}, moved={steering("first", 0.2): np.ones(N, bool)}, model="x"
            ),
            claim_on(),
            f"another token took over the sink in {N} reviews",
        ),
    ],
)
def test_why_a_model_is_not_tested(evidence, claim, said):
    with pytest.raises(UnavailableError, match=said):
        measure(claim, "x", evidence)


def test_a_claim_takes_its_own_model_and_cell():
    conditions = {steering("first", 0.2): np.full(N, 0.3)}
    others = [
        intervened_rows({steering("first", 0.2): np.full(N, 9.0)}, **other)
        for other in ({"model": "x"}, {"view": "centred"}, {"layers": "output"}, {"metric": "participation_ratio"})
    ]
    table = effects_table(pl.concat([*others, intervened_rows(conditions)]), RESAMPLING, MIN_REVIEWS)
    assert measure(claim_on(), "m", evidence_of(interventions=table))["estimate"] == pytest.approx(0.3)


def test_a_control_that_bears_a_variants_name_is_a_pattern():
    """`scattered` is a variant too; of it, no review needs to be accepted."""
    conditions = {steering(name, 0.2): np.full(N, value) for name, value in (("first", 0.3), ("scattered", 0.1))}
    table = effects_table(intervened_rows(conditions), RESAMPLING, MIN_REVIEWS)
    evidence = evidence_of(interventions=table, variants=["original", "scattered"])
    found = measure(claim_on(minus="scattered"), "m", evidence)
    assert (found["estimate"], found["reason"]) == (pytest.approx(0.2), None)
