"""What every figure keeps to, and what each shows of its tables."""

import numpy as np
import polars as pl
import pytest

from homogenization.figures.catalogue import FIGURES
from homogenization.figures.grammar import save_figure
from homogenization.figures.style import house_style
from library.figures.made_tables import (
    LOSSES,
    MODELS,
    VARIANTS,
    N,
    change,
    dots,
    drawn,
    figure_of,
    lanes,
    line,
    made_tables,
    overlaps,
    written,
)

LONG = "a/rather-long-Model-Name-of-an-organisation-with-many-words-7B"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_its_title_its_labels_and_room_for_long_names(name):
    models = {model: f"{LONG}-{model}" for model in MODELS}
    for figure in (
        drawn(name),
        figure_of(name, models=models, variants={one: f"{LONG[:24]}-{one}" for one in VARIANTS}),
    ):
        assert "The title" in written(figure)
        assert any(axes.get_xlabel() for axes in figure.axes)
        assert all(axes.has_data() or axes.texts for axes in figure.axes)
        assert overlaps(figure) == []


@pytest.mark.parametrize("name", FIGURES)
def test_a_paper_has_figures_of_a_column_or_a_page_without_title_and_note(name):
    figure = figure_of(name, style="paper")
    assert figure.get_figwidth() in (3.35, 6.75)
    assert "The title" not in written(figure)
    assert figure.get_label().startswith("The title\n")


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"training"}))
def test_of_tables_without_rows_nothing_is_drawn(name):
    figure = figure_of(name, **{key: table.clear() for key, table in made_tables().items()})
    drawn_names = {one.get_label() for axes in figure.axes for one in axes.lines}
    assert not drawn_names & {*VARIANTS, "first", "all", "raw", "pattern", "peak"}


@pytest.mark.parametrize("name", ["one_token", "attention_heatmap", "conditions"])
def test_files_are_of_the_same_bytes_each_time_with_their_letters_inside(name, tmp_path):
    for file in ("one", "other"):
        with house_style():
            save_figure(figure_of(name), tmp_path / f"{file}.svg", tmp_path / f"{file}.pdf")
    for suffix in ("svg", "pdf"):
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"other.{suffix}").read_bytes()
    assert "<text" not in (tmp_path / "one.svg").read_text()  # they are outlines
    assert b"/FontDescriptor" in (tmp_path / "one.pdf").read_bytes()


def test_disorder_draws_the_ladder_through_zero_and_other_variants_at_their_loss():
    of_alpha, of_beta, *_ = drawn("disorder").axes
    for axes, model in ((of_alpha, "alpha"), (of_beta, "beta")):
        wanted = [(0, 0), *((LOSSES[name], change(model, name, 1)) for name in ("blocks-4", "words"))]
        np.testing.assert_allclose(line(axes, "ladder").get_xydata(), wanted)
        for name in ("front", "inward"):
            np.testing.assert_allclose(line(axes, name).get_xydata(), [(LOSSES[name], change(model, name, 1))])
    assert of_alpha.get_title() == MODELS["alpha"]
    assert MODELS["alpha"] in " ".join(of_beta.get_title().split())  # whose loss it is


def test_labels_of_ten_points_lie_over_no_other():
    names = [f"variant number {number}" for number in range(10)]
    table = made_tables()["contrasts"]
    front = table.filter(variant="front", minus="original")
    crowd = [
        front.with_columns(variant=pl.lit(name), mean=pl.col("mean") * (1 + place / 20))
        for place, name in enumerate(names)
    ]
    variants = VARIANTS | dict(zip(names, names, strict=True))
    figure = figure_of("disorder", contrasts=pl.concat([table, *crowd]), variants=variants)
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in axes.texts if text.get_text()]
        assert len(boxes) == len(variants) - 1
        assert [box.count_overlaps(boxes) for box in boxes] == [1] * len(boxes)
        assert all(axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1 for box in boxes)


def test_over_depth_disorder_is_the_change_per_nat():
    axes = drawn("disorder_depth").axes[0]
    for name, loss in LOSSES.items():
        wanted = [change("alpha", name, layer / 4) / loss for layer in range(5)]
        np.testing.assert_allclose(line(axes, name).get_ydata(), wanted)
    unsure = pl.when(metric="loss_per_word", variant="front").then(0.0).otherwise("ci_low")
    figure = figure_of("disorder_depth", contrasts=made_tables()["contrasts"].with_columns(ci_low=unsure))
    assert {one.get_label() for one in figure.axes[0].lines} & {*VARIANTS} == {*LOSSES} - {"front"}


def test_one_token_has_both_views_of_the_originals():
    axes = drawn("one_token").axes[0]
    assert [one.get_label() for one in axes.lines] == ["raw", "raw_without_first"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 0.2 + np.arange(5) / 8)


def test_the_view_without_the_first_token_comes_first_and_the_original_has_the_band():
    figure = drawn("metric")
    headline = ["without the first token" in " ".join(axes.get_title().split()) for axes in figure.axes]
    assert headline == [True, False] * 2
    axes = figure.axes[0]
    assert {one.get_label() for one in axes.lines} >= {*VARIANTS, "after final norm"}
    assert line(axes, "original").get_linewidth() > line(axes, "front").get_linewidth()
    assert f"n = {N} reviews" in written(figure)


def test_a_variant_with_few_accepted_reviews_is_named_and_not_drawn():
    table = made_tables()["summary"].with_columns(n_reviews=pl.when(variant="front").then(3).otherwise("n_reviews"))
    figure = figure_of("metric", summary=table)
    assert "front" not in {one.get_label() for one in figure.axes[0].lines}
    assert "Front (3 accepted)" in " ".join(written(figure))


def test_contrasts_are_shares_of_the_yardstick_in_a_row_for_what_is_subtracted_and_for_each_group():
    first, news, control, rest = drawn("contrast").axes[::2]
    titles = [" ".join(axes.get_title().split()) for axes in (first, news, control, rest)]
    starts = ["Each variant − original:", "Each variant − original: news", "Front −", "Each variant, beyond"]
    assert [title[: len(start)] for title, start in zip(titles, starts, strict=True)] == starts
    whole = (first, "front", 1, 0), (control, "inward", 0.1, 0), (rest, "front", 0.1, 0)
    for axes, label, part, more in (*whole, (news, "front", 1, 9)):
        wanted = [100 * (part * change("alpha", "front", layer / 4) + more) / 0.5 for layer in range(5)]
        np.testing.assert_allclose(line(axes, label).get_ydata(), wanted)
    tint = max(first.patches, key=lambda patch: patch.get_height())
    assert tint.get_bbox().y0 == 0  # a larger cosine is more alike
    low, high = figure_of("contrast", contrasts=_tiny()).axes[0].get_ylim()
    assert low < -2 < 2 < high  # the margin is to be seen, and no picture of rounding errors


def _tiny():
    return made_tables()["contrasts"].with_columns(pl.col("mean", "ci_low", "ci_high") * 1e-15)


@pytest.mark.parametrize(("verdict", "filled"), [("more alike", True), ("negligible", False), ("undecided", False)])
def test_markers_are_filled_where_the_verdict_is_decided(verdict, filled):
    table = made_tables()["contrasts"].with_columns(verdict=pl.lit(verdict))
    marks = [one for one in figure_of("contrast", contrasts=table).axes[0].lines if one.get_linestyle() == "None"]
    assert {one.get_markerfacecolor() != "white" for one in marks} == {filled}


def test_a_panel_says_why_its_contrasts_are_not_tested():
    missing = {"mean": float("nan"), "verdict": pl.lit("not tested"), "reason": pl.lit("two reviews are too few")}
    figure = figure_of("contrast", contrasts=made_tables()["contrasts"].with_columns(**missing))
    assert "not tested; two reviews are too few" in written(figure)


def test_the_heatmap_is_the_ratio_to_uniform_attention_in_doublings():
    axes = drawn("attention_heatmap").axes[0]
    (mesh,) = axes.collections
    np.testing.assert_allclose(mesh.get_array(), np.tile(np.arange(6) - 3, (4, 1)))
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert (axes.dataLim.y0, axes.dataLim.y1) == (0, 1)
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
    assert "control: removed" in written(drawn("dose"))


def test_conditions_stand_beside_what_they_cost():
    axes = drawn("conditions").axes
    assert lanes(axes[0])[:4] == [
        "masked first",
        "masked random",
        "first, λ = 0.1, all blocks",
        "first, λ = 0.4, all blocks",
    ]
    assert dots(axes[0], "pattern")[0] == (-0.5, True)
    assert set(dots(axes[0], "control")) == {1, 4, 5}
    labels = [" ".join(one.get_xlabel().split()) for one in axes[-4:]]
    assert labels[2:] == ["KL of the next token (nats)", "Δ log-loss of a probe (nats)"]
    without = figure_of("conditions", consequences=None).axes[2]
    assert dots(without, "pattern")[0] == (0.2, True)  # the mean KL of the dose
