"""Effects against controls: closed forms, invariants, and simulations with known effects and without any."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dosed import STRENGTHS, curves, intervened_rows, steering
from homogenization.statistics.doses import (
    Curve,
    change,
    curve_of,
    less_at_equal_kl,
    less_by_review,
    runs_of,
)
from homogenization.statistics.resampling import (
    bootstrap_weights,
    flip_p,
    mean_interval,
    sign_flips,
    uniform_weights,
)

CONFIDENCE = 0.95


def at_equal_kl(runs, condition, control, weights=None):
    """The comparison with `control` of the mean of reviews, at the condition's KL."""
    curve = curve_of(runs, condition, control)
    n = len(runs.review_ids)
    return less_at_equal_kl(
        change(runs, condition), runs.kl[condition], curve, uniform_weights(n) if weights is None else weights
    )[:, 0]


def curve_from(conditions, kl, pattern):
    """The curve of a pattern, as `curve_of` makes it from a table."""
    points = [steering(pattern, strength) for strength in STRENGTHS]
    n = len(kl[points[0]])
    changes = [np.zeros((n, 1)), *(conditions[point][:, None] for point in points)]
    return Curve(np.stack(changes), np.stack([np.zeros(n), *(kl[point] for point in points)]))


def test_at_equal_kl_the_control_is_as_far_along_its_own_curve():
    """With a KL of d λ², the control does as much damage as λ of the pattern does at λ √(d_pattern / d_control)."""
    effects, damage = {"first": 0.7, "uniform": 0.3}, {"first": 0.4, "uniform": 1.6}
    runs = runs_of(intervened_rows(*curves(effects, damage)))
    for strength in STRENGTHS:
        expected = 0.7 * strength - 0.3 * strength * np.sqrt(0.4 / 1.6)
        assert at_equal_kl(runs, steering("first", strength), "uniform")[0] == pytest.approx(expected, abs=1e-12)


def test_a_control_that_never_does_as_much_damage_says_nothing():
    effects = {"first": 0.7, "uniform": 0.3}
    runs = runs_of(intervened_rows(*curves(effects, {"first": 4.1, "uniform": 1.0})))
    reached = [np.isfinite(at_equal_kl(runs, steering("first", strength), "uniform")[0]) for strength in STRENGTHS]
    assert reached == [True, True, False, False]
    strong = steering("first", 0.4)
    assert np.isnan(less_by_review(change(runs, strong), runs.kl[strong], curve_of(runs, strong, "uniform"))).all()


def test_a_kl_that_falls_with_the_strength_is_made_monotone():
    """The second strength does less damage than the first: the curve stays where it was, and the third takes over."""
    conditions = {steering("uniform", s): np.full(4, v) for s, v in ((0.1, 1.0), (0.2, 5.0), (0.4, 3.0))}
    kl = {steering("uniform", s): np.full(4, v) for s, v in ((0.1, 0.04), (0.2, 0.01), (0.4, 0.16))}
    pattern = steering("first", 0.1)
    for own, expected in ((0.01, 0.5), (0.04, 1.0), (0.09, 4.0), (0.16, 3.0)):
        rows = intervened_rows(conditions | {pattern: np.full(4, 9.0)}, kl | {pattern: np.full(4, own)})
        assert at_equal_kl(runs_of(rows), pattern, "uniform")[0] == pytest.approx(9.0 - expected)


def test_a_review_whose_sink_moved_has_no_value():
    moved = np.array([True, False, False, False])
    values = {
        steering("first", 0.1): np.array([100.0, 1.0, 2.0, 3.0]),
        steering("first", 0.2): np.array([1.0, 2.0, np.nan, 4]),
    }
    runs = runs_of(intervened_rows(values, moved={steering("first", 0.1): moved}))
    np.testing.assert_array_equal(change(runs, steering("first", 0.1))[:, 0], [np.nan, 1, 2, 3])
    np.testing.assert_array_equal(change(runs, steering("first", 0.2))[:, 0], [1, 2, np.nan, 4])
    np.testing.assert_array_equal(runs.moved[steering("first", 0.1)], moved)


@given(
    seed=st.integers(0, 10_000),
    scale=st.floats(0.01, 100),
    dose=st.floats(0.01, 100),
    ratio=st.floats(0.1, 0.9),
)
@settings(max_examples=50, deadline=None)
def test_what_does_not_depend_on_units_or_on_the_order_of_reviews(seed, scale, dose, ratio):
    conditions, kl = curves({"first": 0.5, "uniform": -0.2}, {"first": ratio, "uniform": 1.0}, 12, 0.3, seed)
    weights = bootstrap_weights(12, 5, seed)
    order = np.random.default_rng(seed).permutation(12)

    def less(control="uniform", value=1.0, divergence=1.0, order=slice(None)):
        changes = {one: value * values[order] for one, values in conditions.items()}
        doses = {one: divergence * values[order] for one, values in kl.items()}
        own = steering("first", 0.2)
        curve = curve_from(changes, doses, control)
        return less_at_equal_kl(changes[own][:, None], doses[own], curve, weights[:, order])

    np.testing.assert_allclose(less(value=scale, divergence=dose), scale * less(), rtol=1e-9)
    np.testing.assert_allclose(less(order=order), less(), rtol=1e-9)
    # a pattern is at its own KL what it is
    np.testing.assert_allclose(less("first"), 0, atol=1e-12)


def test_pseudo_values_of_a_mean_are_its_values():
    """Where the control does nothing, what is compared is a mean over reviews."""
    conditions, kl = curves({"first": 0.5, "uniform": 0.0}, {"first": 0.5, "uniform": 1.0}, 15, 0.2)
    conditions |= {steering("uniform", strength): np.zeros(15) for strength in STRENGTHS}
    runs = runs_of(intervened_rows(conditions, kl))
    own, condition = change(runs, steering("first", 0.2)), steering("first", 0.2)
    curve = curve_of(runs, condition, "uniform")
    np.testing.assert_allclose(less_by_review(own, runs.kl[condition], curve), own, atol=1e-12)


def test_at_equal_kl_both_sides_are_means_of_the_same_reviews():
    """The control does what the pattern does; in some reviews, the sink of one of them moved."""
    size = np.array([1.0] * 6 + [9.0] * 2)
    doses = {strength: strength * np.ones(8) for strength in (0.1, 0.2, 0.4)}
    conditions = {
        steering(name, strength): size * dose for name in ("first", "uniform") for strength, dose in doses.items()
    }
    kl = {one: doses[one.strength] ** 2 for one in conditions}
    late = np.arange(8) == 7
    for moved, n in (
        ({steering("uniform", 0.2): late}, 7),
        ({steering("first", 0.2): late}, 7),
        ({steering("uniform", 0.4): late}, 8),  # a strength that the comparison does not need
    ):
        runs = runs_of(intervened_rows(conditions, kl, moved))
        own = steering("first", 0.2)
        found = less_by_review(change(runs, own), runs.kl[own], curve_of(runs, own, "uniform"))
        assert np.nanmean(found) == pytest.approx(0, abs=1e-12)
        assert np.isfinite(found).sum() == n


def test_the_mean_of_pseudo_values_is_the_comparison():
    conditions, kl = curves({"first": 0.5, "uniform": -0.2}, {"first": 0.5, "uniform": 1.0}, 12, 0.3, 1)
    runs, own = runs_of(intervened_rows(conditions, kl)), steering("first", 0.2)
    found = less_by_review(change(runs, own), runs.kl[own], curve_of(runs, own, "uniform"))
    assert found.mean() == pytest.approx(at_equal_kl(runs, own, "uniform")[0], rel=1e-12)


@pytest.mark.parametrize("effect", [0.0, 0.25])
def test_intervals_at_equal_kl_cover_the_truth_and_its_test_has_its_level(effect):
    """Samples of 40 reviews; effects and doses of both vary, and the control's is equal at half of the strength."""
    n, n_samples, truth = 40, 400, effect * 0.2
    flips = sign_flips(n, 400, 1)
    covered, found = 0, 0
    for seed in range(n_samples):
        effects, damage = {"first": 0.3 + effect, "uniform": 0.6}, {"first": 0.5, "uniform": 2.0}
        conditions, kl = curves(effects, damage, n, 0.3, seed)
        own = steering("first", 0.2)
        pseudo = less_by_review(conditions[own][:, None], kl[own], curve_from(conditions, kl, "uniform"))
        low, high = mean_interval(pseudo, CONFIDENCE)
        covered += low[0] <= truth <= high[0]
        found += flip_p(pseudo, flips)[0][0] < 0.05
    assert 0.92 <= covered / n_samples <= 0.98
    assert found / n_samples <= 0.08 if effect == 0 else found / n_samples >= 0.9
