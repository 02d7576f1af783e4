"""Peaks and troughs over depth: planted ones are found, monotone curves have none, noise does not settle."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import find_peaks

from homogenization.statistics.extrema import EXTREMA_SCHEMA, extrema_of, extrema_table
from homogenization.statistics.resampling import Resampling
from library.statistics.shared import metric_rows

MEV, COSINE = "max_explainable_variance", "cosine_anisotropy"
LAYERS, N = 25, 40
DEPTH = np.linspace(0, 1, LAYERS)
PEAK, TROUGH = 8, 17  # layers
# up to a peak, down to a trough, up again
PLANTED = np.interp(np.arange(LAYERS), [0, PEAK, TROUGH, LAYERS - 1], [0.0, 1.0, 0.4, 0.8])


def noise(seed, scale=0.1, n=N):
    return scale * np.random.default_rng(seed).standard_normal((n, LAYERS))


def table_of(*tables, prominence=0.1, window=0.1, names=(MEV, COSINE)):
    return extrema_table(pl.concat(tables), names, prominence, window, Resampling(400, 0.95, 0))


def found(curve, kind, share):
    [extrema] = extrema_of(curve[None], kind, share)
    return extrema


class TestCurves:
    def test_a_peak_and_a_trough_with_their_prominences(self):
        (peak,), (trough,) = (found(PLANTED, kind, 0.1) for kind in ("peak", "trough"))
        # beyond the peak nothing is higher, and the end at the left lies lower than the trough
        assert peak == (PEAK, TROUGH, pytest.approx(0.6))
        assert trough == (TROUGH, LAYERS - 1, pytest.approx(0.4))
        assert found(PLANTED, "trough", 0.41) == []

    def test_a_plateau_counts_once_by_its_middle(self):
        curve = np.array([0, 1, 1, 1, 0.2, 0.1])
        assert [one.place for one in found(curve, "peak", 0.1)] == [2]

    @given(steps=st.lists(st.floats(0, 1), min_size=2, max_size=20), falls=st.booleans(), offset=st.floats(-9, 9))
    def test_monotone_and_constant_curves_have_none(self, steps, falls, offset):
        curve = offset + np.cumsum(steps) * (-1 if falls else 1)
        assert found(curve, "peak", 0.01) + found(curve, "trough", 0.01) == []

    @given(curve=st.lists(st.integers(-5, 5), min_size=3, max_size=15), share=st.sampled_from([0.05, 0.3, 0.7]))
    def test_a_trough_is_a_peak_turned_round_and_every_one_stands_out(self, curve, share):
        curve = np.array(curve, dtype=float)
        for one in (peaks := found(curve, "peak", share)):
            assert one.prominence >= share * np.ptp(curve) > 0
            assert curve[one.place] - curve[one.base] == pytest.approx(one.prominence)
            assert 0 < one.place < len(curve) - 1
        assert found(-curve, "trough", share) == peaks

    @given(
        curves=arrays(float, st.tuples(st.integers(1, 5), st.integers(3, 9)), elements=st.integers(-3, 3)),
        share=st.sampled_from([0.05, 0.3, 0.7]),
    )
    def test_curves_that_are_searched_together_have_the_peaks_that_scipy_finds_in_each(self, curves, share):
        for curve, peaks in zip(curves, extrema_of(curves, "peak", share), strict=True):
            places, of_curve = find_peaks(curve, prominence=max(share * np.ptp(curve), 1e-9))
            bases = np.stack([of_curve["left_bases"], of_curve["right_bases"]])
            higher = np.where(curve[bases[0]] >= curve[bases[1]], *bases)
            assert peaks == list(zip(places, higher, of_curve["prominences"], strict=True))


class TestTable:
    def test_planted_extrema_are_found_with_their_place_and_height(self):
        rising = metric_rows(DEPTH + noise(1, 0.001), COSINE, "all_tokens")
        table = table_of(metric_rows(PLANTED + noise(0), MEV), rising)
        assert dict(table.schema) == EXTREMA_SCHEMA
        assert table["metric"].unique().to_list() == [MEV], "a monotone curve has none"
        assert table["settled"].all()
        for row, layer, height in zip(table.iter_rows(named=True), (PEAK, TROUGH), (1.0, 0.4), strict=True):
            assert row["depth_low"] <= layer / (LAYERS - 1) <= row["depth_high"]
            assert row["depth_high"] - row["depth_low"] <= 2.001 / (LAYERS - 1)
            assert row["height_low"] - 0.02 <= height <= row["height_high"] + 0.02
            assert row["n_reviews"] == N
        assert table["kind"].to_list() == ["peak", "trough"]

    def test_heights_are_covered_by_their_intervals(self):
        """The curve has a sharp peak, so that no draw finds another layer and the height is a plain mean."""
        curve = np.where(np.arange(LAYERS) == 10, 1.0, 0.0) + 0.1 * DEPTH
        rows = [
            table_of(metric_rows(curve + noise(seed, 0.05), MEV), prominence=0.5).row(0, named=True)
            for seed in range(60)
        ]
        assert all(row["layer"] == 10 and row["depth_low"] == row["depth_high"] for row in rows)
        covered = sum(row["height_low"] <= curve[10] <= row["height_high"] for row in rows)
        assert covered >= 51  # below by chance in one of 500

    def test_what_noise_has_is_not_settled(self):
        """A flat curve has settled extrema in at most 5 % of samples; more than 5 of 30, by chance, in one of 300."""
        tables = [table_of(metric_rows(noise(seed), MEV)) for seed in range(30)]
        assert min(map(len, tables)) > 3, "noise has bumps"
        assert sum(table["settled"].any() for table in tables) <= 5

    def test_the_first_tokens_part_is_what_is_gone_without_it(self):
        raw = metric_rows(PLANTED + noise(0, 0.01), MEV, "raw")
        for remaining in (0.25, 1.0):
            bare = metric_rows(remaining * PLANTED + noise(1, 0.01), MEV, "raw_without_first")
            table = table_of(raw, bare).filter(view="raw", kind="peak")
            row = table.row(0, named=True)
            assert row["remains_low"] <= remaining <= row["remains_high"]
            assert row["remains_high"] - row["remains_low"] < 0.1
        assert table_of(raw)["remains"].is_nan().all()

    def test_the_first_tokens_share_there_stands_beside_it(self):
        share = metric_rows(np.tile(DEPTH, (N, 1)), "first_token_energy_share", "all_tokens")
        table = table_of(metric_rows(PLANTED + noise(0, 0.01), MEV), share)
        assert table["metric"].unique().to_list() == [MEV]
        np.testing.assert_allclose(table["first_token_energy_share"], DEPTH[[PEAK, TROUGH]])
        assert table["first_token_attention_share"].is_nan().all()

    def test_layers_without_a_value_are_left_out(self):
        values = PLANTED + noise(0, 0.01)
        values[:, 0] = np.nan
        values[3] = np.nan
        table = table_of(metric_rows(values, MEV))
        assert table["layer"].to_list() == [PEAK, TROUGH]
        assert table["n_reviews"].to_list() == [N - 1, N - 1]
