"""Claims about peaks and troughs: the numbers of a planted curve, and what is not tested."""

import numpy as np
import polars as pl
import pytest

from homogenization.claims.judgement import claims_table, measure
from homogenization.claims.measurement import UnavailableError
from homogenization.names.verdicts import CONTRADICTED, KEPT, NOT_TESTED, ROBUST, SUPPORTED, UNDECIDED
from homogenization.statistics.extrema import extrema_table
from homogenization.statistics.resampling import Resampling, mean_interval
from library.statistics.shared import (
    CONFIDENCE,
    N_BLOCKS,
    N_REVIEWS,
    RANK,
    SEED,
    assert_mean_of,
    claim_of,
    evidence_of,
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


def found(kind="peak", of="prominence", **changes):
    claim = claim_of(extremum={"metric": MEV, "kind": kind, "of": of} | changes, above=0)
    return measure(claim, "m", evidence())


@pytest.mark.parametrize(
    ("kind", "place", "base", "sign"), [("peak", PEAK, TROUGH, 1), ("trough", TROUGH, N_BLOCKS, -1)]
)
def test_the_prominence_is_the_mean_difference_from_its_base(kind, place, base, sign):
    measured = found(kind)
    own = sign * (RAW[:, place] - RAW[:, base])
    assert_mean_of(measured, own)
    reach = [end[0] for end in mean_interval(own[:, None], CONFIDENCE)]
    assert [measured.interval.low, measured.interval.high] == pytest.approx(reach)
    assert set(measured.checks) == {ROBUST, KEPT}
    assert measured.size.depth_range == pytest.approx(np.ptp(np.median(RAW, axis=0)))


def test_height_and_depth_are_those_of_its_layer():
    assert found(of="height").interval.estimate == pytest.approx(RAW[:, PEAK].mean())
    depth = found(of="depth")
    assert (depth.interval.estimate, depth.n) == (PEAK / N_BLOCKS, N_REVIEWS)
    assert depth.interval.low <= PEAK / N_BLOCKS <= depth.interval.high
    assert depth.spread is None


def test_what_remains_is_that_of_the_table_and_of_the_curve():
    measured = found(of="remains")
    row = evidence().tables.extrema.filter(view="raw", kind="peak").row(0, named=True)
    assert measured.interval.estimate == pytest.approx(row["remains"])
    assert measured.interval.low < REMAINING < measured.interval.high
    steps = np.stack([(rows[:, PEAK] - rows[:, TROUGH]) for rows in (BARE, RAW)])
    assert measured.interval.estimate == pytest.approx(steps[0].mean() / steps[1].mean())
    assert np.isnan(measured.size.depth_range)


def test_the_most_prominent_of_two_peaks_counts():
    two = np.array([0, 0.5, 0, 0, 1, 0, 0, 0, 0.1]) + noise(2, 0.02)
    claim = claim_of(extremum={"metric": RANK, "kind": "peak", "of": "depth"}, above=0)
    assert measure(claim, "m", evidence(metric_rows(two))).interval.estimate == 0.5


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
def test_verdicts_are_by_size(of, criterion, verdict):
    claim = claim_of(extremum={"metric": MEV, "kind": "peak", "of": of}, **criterion)
    row = claims_table([claim], ["m"], evidence()).row(0, named=True)
    assert row["verdict"] == verdict
    assert np.isfinite(row["sample_size_80"]) == (of in ("prominence", "height") and "between" not in criterion)
    assert np.isnan(row["p_max_t"])  # of no family: its interval decides


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metric": RANK}, f"finds no peak of {RANK} between its ends"),
        ({"view": "raw_without_first", "of": "remains"}, "no view without the first token beside 'raw_without_first'"),
        ({"variant": "front"}, "no variant 'front'"),
        ({"view": "centred"}, f"no view 'centred' of {MEV}"),
    ],
)
def test_what_is_lacking_is_named(changes, reason):
    rising = metric_rows(np.arange(N_BLOCKS + 1) + noise(3, 0.01))
    claim = claim_of(extremum={"metric": MEV, "kind": "peak"} | changes, above=0)
    row = claims_table([claim], ["m"], evidence(rising)).row(0, named=True)
    assert row["verdict"] == NOT_TESTED
    assert reason in row["reason"]


def test_a_peak_that_the_reviews_do_not_settle_is_not_tested():
    claim = claim_of(extremum={"metric": RANK, "kind": "peak"}, above=0)
    with pytest.raises(UnavailableError, match=r"settle no peak: .* stands out by .*error .* % of the draws"):
        measure(claim, "m", evidence(metric_rows(noise(5))))
    with pytest.raises(UnavailableError, match="looks for no peaks and troughs"):
        measure(claim, "m", evidence_of(metric_rows(noise(5))))
