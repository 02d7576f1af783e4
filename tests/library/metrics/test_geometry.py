import numpy as np
import pytest
from scipy.signal import find_peaks

from homogenization.metrics.geometry import GEOMETRY_METRICS


def modes(*histograms):
    """Modes of histograms of as many bins each."""
    return GEOMETRY_METRICS["cosine_modes"].compute({"cosine_histogram": np.array(histograms)}, "all_tokens")


def test_modes_of_known_histograms():
    both_ends = [9, 0, 0, 0, 0, 0, 9]
    plateau = [0, 4, 4, 4, 4, 4, 0]
    gap_of_one_bin = [0, 6, 6, 0, 6, 6, 0]  # its smoothed valley is as high as 2/3 of its peaks
    shoulder = [0, 9, 3, 3, 3, 0, 0]
    alone = [0, 0, 0, 0, 0, 0, 1]
    np.testing.assert_array_equal(modes(both_ends, plateau, gap_of_one_bin, shoulder, alone), [2, 1, 1, 1, 1])
    np.testing.assert_array_equal(modes([9, 0, 0, 0, 5, 0, 0, 0, 9], np.zeros(9, dtype=int)), [3, np.nan])


@pytest.mark.parametrize(("second", "expected"), [(3, 1), (4, 2)])
def test_a_mode_stands_out_by_more_than_five_per_cent_of_the_highest_bin(second, expected):
    # smoothed: 60 on top, then a valley of 0 and a second peak; 3 are 5 %, not more
    histogram = [0, 60, 0, 0, 0, 0, second, 0, 0]
    assert modes(histogram) == [expected]
    assert modes(histogram[::-1]) == [expected]
    assert modes(np.array(histogram) * 10**12) == [expected]


def test_modes_against_the_prominence_of_peaks():
    generator = np.random.default_rng(0)
    noise = generator.gamma(0.5, size=(400, 40))
    walks = np.cumsum(generator.standard_normal((400, 40)), axis=1).clip(0) + 1e-3 * generator.random((400, 40))
    bins = np.linspace(-1, 1, 40)
    humps = [np.exp(-(((bins - place) / 0.1) ** 2)) + 0.04 * generator.random(40) for place in bins]
    histograms = (1e9 * np.concatenate([noise, walks, humps])).astype(np.int64)
    expected = []  # equal heights would count otherwise: there are none
    for histogram in histograms:
        smoothed = np.convolve(histogram, np.ones(3), mode="same")
        peaks, _ = find_peaks(np.pad(smoothed, 1), prominence=0.05 * smoothed.max() * (1 + 1e-12))
        expected.append(len(peaks))
    assert len(set(expected)) > 8
    np.testing.assert_array_equal(modes(*histograms), expected)
    np.testing.assert_array_equal(modes(*histograms[:, ::-1]), expected)
