"""What the metrics answer to: the table of values, and the responses."""

import warnings
from functools import cache

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.statistics.causes import CAUSES, RESPONSE_SCHEMA
from homogenization.statistics.sensitivity import SENSITIVITY_SCHEMA, response_table, sensitivity_table
from library.statistics.shared import mean_cosine, run_tabulate

N, WIDTH = 128, 256
SEEDS = 8
NAMES = list(CAUSES)


@cache
def values():
    return sensitivity_table(N, WIDTH, SEEDS)


@cache
def responses():
    return response_table(values())


def response(metric, view, cause):
    return responses().row(by_predicate=(pl.col("metric") == metric) & (pl.col("view") == view), named=True)[cause]


def test_a_collapse_of_full_strength_is_nearly_the_end_of_the_scale():
    effective_rank = values().filter(metric="effective_rank", view="raw", cause="collapse").sort("strength", "seed")
    means = effective_rank["value"].to_numpy().reshape(-1, SEEDS).mean(axis=1)
    assert (np.diff(means) < 0).all()
    assert (means[-1] - 1) / (means[0] - 1) < 0.02


# the table of values


def test_the_table_holds_every_metric_view_cause_strength_and_seed_once():
    table = values()
    assert dict(table.schema) == SENSITIVITY_SCHEMA
    keys = table.select("cause", "strength", "seed", "view", "metric")
    assert not keys.is_duplicated().any()
    rows = len(SPECTRAL_METRICS) * len(VIEWS) + sum(len(metric.views) for metric in GEOMETRY_METRICS.values())
    matrices = SEEDS * sum(len(cause.strengths) for cause in CAUSES.values())
    assert table.height == rows * matrices
    assert table["seed"].unique().sort().to_list() == list(range(SEEDS))
    assert set(table.filter(pl.col("cause") != "matrix_shape")["n_tokens"]) == {N}
    assert table.filter(cause="matrix_shape", strength=2.0)["n_tokens"].unique().to_list() == [2 * WIDTH]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("cause", NAMES)
def test_values_are_those_of_a_singular_value_decomposition(cause, view):
    strength, seed = CAUSES[cause].strengths[1], 3
    baseline = np.random.default_rng([seed, 0]).standard_normal((N, WIDTH))
    tokens = CAUSES[cause].distort(baseline, strength, np.random.default_rng([seed, 1]))
    squares = np.linalg.svd(view_rows(view, tokens), compute_uv=False) ** 2
    shares = squares[squares > 1e-12 * squares[0]] / squares.sum()
    found = values().filter(cause=cause, strength=strength, seed=seed, view=view)
    found = dict(found.select("metric", "value").iter_rows())
    assert found["max_explainable_variance"] == pytest.approx(shares[0], rel=1e-9)
    assert found["participation_ratio"] == pytest.approx(1 / (shares**2).sum(), rel=1e-9)
    assert found["matrix_entropy"] == pytest.approx(-(shares * np.log(shares)).sum(), rel=1e-7)
    if view == "raw":
        geometry = values().filter(cause=cause, strength=strength, seed=seed, view="all_tokens")
        geometry = dict(geometry.select("metric", "value").iter_rows())
        assert geometry["cosine_anisotropy"] == pytest.approx(mean_cosine(tokens), abs=1e-12)
        assert geometry["first_token_norm"] == pytest.approx(np.linalg.norm(tokens[0]))


def test_a_seed_gives_the_same_matrices_whatever_the_others_and_starts_all_causes_alike():
    few, later = sensitivity_table(32, 40, seeds=3), sensitivity_table(32, 40, seeds=2, seed=1)
    order = ["cause", "strength", "seed", "view", "metric"]
    assert_frame_equal(few.filter(pl.col("seed") > 0).sort(order), later.sort(order), check_exact=True)
    at_rest = few.filter(pl.col("strength") == 0)
    spread = at_rest.group_by("seed", "view", "metric").agg(
        pl.col("value").std().alias("std"), pl.col("value").abs().max().alias("size")
    )
    assert (spread["std"] <= 1e-9 * spread["size"] + 1e-12).all()
    assert few.filter(metric="effective_rank", view="raw", cause="cone", strength=0.0)["value"].n_unique() == 3


@pytest.mark.parametrize(("n", "width"), [(16, 16), (17, 33), (60, 16)])
def test_small_and_odd_shapes_give_every_response_without_a_warning(n, width):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = response_table(sensitivity_table(n, width, seeds=2))
    assert dict(table.schema) == RESPONSE_SCHEMA
    assert table.filter(metric="cosine_anisotropy", view="all_tokens")["collapse"].to_list() == [1.0]
    assert table.filter(metric="effective_rank", view="raw")["antipodal_pairs"][0] == pytest.approx(1, abs=0.05)


# responses, of made-up values


def made_up(default, **by_cause):
    """A table in which every metric has the values (strengths, seeds) of `by_cause`, or `default` at all strengths."""
    rows = [(metric, view) for metric in SPECTRAL_METRICS for view in VIEWS]
    rows += [(metric.name, view) for metric in GEOMETRY_METRICS.values() for view in metric.views]
    columns = {name: [] for name in SENSITIVITY_SCHEMA}
    for metric, view in rows:
        for name, cause in CAUSES.items():
            of_cause = by_cause.get(name, [default] * len(cause.strengths))
            for strength, of_seeds in zip(cause.strengths, of_cause, strict=True):
                for seed, value in enumerate(of_seeds):
                    row = (name, strength, N, WIDTH, seed, view, metric, value)
                    for column, entry in zip(columns.values(), row, strict=True):
                        column.append(entry)
    return pl.DataFrame(columns, schema=SENSITIVITY_SCHEMA)


BASE = [9.0, 10.0, 11.0]
COLLAPSED = [BASE, BASE, BASE, BASE, [1.0, 2.0, 3.0]]  # moves by -8, the standard deviation is 1
NAN = [np.nan] * 3


def first_row(table):
    return response_table(table).row(0, named=True)


def test_responses_of_known_moves():
    row = first_row(
        made_up(
            BASE,
            collapse=COLLAPSED,
            compression=[BASE, BASE, BASE, BASE, [5.0, 6.0, 7.0]],
            cone=[BASE, [0.0] * 3, BASE, BASE, [12.0, 12.0, 12.0]],
            massive_first_token=[BASE, BASE, BASE, BASE, [8.0, 9.0, 9.0]],
            matrix_shape=[[12.0] * 3, BASE, BASE, [7.0] * 3, [11.0] * 3],
        )
    )
    assert row["collapse"] == 1
    assert row["compression"] == 0.5
    assert row["cone"] == -0.25  # its full strength counts, not its largest effect
    assert row["massive_first_token"] == pytest.approx(1 / 6)
    assert row["antipodal_pairs"] == 0
    assert row["matrix_shape"] == pytest.approx(5 / 8)
    assert row["answers_to"] == "collapse, compression, cone, matrix_shape"
    assert row["confuses"] == "compression, matrix_shape"


def test_the_range_over_shapes_is_never_negative():
    shapes = [[value] * 3 for value in (1.0, 2.0, 3.0, 4.0, 5.0)]
    rising = [BASE, BASE, BASE, BASE, [17.0, 18.0, 19.0]]
    for collapsed in (COLLAPSED, rising):
        assert first_row(made_up(BASE, collapse=collapsed, matrix_shape=shapes))["matrix_shape"] == 0.5


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
    row = first_row(made_up(start, collapse=[start] * 4 + [end], cone=[start] * 4 + [[99.0] * 3]))
    assert np.isfinite([row[name] for name in NAMES]).all() == answers
    assert np.isnan([row[name] for name in NAMES]).all() != answers
    if not answers:
        assert row["answers_to"] == "cone"
        assert row["confuses"] == ""


def test_strengths_at_which_a_metric_is_undefined_are_passed_over():
    undefined_for_one_seed = [np.nan, 0.0, 0.0]
    row = first_row(
        made_up(
            BASE,
            collapse=[*COLLAPSED[:3], COLLAPSED[4], undefined_for_one_seed],
            compression=[BASE, BASE, BASE, [13.0, 14.0, 15.0], NAN],
            cone=[NAN, BASE, BASE, BASE, BASE],
            antipodal_pairs=[BASE, NAN, NAN, NAN, NAN],
            matrix_shape=[NAN, BASE, NAN, [6.0] * 3, NAN],
        )
    )
    assert row["collapse"] == 1
    assert row["compression"] == -0.5
    assert np.isnan(row["cone"])
    assert np.isnan(row["antipodal_pairs"])
    assert row["matrix_shape"] == 0.5
    assert "cone" not in row["answers_to"]


def test_responses_do_not_depend_on_the_order_of_the_rows():
    assert_frame_equal(response_table(values().sample(fraction=1, shuffle=True, seed=3)), responses(), check_exact=True)


def test_the_table_of_responses_has_a_row_for_each_metric_and_view_in_the_order_of_the_registries():
    assert dict(responses().schema) == RESPONSE_SCHEMA
    expected = [(metric, view) for metric in SPECTRAL_METRICS for view in VIEWS]
    expected += [(name, view) for name, metric in GEOMETRY_METRICS.items() for view in metric.views]
    assert responses().select("metric", "view").rows() == expected
    ratios = responses().select("collapse").to_series()
    assert set(ratios.drop_nans()) == {1.0}


# what is known of the metrics


@pytest.mark.parametrize(
    ("metric", "view", "confused"),
    [
        # a mean cosine knows directions alone, and no offset from a collapse
        ("cosine_anisotropy", "all_tokens", "cone"),
        ("resultant_length", "without_first", "cone"),
        # an effective rank sees all dimensions, the first share of variance the first direction alone
        ("effective_rank", "unit", "compression, antipodal_pairs, matrix_shape"),
        ("normalized_effective_rank", "unit", "compression, antipodal_pairs"),
        ("max_explainable_variance", "unit", "antipodal_pairs, cone"),
        # one token decides, and leaving out the first does not help against another
        ("max_explainable_variance", "raw", "antipodal_pairs, cone, massive_first_token, massive_later_token"),
        ("max_explainable_variance", "raw_without_first", "antipodal_pairs, cone, massive_later_token"),
    ],
)
def test_known_confusions(metric, view, confused):
    assert response(metric, view, "confuses") == confused


@pytest.mark.parametrize("metric", SPECTRAL_METRICS)
def test_views_that_are_blind_to_a_cause(metric):
    for cause in ("massive_first_token", "massive_later_token"):
        of_unit = response(metric, "unit", cause)
        assert np.isnan(of_unit) or of_unit == pytest.approx(0, abs=1e-6)
    without_first = response(metric, "raw_without_first", "massive_first_token")
    assert without_first == pytest.approx(0, abs=1e-6)
    # centred tokens keep their form while they shrink to their mean: norms alone can tell
    scales = metric.startswith("schatten") and not metric.endswith("ratio")
    assert np.isnan(response(metric, "centred", "collapse")) != scales


def means_of(metric, cause):
    """(strengths,) mean over seeds of a metric in the first of its views; of spectral ones, that of unit rows."""
    view = metric.views[0] if metric.views else "unit"
    of_metric = values().filter(metric=metric.name, view=view, cause=cause).sort("strength", "seed")
    return of_metric["value"].to_numpy().reshape(-1, SEEDS).mean(axis=1)


METRICS = [*SPECTRAL_METRICS.values(), *GEOMETRY_METRICS.values()]


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.homogenization], ids=lambda m: m.name)
def test_a_collapse_moves_a_metric_the_way_that_its_registration_says(metric):
    means = means_of(metric, "collapse")
    assert np.sign(means[-1] - means[0]) == metric.homogenization


# a power law does not fit noise: what alpha_req makes of its size means little
@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.name != "alpha_req"], ids=lambda m: m.name)
def test_what_grows_with_the_number_of_tokens_is_registered_as_extensive(metric):
    assert CAUSES["matrix_shape"].strengths[:3] == (0.125, 0.25, 0.5)
    few, more, many = means_of(metric, "matrix_shape")[:3]
    assert bool(many > 1.05 * more > 1.05**2 * few) == metric.extensive


def test_the_script_writes_both_tables_and_the_same_bytes_again(tmp_path):
    shape = {"n_tokens": 16, "width": 24, "seeds": 2}
    contents = []
    for run in ("first", "second"):
        (tmp_path / run).mkdir()
        paths = [tmp_path / run / name for name in ("sensitivity.parquet", "sensitivity.csv")]
        run_tabulate(tmp_path, "statistics.sensitivity", {}, paths, **shape, seed=5)
        assert sorted((tmp_path / run).iterdir()) == sorted(paths)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert_frame_equal(pl.read_parquet(paths[0]), sensitivity_table(**shape, seed=5))
    read = pl.read_csv(paths[1], schema_overrides=RESPONSE_SCHEMA, empty_string_is_null=False)
    assert_frame_equal(read, response_table(sensitivity_table(**shape, seed=5)), check_exact=True)


UNRANGED = [name for name, cause in CAUSES.items() if not cause.ranged]


def gaussian(n=N, seed=0):
    return np.random.default_rng(seed).standard_normal((n, WIDTH))


def made(cause, strength=1.0, n=N, seed=0):
    return CAUSES[cause].distort(gaussian(n, seed), strength, np.random.default_rng(seed + 100))


@pytest.mark.parametrize("cause", UNRANGED)
def test_without_strength_the_tokens_stay_as_they_are_and_the_given_ones_always_do(cause):
    tokens = gaussian()
    np.testing.assert_allclose(CAUSES[cause].distort(tokens, 0.0, np.random.default_rng(1)), tokens, atol=1e-13)
    CAUSES[cause].distort(tokens, 1.0, np.random.default_rng(1))
    np.testing.assert_array_equal(tokens, gaussian())


def test_a_collapse_shrinks_all_distances_alike_and_keeps_the_mean():
    tokens, collapsed = gaussian(), made("collapse")
    np.testing.assert_allclose(collapsed.mean(axis=0), tokens.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(collapsed[1:] - collapsed[:-1], 1e-3 * (tokens[1:] - tokens[:-1]), atol=1e-13)
    assert mean_cosine(collapsed) > 0.999
    # half the strength twice: equal steps are equal rounds of averaging
    step = CAUSES["collapse"].distort(made("collapse", 0.5), 0.5, np.random.default_rng(0))
    np.testing.assert_allclose(step, collapsed, atol=1e-13)


def test_compression_leaves_few_dimensions_and_no_common_direction():
    tokens, compressed = gaussian(), made("compression")
    assert np.linalg.matrix_rank(compressed) == N / 16
    assert np.linalg.norm(compressed) == pytest.approx(np.linalg.norm(tokens))
    assert abs(mean_cosine(compressed)) < 0.02
    spectrum = np.linalg.svd(compressed, compute_uv=False)[:8]
    assert spectrum[0] < 2 * spectrum[-1]  # within the subspace, no direction rules


@pytest.mark.parametrize("n", [N, N + 1])
def test_antipodal_pairs_have_rank_one_and_no_mean_direction(n):
    pairs = made("antipodal_pairs", n=n)
    assert np.linalg.matrix_rank(pairs) == 1
    cosines = pairs[1:] @ pairs[0] / WIDTH
    np.testing.assert_allclose(cosines, np.where(np.arange(1, n) % 2, -1, 1))
    resultant = (n % 2) / n
    assert mean_cosine(pairs) == pytest.approx((n * resultant**2 - 1) / (n - 1))


def test_a_cone_keeps_differences_and_has_a_mean_cosine():
    tokens, cone = gaussian(), made("cone")
    np.testing.assert_allclose(cone[1:] - cone[:-1], tokens[1:] - tokens[:-1], atol=1e-12)
    assert mean_cosine(cone) == pytest.approx(1.5**2 / (1 + 1.5**2), abs=0.02)


@pytest.mark.parametrize(("cause", "place"), [("massive_first_token", 0), ("massive_later_token", N // 2)])
def test_one_token_alone_grows_massive(cause, place):
    tokens, massive = gaussian(), made(cause)
    factors = np.ones(N)
    factors[place] = 100
    np.testing.assert_allclose(massive, factors[:, None] * tokens)


@pytest.mark.parametrize("ratio", CAUSES["matrix_shape"].strengths)
def test_the_shape_of_noise_is_its_strength(ratio):
    noise = made("matrix_shape", ratio)
    assert noise.shape == (ratio * WIDTH, WIDTH)
    assert noise.std() == pytest.approx(1, abs=0.03)
