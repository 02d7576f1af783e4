"""The figure of MAUVE between consecutive layers."""

import numpy as np
import polars as pl
import pytest

from drawings import VARIANTS, line, texts
from library.figures.example_tables import mauve_table
from library.figures.examples import drawn, figure_of, require_refusal


def test_the_null_is_the_mean_and_range_of_the_values_of_the_table():
    axes = drawn("mauve").axes[0]
    mean_length = np.mean([len(variant) for variant, _ in VARIANTS])
    np.testing.assert_allclose(
        line(axes, "null").get_ydata(), [0.95 + 0.001 * mean_length + 0.01 * e for e in range(7)]
    )
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(0.95 + 0.001 * len("end") - 0.02)
    assert band.max() == pytest.approx(0.95 + 0.001 * len("scattered") + 0.06 + 0.01)


def test_without_null_it_says_so():
    assert "no split-half null" in texts(figure_of("mauve", {"mauve": mauve_table(null=False)}))


def test_a_variant_with_too_few_tokens_is_named_and_one_that_is_not_measured_is_not():
    table = mauve_table().filter(~pl.col("variant").is_in(["front", "end"]))
    figure = figure_of("mauve", {"mauve": table}, mauve_variants=["original", "front", "scattered"])
    assert f"Too few tokens: {dict(VARIANTS)['front']}." in texts(figure)


def test_a_null_alone_is_refused():
    require_refusal("mauve", "MAUVE between consecutive layers", {"mauve": mauve_table().filter(kind="null")})
