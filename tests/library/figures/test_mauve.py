"""The figure of MAUVE between consecutive layers."""

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

from drawings import (
    BLOCKS,
    VARIANTS,
    line,
    require_axis_labels,
    require_house_style,
    require_refusal,
    shown,
    texts,
)
from homogenization.figures.mauve import draw


def mauve_table(null=True):
    rows = []
    for model, n_blocks in BLOCKS.items():
        for variant, _ in VARIANTS:
            pairs = [(layer, layer + 1, "consecutive", 0.5) for layer in range(n_blocks)]
            pairs += [(layer, layer, "null", 0.95) for layer in range(n_blocks + 1)] if null else []
            for start, end, kind, mean in pairs:
                mean = mean + 0.001 * len(variant) + 0.01 * end
                rows.append((model, variant, start, end, end / n_blocks, kind, mean, mean - 0.02, mean + 0.01, 6))
    columns = ["model", "variant", "layer_from", "layer_to", "depth", "kind", "mean", "low", "high", "n_values"]
    return pl.DataFrame(rows, schema=columns, orient="row")


@cache
def drawn():
    return draw({"mauve": mauve_table()}, shown())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), "6 values a point")
    require_axis_labels(drawn())


def test_lines_and_null_are_the_values_of_the_table():
    axes = drawn().axes[0]
    expected = [0.5 + 0.001 * len("front") + 0.01 * end for end in range(1, 7)]
    np.testing.assert_allclose(line(axes, "front").get_ydata(), expected)
    np.testing.assert_allclose(line(axes, "front").get_xdata(), np.arange(1, 7) / 6)
    mean_length = np.mean([len(variant) for variant, _ in VARIANTS])
    np.testing.assert_allclose(
        line(axes, "null").get_ydata(), [0.95 + 0.001 * mean_length + 0.01 * e for e in range(7)]
    )
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(0.95 + 0.001 * len("end") - 0.02)
    assert band.max() == pytest.approx(0.95 + 0.001 * len("scattered") + 0.06 + 0.01)


def test_without_null_it_says_so():
    assert "no split-half null" in texts(draw({"mauve": mauve_table(null=False)}, shown()))


def test_a_variant_with_too_few_tokens_is_named_and_one_that_is_not_measured_is_not():
    table = mauve_table().filter(~pl.col("variant").is_in(["front", "end"]))
    labels = dict(VARIANTS)
    note = texts(draw({"mauve": table}, replace(shown(), mauve_variants=["original", "front", "scattered"])))
    assert f"Too few tokens: {labels['front']}." in note


def test_a_null_alone_is_refused():
    require_refusal(draw, {"mauve": mauve_table().filter(kind="null")}, shown(), "MAUVE between consecutive layers")
