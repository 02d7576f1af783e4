"""Claims about peaks and troughs: the numbers of a planted curve, and what is not tested."""

import numpy as np
import polars as pl
import pytest

from homogenization.claims.terms import UnavailableError
from homogenization.names.verdicts import CHECKS, CONTRADICTED, NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.statistics.extrema import extrema_table
from homogenization.statistics.resampling import Resampling, mean_interval
from library.statistics.shared import (
    CONFIDENCE,
    N_BLOCKS,
    N_REVIEWS,
    RANK,
    SEED,
    assert_mean_of,
    evidence_of,
    found_in,
    interval_of,
    judged_row,
    metric_rows,
    noise,
)

MEV = "max_explainable_variance"
PEAK, TROUGH = 3, 6  # layers
PLANTED = np.interp(np.arange(N_BLOCKS + 1), [0, PEAK, TROUGH, N_BLOCKS], [0.0, 1.0, 0.4, 0.8])
REMAINING = 0.25
RAW = PLANTED + noise(0)
BARE = REMAINING * PLANTED + noise(1)


def evidence(*rows):
    metrics = pl.concat([metric_rows(RAW, MEV), metric_rows(BARE, MEV, "raw_without_first"), *rows])
    found = extrema_table(metrics, (MEV, RANK), 0.1, 0.1, Resampling(400, CONFIDENCE, SEED))
    return evidence_of(metrics, extrema=found)


@pytest.fixture(scope="module")
def planted():
    return evidence()


def peak(**changes):
    return {"metric": MEV, "kind": "peak"} | changes


@pytest.mark.parametrize(
    ("kind", "place", "base", "sign"), [("peak", PEAK, TROUGH, 1), ("trough", TROUGH, N_BLOCKS, -1)]
)
def test_the_prominence_is_the_mean_difference_from_its_base(planted, kind, place, base, sign):
    found = found_in(planted, extremum=peak(kind=kind), above=0)
    own = sign * (RAW[:, place] - RAW[:, base])
    assert_mean_of(found, own)
    assert interval_of(found)[1:] == pytest.approx([end[0] for end in mean_interval(own[:, None], CONFIDENCE)])
    assert np.isfinite([found[name] for name in CHECKS]).all()
    assert found["depth_range"] == pytest.approx(np.ptp(np.median(RAW, axis=0)))


def test_height_and_depth_are_those_of_its_layer(planted):
    assert_mean_of(found_in(planted, extremum=peak(of="height"), above=0), RAW[:, PEAK])
    depth = found_in(planted, extremum=peak(of="depth"), above=0)
    assert (depth["estimate"], depth["n_reviews"]) == (PEAK / N_BLOCKS, N_REVIEWS)
    assert depth["ci_low"] <= PEAK / N_BLOCKS <= depth["ci_high"]


def test_what_remains_is_that_of_the_table_and_of_the_curve(planted):
    found = found_in(planted, extremum=peak(of="remains"), above=0)
    row = planted.extrema.filter(view="raw", kind="peak").row(0, named=True)
    assert found["estimate"] == pytest.approx(row["remains"])
    assert found["ci_low"] < REMAINING < found["ci_high"]
    bare, raw = ((rows[:, PEAK] - rows[:, TROUGH]).mean() for rows in (BARE, RAW))
    assert found["estimate"] == pytest.approx(bare / raw)


def test_the_most_prominent_of_two_peaks_counts():
    two = np.array([0, 0.5, 0, 0, 1, 0, 0, 0, 0.1]) + noise(2, 0.02)
    found = found_in(evidence(metric_rows(two)), extremum=peak(metric=RANK, of="depth"), above=0)
    assert interval_of(found)[0] == 0.5


@pytest.mark.parametrize(
    ("of", "criterion", "verdict"),
    [
        ("prominence", {"above": 0.4}, SUPPORTED),
        ("prominence", {"above": 0.8}, CONTRADICTED),
        ("prominence", {"between": [0.5, 0.7]}, SUPPORTED),
        ("height", {"below": 0.5}, CONTRADICTED),
        ("depth", {"between": [0.25, 0.75]}, SUPPORTED),
        ("remains", {"below": 0.5}, SUPPORTED),
        ("remains", {"below": REMAINING}, UNDECIDED),
        ("remains", {"above": 0.5}, CONTRADICTED),
    ],
)
def test_verdicts_are_by_size(planted, of, criterion, verdict):
    row = judged_row(planted, extremum=peak(of=of), **criterion)
    assert row["verdict"] == verdict
    assert np.isfinite(row["sample_size_80"]) == (of in ("prominence", "height") and "between" not in criterion)
    assert np.isnan(row["p_max_t"])  # of no family: its interval decides
    assert np.isfinite(row["depth_range"]) == (of == "prominence")


@pytest.fixture(scope="module")
def rising():
    return evidence(metric_rows(np.arange(N_BLOCKS + 1) + noise(3, 0.01)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metric": RANK}, f"finds no peak of {RANK} between its ends"),
        ({"view": "raw_without_first", "of": "remains"}, "no view without the first token for 'raw_without_first'"),
        ({"variant": "front"}, "no variant 'front'"),
        ({"view": "centred"}, f"no view 'centred' of {MEV}"),
    ],
)
def test_what_is_lacking_is_named(rising, changes, reason):
    row = judged_row(rising, extremum=peak(**changes), above=0)
    assert row["verdict"] == NOT_TESTED
    assert reason in row["reason"]


def test_a_peak_that_the_reviews_do_not_settle_is_not_tested():
    with pytest.raises(UnavailableError, match=r"settle no peak: .* stands out by .*error .* % of the draws"):
        found_in(evidence(metric_rows(noise(5))), extremum=peak(metric=RANK), above=0)
    with pytest.raises(UnavailableError, match="looks for no peaks and troughs"):
        found_in(evidence_of(metric_rows(noise(5))), extremum=peak(metric=RANK), above=0)
