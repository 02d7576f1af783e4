"""What the metrics answer to: the matrices, the responses, and what is known of the metrics."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.statistics.sensitivity import CAUSES, SENSITIVITY_SCHEMA, metric_values, responses, tabulate
from library.statistics.shared import mean_cosine, run_tabulate

N, WIDTH, SEEDS = 128, 256, 8
METRICS = [*SPECTRAL_METRICS.values(), *GEOMETRY_METRICS.values()]


@cache
def values():
    return metric_values(N, WIDTH, range(SEEDS))


@cache
def table():
    return tabulate(N, WIDTH, SEEDS, 0)


def response(metric, view, cause):
    return table().row(by_predicate=(pl.col("metric") == metric) & (pl.col("view") == view), named=True)[cause]


def test_a_row_for_each_metric_and_view():
    assert dict(table().schema) == SENSITIVITY_SCHEMA
    expected = [(metric, view) for metric in SPECTRAL_METRICS for view in VIEWS]
    expected += [(name, view) for name, metric in GEOMETRY_METRICS.items() for view in metric.views]
    assert table().select("metric", "view").rows() == sorted(expected)
    assert set(table()["collapse"].drop_nans()) == {1.0}


@pytest.mark.parametrize("cause", CAUSES)
def test_values_are_those_of_a_singular_value_decomposition(cause):
    distort, strengths = CAUSES[cause]
    tokens = distort(
        np.random.default_rng([3, 0]).standard_normal((N, WIDTH)), strengths[1], np.random.default_rng([3, 1])
    )
    of_matrix = values().filter(cause=cause, strength=strengths[1], seed=3)
    for view in VIEWS:
        squares = np.linalg.svd(view_rows(view, tokens), compute_uv=False) ** 2
        found = dict(of_matrix.filter(view=view).select("metric", "value").iter_rows())
        assert found["max_explainable_variance"] == pytest.approx(squares[0] / squares.sum(), rel=1e-9)
    geometry = dict(of_matrix.filter(view="all_tokens").select("metric", "value").iter_rows())
    assert geometry["cosine_anisotropy"] == pytest.approx(mean_cosine(tokens), abs=1e-12)


BASE = [9.0, 10.0, 11.0]
COLLAPSED = [BASE, BASE, BASE, BASE, [1.0, 2.0, 3.0]]  # moves by -8, the standard deviation is 1
NAN = [np.nan] * 3


def row_of(**by_cause):
    """The responses to the values (strengths, seeds) of `by_cause`; under other causes nothing moves."""
    return responses({name: np.array(by_cause.get(name, [BASE] * 5)) for name in CAUSES})


def test_responses_of_known_moves():
    row = row_of(
        collapse=COLLAPSED,
        compression=[BASE, BASE, BASE, BASE, [5.0, 6.0, 7.0]],
        cone=[BASE, [0.0] * 3, BASE, BASE, [12.0, 12.0, 12.0]],
        massive_first_token=[BASE, BASE, BASE, BASE, [8.0, 9.0, 9.0]],
        matrix_shape=[[12.0] * 3, BASE, BASE, [7.0] * 3, [11.0] * 3],
    )
    # of a cone, its full strength counts, not its largest effect; a range is never negative
    known = {"collapse": 1, "compression": 0.5, "cone": -0.25, "massive_first_token": 1 / 6, "matrix_shape": 5 / 8}
    assert {name: row[name] for name in known} == pytest.approx(known)
    assert row["antipodal_pairs"] == 0
    assert row["answers_to"] == "collapse, compression, cone, matrix_shape"
    assert row["confuses"] == "compression, matrix_shape"


@pytest.mark.parametrize(
    ("start", "end", "answers"),
    [
        (BASE, [7.1, 8.1, 9.1], False),
        (BASE, [6.9, 7.9, 8.9], True),
        ([10.0] * 3, [0.0, 10.0, 2.0], False),  # the spread at full strength counts too
        ([10.0] * 3, [10.0 + 1e-12] * 3, False),  # rounding is no move
    ],
)
def test_a_collapse_that_moves_a_metric_no_more_than_seeds_do_gives_no_response(start, end, answers):
    row = row_of(collapse=[start] * 4 + [end], cone=[start] * 4 + [[99.0] * 3])
    assert np.isfinite([row[name] for name in CAUSES]).all() == answers
    assert answers or (row["answers_to"], row["confuses"]) == ("cone", "")


def test_strengths_at_which_a_metric_is_undefined_are_passed_over():
    row = row_of(
        collapse=[*COLLAPSED[:3], COLLAPSED[4], [np.nan, 0.0, 0.0]],
        compression=[BASE, BASE, BASE, [13.0, 14.0, 15.0], NAN],
        cone=[NAN, BASE, BASE, BASE, BASE],
        antipodal_pairs=[BASE, NAN, NAN, NAN, NAN],
        matrix_shape=[NAN, BASE, NAN, [6.0] * 3, NAN],
    )
    assert (row["collapse"], row["compression"], row["matrix_shape"]) == (1, -0.5, 0.5)
    assert np.isnan([row["cone"], row["antipodal_pairs"]]).all()
    assert "cone" not in row["answers_to"]


@pytest.mark.parametrize(
    ("metric", "view", "confused"),
    [
        # a mean cosine knows directions alone, and no offset from a collapse
        ("cosine_anisotropy", "all_tokens", "cone"),
        # an effective rank sees all dimensions, the first share of variance the first direction alone
        ("normalized_effective_rank", "unit", "compression, antipodal_pairs"),
        ("max_explainable_variance", "unit", "antipodal_pairs, cone"),
        # one token decides, and leaving out the first does not help against another
        ("max_explainable_variance", "raw", "antipodal_pairs, cone, massive_first_token, massive_later_token"),
        ("max_explainable_variance", "raw_without_first", "antipodal_pairs, cone, massive_later_token"),
    ],
)
def test_known_confusions(metric, view, confused):
    assert response(metric, view, "confuses") == confused


def means_of(metric, cause):
    """(strengths,) mean over seeds of a metric in the first of its views; of spectral ones, that of unit rows."""
    view = metric.views[0] if metric.views else "unit"
    of_metric = values().filter(metric=metric.name, view=view, cause=cause).sort("strength", "seed")
    return of_metric["value"].to_numpy().reshape(-1, SEEDS).mean(axis=1)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_metric_moves_as_its_registration_says(metric):
    if metric.homogenization:
        means = means_of(metric, "collapse")
        assert np.sign(means[-1] - means[0]) == metric.homogenization
    few, more, many = means_of(metric, "matrix_shape")[:3]
    assert bool(many > 1.05 * more > 1.05**2 * few) == metric.extensive


def test_the_script_writes_the_table(tmp_path):
    shape = {"n_tokens": 16, "width": 24, "seeds": 2, "seed": 5}
    path = tmp_path / "sensitivity.csv"
    run_tabulate(tmp_path, "statistics.sensitivity", {}, [path], **shape)
    read = pl.read_csv(path, schema_overrides=SENSITIVITY_SCHEMA, empty_string_is_null=False)
    assert_frame_equal(read, tabulate(**shape), check_exact=True)


def gaussian():
    return np.random.default_rng(0).standard_normal((N, WIDTH))


def made(cause, strength=1.0):
    return CAUSES[cause][0](gaussian(), strength, np.random.default_rng(100))


@pytest.mark.parametrize("cause", [name for name in CAUSES if name != "matrix_shape"])
def test_without_strength_the_tokens_stay_as_they_are(cause):
    np.testing.assert_allclose(made(cause, 0.0), gaussian(), atol=1e-13)


def test_each_cause_does_what_it_says():
    tokens = gaussian()
    np.testing.assert_allclose(np.diff(made("collapse"), axis=0), 1e-3 * np.diff(tokens, axis=0), atol=1e-13)
    np.testing.assert_allclose(made("collapse").mean(axis=0), tokens.mean(axis=0), atol=1e-13)
    compressed = made("compression")
    assert np.linalg.matrix_rank(compressed) == N / 16
    assert np.linalg.norm(compressed) == pytest.approx(np.linalg.norm(tokens))
    assert abs(mean_cosine(compressed)) < 0.02
    assert np.linalg.matrix_rank(made("antipodal_pairs")) == 1
    assert mean_cosine(made("antipodal_pairs")) == pytest.approx(-1 / (N - 1))
    np.testing.assert_allclose(np.diff(made("cone"), axis=0), np.diff(tokens, axis=0), atol=1e-12)
    assert mean_cosine(made("cone")) == pytest.approx(1.5**2 / (1 + 1.5**2), abs=0.02)
    for cause, place in (("massive_first_token", 0), ("massive_later_token", N // 2)):
        factors = np.where(np.arange(N) == place, 100, 1)
        np.testing.assert_allclose(made(cause), factors[:, None] * tokens)
    assert made("matrix_shape", 0.5).shape == (WIDTH / 2, WIDTH)
