"""What every figure keeps to, and what each shows of its tables."""

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.grammar import save_figure
from homogenization.figures.style import house_style
from library.figures.made_tables import LOSSES, VARIANTS, N, change, dots, drawn, figure_of, line, made_tables, written


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_with_a_title_labels_and_a_caption(name):
    figure = drawn(name)
    assert "The title" in written(figure)
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert all(axes.has_data() or axes.texts for axes in figure.axes)
    assert (ROOT / f"workflow/report/{name}.rst").read_text("utf-8").strip()


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"training"}))
def test_of_tables_without_rows_nothing_is_drawn(name):
    figure = figure_of(name, **{key: table.clear() for key, table in made_tables().items()})
    drawn_names = {one.get_label() for axes in figure.axes for one in axes.lines}
    assert not drawn_names & {*VARIANTS, "first", "all", "raw", "pattern", "peak"}


def test_files_are_of_the_same_bytes_each_time(tmp_path):
    for file in ("one", "other"):
        with house_style():
            save_figure(figure_of("conditions"), tmp_path / f"{file}.svg", tmp_path / f"{file}.pdf")
    for suffix in ("svg", "pdf"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()


def test_disorder_draws_the_ladder_through_zero_and_other_variants_at_their_loss():
    of_alpha, of_beta, *_ = drawn("disorder").axes
    for axes, model in ((of_alpha, "alpha"), (of_beta, "beta")):
        wanted = [(0, 0), *((LOSSES[name], change(model, name, 1)) for name in ("blocks-4", "words"))]
        np.testing.assert_allclose(line(axes, "ladder").get_xydata(), wanted)
        for name in ("front", "inward"):
            np.testing.assert_allclose(line(axes, name).get_xydata(), [(LOSSES[name], change(model, name, 1))])


def test_over_depth_disorder_is_the_change_per_nat():
    axes = drawn("disorder_depth").axes[0]
    for name, loss in LOSSES.items():
        wanted = [change("alpha", name, layer / 4) / loss for layer in range(5)]
        np.testing.assert_allclose(line(axes, name).get_ydata(), wanted)
    unsure = pl.when(metric="loss_per_word", variant="front").then(0.0).otherwise("ci_low")
    figure = figure_of("disorder_depth", contrasts=made_tables()["contrasts"].with_columns(ci_low=unsure))
    assert {one.get_label() for one in figure.axes[0].lines} & {*VARIANTS} == {*LOSSES} - {"front"}


def test_a_variant_with_few_accepted_reviews_is_named_and_not_drawn():
    table = made_tables()["summary"].with_columns(n_reviews=pl.when(variant="front").then(3).otherwise("n_reviews"))
    figure = figure_of("metric", summary=table)
    assert "front" not in {one.get_label() for one in figure.axes[0].lines}
    assert "Front (3 accepted)" in " ".join(written(figure))


def test_the_axis_of_the_rank_ends_a_little_above_the_highest_value():
    panels = drawn("one_token").axes
    highest = max(max(one.get_ydata()) for axes in panels for one in axes.lines)
    assert 1 < panels[0].get_ylim()[1] / highest < 1.2


def test_contrasts_are_shares_of_the_yardstick_in_a_row_for_what_is_subtracted_and_for_each_group():
    first, news, control, rest = drawn("contrast").axes[::2]
    whole = (first, "front", 1, 0), (control, "inward", 0.1, 0), (rest, "front", 0.1, 0)
    for axes, label, part, more in (*whole, (news, "front", 1, 9)):
        wanted = [100 * (part * change("alpha", "front", layer / 4) + more) / 0.5 for layer in range(5)]
        np.testing.assert_allclose(line(axes, label).get_ydata(), wanted)
    tint = max(first.patches, key=lambda patch: patch.get_height())
    assert tint.get_bbox().y0 == 0  # a larger cosine is more alike


def test_markers_are_filled_where_the_verdict_is_decided():
    for verdict, filled in (("more alike", True), ("negligible", False), ("undecided", False)):
        table = made_tables()["contrasts"].with_columns(verdict=pl.lit(verdict))
        marks = [one for one in figure_of("contrast", contrasts=table).axes[0].lines if one.get_linestyle() == "None"]
        assert {one.get_markerfacecolor() != "white" for one in marks} == {filled}


def test_the_heatmap_is_the_ratio_to_uniform_attention_in_doublings():
    axes = drawn("attention_heatmap").axes[0]
    (mesh,) = axes.collections
    np.testing.assert_allclose(mesh.get_array(), np.tile(np.arange(6) - 3, (4, 1)))
    assert "no values" in written(drawn("attention_heatmap"))  # of the encoder, whose attention was not recorded


def test_components_change_in_quarters_and_in_all_blocks_with_and_without_the_first_token():
    axes, mean = drawn("components").axes[0], np.mean(np.arange(N)) / 100
    for block, quarter in enumerate(["first quarter of the blocks", "second", "third", "last"], 1):
        assert dots(axes, quarter)[0][0] == pytest.approx(block / 10 + mean)
    assert dots(axes, "all blocks")[1] == (pytest.approx(0.25 + mean), True)
    assert dots(axes, "all blocks, with the first token")[1] == (pytest.approx(1.25 + mean), False)


def test_a_dose_is_the_damage_and_without_next_tokens_the_share_that_is_moved():
    causal, encoder, *_ = drawn("dose").axes
    np.testing.assert_allclose(line(causal, "first").get_xydata(), [(0, 0), (0.01, 0.05), (0.16, 0.2)])
    np.testing.assert_allclose(line(encoder, "first").get_xydata(), [(0, 0), (0.1, 0.05), (0.4, 0.2)])
