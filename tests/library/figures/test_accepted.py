"""Variants with too few accepted reviews: named with their number, and neither drawn nor tested."""

import polars as pl
import pytest

from drawings import VARIANTS, N, require_room, texts
from homogenization.figures.shown import accepted
from library.figures.example_tables import contrasts_table, summary_table
from library.figures.examples import figure_of


def curves(axes):
    return {str(curve.get_label()) for curve in axes.lines}


def test_a_curve_needs_enough_reviews_and_the_legend_says_how_many_each_has():
    counts = {"original": N, "front": N - 7, "end": 9}
    table = summary_table(views=("raw",)).filter(pl.col("variant") != "scattered")
    table = table.with_columns(n_reviews=pl.col("variant").replace_strict(counts))
    figure = figure_of("metric", table, views=["raw"], min_reviews=10)
    require_room(figure)
    for axes in figure.axes:
        assert curves(axes) >= {"original", "front"}
        assert not any(name.startswith(("end", "scattered")) for name in curves(axes))
    for said in (
        f"Original (n = {N})",
        f"Front (n = {N - 7})",
        "End: 9 accepted reviews, not drawn",
        "Scattered: no accepted review, not drawn",
        "means over different reviews",
    ):
        assert said in texts(figure).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(("n_original", "drawn"), [(N, ["original", "front"]), (5, ["original", "front", "end"])])
def test_a_variant_that_lost_no_review_of_a_small_study_is_drawn(n_original, drawn):
    counts = {"original": n_original, "front": n_original, "end": 5, "scattered": 4}
    table = pl.DataFrame({"variant": list(counts), "n_reviews": list(counts.values())})
    found = accepted(table, VARIANTS, 10)
    assert [name for name, _ in found.variants] == found.table["variant"].to_list() == drawn
    assert f"n = {n_original} reviews, the same in every variant" in found.counts
    assert len(found.left_out) == 4 - len(drawn)


def test_a_contrast_that_is_not_tested_says_why():
    """Front less scattered is alone in its panels; end less original stands beside contrasts that are tested."""
    refused = {("front", "scattered"): "3 of 40 in both", ("end", "original"): "2 of 40 in end"}
    table = contrasts_table()
    reasons = [refused.get(pair) for pair in table.select("variant", "minus").rows()]
    verdicts = pl.when(pl.col("reason").is_null()).then("verdict").otherwise(pl.lit("not tested"))
    table = table.with_columns(pl.Series("reason", reasons, pl.String)).with_columns(verdict=verdicts)
    without = pl.when(pl.col("reason").is_null()).then(pl.col(pl.Float64).exclude("depth"))
    figure = figure_of("contrast", table.with_columns(without))
    require_room(figure)
    assert "front" in curves(figure.axes[0])
    assert not any(name.startswith("end") for name in curves(figure.axes[0]))
    assert "not tested: 3 of 40 in both" in [text.get_text().replace("\n", " ") for text in figure.axes[-1].texts]
    assert "not tested: End minus Original (2 of 40 in end)" in texts(figure)


def test_a_study_in_which_nothing_is_tested_has_figures_too():
    table = contrasts_table().with_columns(
        pl.col(pl.Float64).exclude("depth") * float("nan"), verdict=pl.lit("not tested"), reason=pl.lit("none")
    )
    figure = figure_of("contrast", table)
    require_room(figure)
    assert all("not tested: none" in {text.get_text() for text in axes.texts} for axes in figure.axes)
