"""Peaks and troughs over depth: planted ones are found, monotone curves have none."""

import numpy as np
import polars as pl
import pytest

from examples import example_table
from homogenization.statistics.extrema import EXTREMA_SCHEMA, tabulate
from homogenization.tables.summary import SUMMARY_SCHEMA

MEV = "max_explainable_variance"
LAYERS, PEAK, TROUGH = 25, 8, 17
DEPTH = np.linspace(0, 1, LAYERS)
# up to a peak, down to a trough, up again
PLANTED = np.interp(np.arange(LAYERS), [0, PEAK, TROUGH, LAYERS - 1], [0.0, 1.0, 0.4, 0.8])


def summary_of(curve, metric=MEV, view="raw"):
    layers = np.arange(len(curve))
    names = {"model": "m", "variant": "original", "point": "residual_stream", "view": view, "metric": metric}
    return example_table(SUMMARY_SCHEMA, **names, layer=layers, depth=layers / max(len(curve) - 1, 1), mean=curve)


def found_in(*tables, share=0.1):
    return tabulate(pl.concat(tables), [MEV], share)


def test_planted_extrema_have_their_place_height_and_prominence():
    table = found_in(summary_of(PLANTED), summary_of(DEPTH, "cosine_anisotropy", "all_tokens"))
    assert dict(table.schema) == EXTREMA_SCHEMA
    # beyond the peak nothing is higher, and the end at the left lies lower than the trough
    assert table.select("kind", "layer", "base_layer").rows() == [("peak", PEAK, TROUGH), ("trough", TROUGH, 24)]
    assert table.select("height", "prominence", "prominence_share").rows() == [
        (1, pytest.approx(0.6), pytest.approx(0.6)),
        (pytest.approx(0.4),) * 3,
    ]
    assert found_in(summary_of(PLANTED), share=0.41)["kind"].to_list() == ["peak"]
    late = found_in(summary_of(np.r_[np.nan, PLANTED]))  # as attention, without a value at layer 0
    assert late.select("layer", "base_layer").row(0) == (PEAK + 1, TROUGH + 1)


@pytest.mark.parametrize("remaining", [0.25, 1.0])
def test_what_is_left_without_the_first_token_and_its_share_there(remaining):
    bare = summary_of(remaining * PLANTED, view="raw_without_first")
    table = found_in(summary_of(PLANTED), bare, summary_of(DEPTH, "first_token_energy_share", "all_tokens"))
    table = table.filter(view="raw")
    assert table["remains"].to_list() == pytest.approx([remaining] * 2)
    np.testing.assert_allclose(table["first_token_energy_share"], DEPTH[[PEAK, TROUGH]])
    assert table["first_token_attention_share"].is_nan().all()
