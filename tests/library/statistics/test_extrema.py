"""Peaks and troughs over depth: planted ones are found, monotone curves have none."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.statistics.extrema import EXTREMA_SCHEMA, extrema_of, tabulate
from homogenization.statistics.resampling import mean_interval
from library.statistics.shared import metric_rows
from measured import wide_of

MEV, COSINE = "max_explainable_variance", "cosine_anisotropy"
LAYERS, N = 25, 40
DEPTH = np.linspace(0, 1, LAYERS)
PEAK, TROUGH = 8, 17  # layers
# up to a peak, down to a trough, up again
PLANTED = np.interp(np.arange(LAYERS), [0, PEAK, TROUGH, LAYERS - 1], [0.0, 1.0, 0.4, 0.8])


def noise(seed, scale=0.1, n=N):
    return scale * np.random.default_rng(seed).standard_normal((n, LAYERS))


def table_of(*tables):
    return tabulate(wide_of(pl.concat(tables)), (MEV, COSINE), 0.2, 0.95)


def test_a_peak_and_a_trough_with_their_bases():
    # beyond the peak nothing is higher, and the end at the left lies lower than the trough
    assert extrema_of(PLANTED, "peak", 0.1) == [(PEAK, TROUGH)]
    assert extrema_of(PLANTED, "trough", 0.1) == [(TROUGH, LAYERS - 1)]
    assert extrema_of(PLANTED, "trough", 0.41) == []
    assert extrema_of(np.array([0, 1, 1, 1, 0.2, 0.1]), "peak", 0.1) == [(2, 5)]  # a plateau, by its middle


@given(steps=st.lists(st.floats(0, 1), min_size=2, max_size=20), falls=st.booleans(), offset=st.floats(-9, 9))
def test_monotone_and_constant_curves_have_none(steps, falls, offset):
    curve = offset + np.cumsum(steps) * (-1 if falls else 1)
    assert extrema_of(curve, "peak", 0.01) + extrema_of(curve, "trough", 0.01) == []


@given(curve=st.lists(st.integers(-5, 5), min_size=3, max_size=15), share=st.sampled_from([0.05, 0.3, 0.7]))
def test_a_trough_is_a_peak_turned_round_and_every_one_stands_out(curve, share):
    curve = np.array(curve, dtype=float)
    for place, base in (peaks := extrema_of(curve, "peak", share)):
        assert curve[place] - curve[base] >= share * np.ptp(curve) > 0
        assert 0 < place < len(curve) - 1
    assert extrema_of(-curve, "trough", share) == peaks


def test_planted_extrema_have_their_place_height_and_prominence():
    values = PLANTED + noise(0, 0.02)
    table = table_of(metric_rows(values, MEV), metric_rows(DEPTH + noise(1, 0.001), COSINE, "all_tokens"))
    assert dict(table.schema) == EXTREMA_SCHEMA
    assert table.select("metric", "kind", "layer").rows() == [(MEV, "peak", PEAK), (MEV, "trough", TROUGH)]
    for row, sign in zip(table.iter_rows(named=True), (1, -1), strict=True):
        steps = sign * (values[:, [row["layer"]]] - values[:, [row["base_layer"]]])
        assert row["height"] == pytest.approx(values[:, row["layer"]].mean())
        expected = (steps.mean(), *(end.item() for end in mean_interval(steps, 0.95)))
        assert [row[f"prominence{end}"] for end in ("", "_low", "_high")] == pytest.approx(expected)
        assert row["prominence_share"] == pytest.approx(steps.mean() / np.ptp(values.mean(axis=0)))
        assert (row["depth"], row["n_reviews"]) == (row["layer"] / (LAYERS - 1), N)
    assert table["remains"].is_nan().all()


@pytest.mark.parametrize("remaining", [0.25, 1.0])
def test_what_is_left_without_the_first_token_and_its_share_there(remaining):
    share = metric_rows(np.tile(DEPTH, (N, 1)), "first_token_energy_share", "all_tokens")
    bare = metric_rows(remaining * PLANTED + noise(1, 0.001), MEV, "raw_without_first")
    table = table_of(metric_rows(PLANTED + noise(0, 0.001), MEV), bare, share).filter(view="raw")
    assert table["remains"].to_list() == pytest.approx([remaining] * 2, abs=0.01)
    np.testing.assert_allclose(table["first_token_energy_share"], DEPTH[[PEAK, TROUGH]])
    assert table["first_token_attention_share"].is_nan().all()


def test_layers_without_a_value_are_left_out():
    values = PLANTED + noise(0, 0.01)
    values[:, 0] = np.nan
    values[3] = np.nan
    table = table_of(metric_rows(values, MEV))
    assert table["layer"].to_list() == [PEAK, TROUGH]
    assert table["n_reviews"].to_list() == [N - 1, N - 1]
