"""The figures of tests, components, correlations and claims: read back from the axes, and their captions."""

import importlib.util
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle
from PIL import Image
from scipy import stats

from homogenization.figures.claims import COLUMNS, VERDICTS, draw_claims
from homogenization.figures.components import draw_components, mean_changes
from homogenization.figures.contrast import draw_contrast
from homogenization.figures.first_token_scatter import draw_first_token_scatter, paired_values
from homogenization.figures.short_numbers import short_number
from homogenization.figures.style import save_figure, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.run.errors import HomogenizationError
from homogenization.statistics.claims import CLAIMS_SCHEMA
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.statistics.first_token import FIRST_TOKEN_SCHEMA
from homogenization.tables.components import COMPONENTS_SCHEMA

ROOT = Path(__file__).parents[3]
VARIANTS = [["original", "Original"], ["front", "Front"], ["end", "End"], ["scattered", "Scattered"]]
PAIRS = [["front", "original"], ["end", "original"], ["scattered", "original"], ["front", "scattered"]]
MODELS = [["alpha", "Alpha (trained)"], ["beta", "Beta (random)"]]
BLOCKS = {"alpha": 8, "beta": 4}
VIEWS = ["raw", "raw_without_first"]
LONG = "a/rather-long-Model-Name-of-an-organisation-with-many-words-7B-instruct-v0.3"
N = 40
BRANCHES = ["norm_1", "attention", "attention_addition", "norm_2", "feed_forward", "feed_forward_addition"]
FINDINGS = ["supported", "contradicted", "undecided", "not tested"]


def script_main(rule):
    path = ROOT / "workflow" / "scripts" / f"{rule}.py"
    spec = importlib.util.spec_from_file_location(rule, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def difference(variant, minus, depth):
    return 0.1 * (len(variant) - len(minus)) * (0.5 + depth) - 0.05


def contrasts_table(blocks=BLOCKS, pairs=PAIRS, metric="max_explainable_variance", views=VIEWS):
    rows = []
    for model, n_blocks in blocks.items():
        for variant, minus in pairs:
            for view in views:
                for point, layer in [("residual_stream", at) for at in range(n_blocks + 1)] + [
                    ("final_norm", n_blocks)
                ]:
                    mean = difference(variant, minus, layer / n_blocks)
                    rows.append(
                        {
                            "model": model, "variant": variant, "minus": minus, "point": point, "layer": layer,
                            "depth": layer / n_blocks, "view": view, "metric": metric, "n_reviews": N, "mean": mean,
                            "ci_low": mean - 0.02, "ci_high": mean + 0.03, "p_max_t": 0.01 if layer % 2 else 0.2,
                            "mean_common": mean / 2, "n_common": 31,
                        }
                    )  # fmt: skip
    return pl.DataFrame(rows)


def components_table(blocks=BLOCKS, variants=("original",), names=BRANCHES, n=6):
    rows = []
    for model, n_blocks in blocks.items():
        for variant in variants:
            generator = np.random.default_rng(len(model) + len(variant))
            for layer in range(1, n_blocks + 1):
                for place, component in enumerate(names):
                    for metric in ("cosine_anisotropy", "singular_anisotropy"):
                        for view in ("all_tokens", "without_first"):
                            changes = 0.1 * (place - 2) + 0.02 * layer + 0.05 * generator.normal(size=n)
                            about = (layer, layer / n_blocks, component, view, metric)
                            rows += [(model, variant, f"{i:012x}", *about, change) for i, change in enumerate(changes)]
    columns = ["model", "variant", "review_id", "layer", "depth", "component", "view", "metric", "change"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def metrics_table(blocks=BLOCKS, n=N):
    rows = []
    for model, n_blocks in blocks.items():
        generator = np.random.default_rng(len(model))
        for layer in range(n_blocks + 1):
            share = generator.uniform(size=n)
            variance = share + (1 - share) * generator.uniform(size=n)
            for metric, view, values in (
                ("first_token_energy_share", "all_tokens", share),
                ("max_explainable_variance", "raw", variance),
                ("max_explainable_variance", "raw_without_first", generator.uniform(size=n)),
                ("max_explainable_variance", "unit", generator.uniform(size=n)),
                ("effective_rank", "raw", 9 * share),
            ):
                for review, value in enumerate(values):
                    place = ("residual_stream", layer, layer / n_blocks)
                    rows.append((model, "original", f"{review:012x}", *place, view, metric, value))
                    if layer == n_blocks:
                        rows.append((model, "original", f"{review:012x}", "final_norm", *place[1:], view, metric, 0.5))
    columns = ["model", "variant", "review_id", "point", "layer", "depth", "view", "metric", "value"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def correlations_table(blocks=BLOCKS, bound_holds=1.0):
    rows = []
    for model in blocks:
        for predictor, pearson in (("first_token_norm", 0.11), ("first_token_energy_share", -0.625)):
            for scope in ("reviews_and_layers", "layers", "reviews"):
                for view in VIEWS:
                    r = pearson if scope == "reviews_and_layers" else 0.22
                    holds = bound_holds if view == "raw" else float("nan")
                    rows.append((model, "original", view, predictor, scope, r, r - 0.05, r + 0.015, holds))
    columns = [
        "model",
        "variant",
        "view",
        "predictor",
        "scope",
        "pearson",
        "pearson_low",
        "pearson_high",
        "bound_holds",
    ]
    return pl.DataFrame(rows, schema=columns, orient="row")


def claims_table(models=("alpha", "beta"), n_claims=9):
    rows = []
    for index in range(n_claims):
        statement = "Something long enough to take more than one line of the board holds. " * (1 + index % 3)
        about = [f"claim-{index}", statement.strip(), ["paper", "thesis"][index >= 5]]
        for place, model in enumerate([None] if index == 4 else models):
            verdict = FINDINGS[(index + place) % 4]
            estimate = float("nan") if verdict == "not tested" else -0.01234 * 10.0 ** (-index)
            statistic = "similarity" if index == 4 else "contrast"
            interval = (estimate * 1.5, float("nan") if index == 5 else estimate / 2)
            reason = "the study has no metric first_token_attention_share " * index if verdict == "not tested" else None
            rows.append((*about, model, statistic, verdict, estimate, *interval, "< 0", N, None, reason))
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def contrast_figure(
    table=None, variants=VARIANTS, models=MODELS, pairs=PAIRS, homogenization=1, views=VIEWS, title="T"
):
    table = contrasts_table() if table is None else table
    return draw_contrast(table, title, "variance", views, homogenization, pairs, 0.05, variants, models)


DRAWN = {  # figure -> a figure of well-formed tables, all with the title T
    "contrast": contrast_figure,
    "components": lambda: draw_components(components_table(), "T", VARIANTS, MODELS),
    "first_token_scatter": lambda: draw_first_token_scatter(
        metrics_table(), correlations_table(), "T", "Original", MODELS
    ),
    "claims": lambda: draw_claims(claims_table(), "T", MODELS),
}


@cache
def drawn(name):
    return DRAWN[name]()


def texts(figure):
    found = [text.get_text() for text in figure.texts]
    for legend in figure.legends:
        found += [text.get_text() for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in axes.texts)]
    return " ".join(" ".join(found).split())


def line(axes, label):
    return next(curve for curve in axes.lines if curve.get_label() == label)


def labels(axes):
    return {curve.get_label() for curve in axes.lines}


def boxes(figure):
    """What must not lie over anything else: title, note, legend, and every panel with its labels."""
    renderer = figure.canvas.get_renderer()
    around = [text.get_window_extent(renderer) for text in figure.texts]
    around += [legend.get_window_extent(renderer) for legend in figure.legends]
    return around, [axes.get_tightbbox(renderer) for axes in figure.axes]


def require_room(figure):
    around, panels = boxes(figure)
    for box in [*around, *panels]:
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
    for index, box in enumerate(around):
        assert not any(box.overlaps(panel) for panel in [*panels, *around[index + 1 :]])
    for index, panel in enumerate(panels):
        assert not any(panel.overlaps(other) for other in panels[index + 1 :])


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_has_title_and_sample_size_and_nothing_overlaps(name):
    figure = drawn(name)
    assert figure.texts[0].get_text() == "T"
    places = [value for axes in figure.axes for value in axes.get_position().bounds]
    assert places == pytest.approx(
        [round(value, 6) for value in places], abs=1e-13
    )  # else the bytes of the file differ now and then
    size = {"components": "n = 6 reviews, Original"}.get(name, f"n = {N} reviews")
    assert size in texts(figure)
    require_room(figure)


# --- contrasts


def test_contrast_has_a_row_for_each_subtracted_variant_and_view():
    figure = drawn("contrast")
    assert len(figure.axes) == 4 * len(MODELS)
    assert labels(figure.axes[0]) >= {"front", "end", "scattered"}
    assert not labels(figure.axes[4]) & {"end", "scattered"}  # front minus scattered alone
    for told in ("minus Original; as is, all tokens", "minus Scattered; as is, without the first token"):
        assert told in texts(figure)


def test_contrast_lines_bands_and_equal_lengths_are_the_values_of_the_table():
    for axes, (_, n_blocks) in zip(drawn("contrast").axes[:2], BLOCKS.items(), strict=True):
        depth = np.arange(n_blocks + 1) / n_blocks
        wanted = difference("front", "original", depth)
        np.testing.assert_allclose(line(axes, "front").get_xdata(), depth)
        np.testing.assert_allclose(line(axes, "front").get_ydata(), wanted)
        np.testing.assert_allclose(line(axes, "front at equal length").get_ydata(), wanted / 2)
        heights = axes.collections[0].get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(wanted.min() - 0.02)
        assert heights.max() == pytest.approx(wanted.max() + 0.03)
        assert {*line(axes, "zero").get_ydata()} == {0}


def test_contrast_markers_are_filled_where_significant_and_every_layer_has_one():
    axes = drawn("contrast").axes[0]
    colour = variant_styles(VARIANTS)["front"].colour
    filled, hollow = line(axes, "front filled"), line(axes, "front open")
    np.testing.assert_allclose(filled.get_xdata(), np.array([1, 3, 5, 7]) / 8)
    np.testing.assert_allclose(hollow.get_xdata(), np.array([0, 2, 4, 6, 8]) / 8)
    assert filled.get_markerfacecolor() == colour
    assert (hollow.get_markerfacecolor(), hollow.get_markeredgecolor()) == ("white", colour)


def test_contrast_after_the_final_norm_is_filled_where_its_own_test_is_significant():
    p = pl.when(pl.col("point") == "final_norm", pl.col("variant") == "end").then(0.001).otherwise("p_max_t")
    axes = contrast_figure(contrasts_table().with_columns(p_max_t=p), views=["raw"]).axes[0]
    assert line(axes, "end after final norm").get_markerfacecolor() == variant_styles(VARIANTS)["end"].colour
    assert line(axes, "front after final norm").get_markerfacecolor() == "white"


def test_contrast_uses_the_colours_of_all_variants():
    """A variant has the colour of every other figure, though the original has no line here."""
    styles = variant_styles([*VARIANTS, ["fifth", "Fifth"], ["sixth", "Sixth"]])
    variants = [*VARIANTS, ["fifth", "Fifth"], ["sixth", "Sixth"]]
    pairs = [["sixth", "original"]]
    figure = contrast_figure(contrasts_table(pairs=pairs), variants, pairs=pairs, views=["raw"])
    assert line(figure.axes[0], "sixth").get_color() == styles["sixth"].colour


@pytest.mark.parametrize(("sign", "edge"), [(1, 1), (-1, 0)])
def test_contrast_tints_the_side_of_homogenization_and_shows_both(sign, edge):
    table = contrasts_table(pairs=PAIRS[:1], views=["raw"])
    for axes in contrast_figure(table, homogenization=sign, pairs=PAIRS[:1]).axes:
        tint = next(patch for patch in axes.patches if patch.get_label() == "more alike")
        ends = sorted([tint.get_y(), tint.get_y() + tint.get_height()])
        assert ends[1 - edge] == 0
        assert ends[edge] == pytest.approx(axes.get_ylim()[edge])
        assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]
    neither = contrast_figure(table, homogenization=0, pairs=PAIRS[:1])
    assert not any(patch.get_label() == "more alike" for patch in neither.axes[0].patches)
    assert "more alike" not in texts(neither)


def test_contrast_without_common_length_or_final_norm_does_not_speak_of_them():
    table = contrasts_table().filter(pl.col("point") == "residual_stream")
    table = table.with_columns(mean_common=pl.lit(None, pl.Float64), n_common=pl.lit(None, pl.Int64))
    figure = contrast_figure(table, views=["raw"])
    assert "same number of tokens" not in texts(figure)
    assert "final norm" not in texts(figure)
    assert figure.axes[0].get_xlim()[1] < 1.05


def test_contrast_of_missing_values_says_so_and_of_rounding_errors_is_flat():
    gone = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise(1e-15)
    table = contrasts_table().with_columns(gone.alias(name) for name in ("mean", "ci_low", "ci_high", "mean_common"))
    figure = contrast_figure(table.with_columns(p_max_t=pl.lit(None, pl.Float64)), views=["raw"])
    assert "no values" in [text.get_text() for text in figure.axes[1].texts]
    low, high = figure.axes[0].get_ylim()
    assert high - low > 0.01
    assert line(figure.axes[0], "front filled").get_xdata().size == 0


@pytest.mark.parametrize("n_models", [1, 2, 5])
def test_contrast_of_long_names_and_titles_fits(n_models):
    blocks = {f"{LONG}-{index}": 3 for index in range(n_models)}
    variants = [["original", LONG if n_models < 3 else "Original"], ["front", LONG], ["fifth", "Fifth"]]
    pairs = [["front", "original"], ["fifth", "original"]]
    models = [[name, name] for name in blocks]
    table = contrasts_table(blocks, pairs, views=["raw_without_first"])
    require_room(contrast_figure(table, variants, models, pairs, title="A long title " * 20))


def test_contrast_markers_shrink_where_layers_are_many():
    deep = contrast_figure(contrasts_table({"alpha": 90}, PAIRS[:1]), models=MODELS[:1], pairs=PAIRS[:1])
    spacing = np.diff(deep.axes[0].transData.transform([[0, 0], [1 / 90, 0]])[:, 0])[0] * 72 / deep.dpi
    assert line(deep.axes[0], "front filled").get_markersize() < 1.3 * spacing


# --- components


def test_mean_changes_average_layers_first_and_have_student_intervals():
    table = components_table()
    by_quarter, overall = mean_changes(table)
    of_one = {"model": "alpha", "component": "attention", "metric": "cosine_anisotropy", "view": "without_first"}
    values = table.filter(**of_one).sort("review_id", "layer")["change"].to_numpy().reshape(6, 8)
    for quarter in range(4):  # of eight blocks: two each
        means = values[:, 2 * quarter : 2 * quarter + 2].mean(axis=1)
        row = by_quarter.row(by_predicate=_is(quarter=quarter, **of_one), named=True)
        low, high = stats.ttest_1samp(means, 0).confidence_interval(0.95)
        np.testing.assert_allclose([row["mean"], row["ci_low"], row["ci_high"]], [means.mean(), low, high])
    row = overall.row(by_predicate=_is(**of_one), named=True)
    low, high = stats.ttest_1samp(values.mean(axis=1), 0).confidence_interval(0.95)
    np.testing.assert_allclose([row["mean"], row["ci_low"], row["ci_high"]], [values.mean(), low, high])
    assert row["n_reviews"] == 6


def _is(**values):
    return pl.all_horizontal(pl.col(name) == value for name, value in values.items())


@pytest.mark.parametrize("n_blocks", [1, 2, 4, 12, 28, 32, 80])
def test_every_block_counts_in_its_quarter(n_blocks):
    by_quarter, _ = mean_changes(
        components_table({"m": n_blocks}, names=["attention"], n=1).with_columns(change=pl.col("layer").cast(float))
    )
    one = by_quarter.filter(metric="cosine_anisotropy", view="all_tokens")
    layers = {quarter: [] for quarter in range(4)}
    for layer in range(1, n_blocks + 1):
        layers[(4 * layer + n_blocks - 1) // n_blocks - 1].append(layer)  # ceil(4 l / L) - 1 in whole numbers
    wanted = {quarter: np.mean(members) for quarter, members in layers.items() if members}
    assert dict(one.select("quarter", "mean").rows()) == pytest.approx(wanted)


def test_component_means_do_not_depend_on_the_order_of_rows_and_leave_missing_values_out():
    table = components_table().with_columns(
        change=pl.when(pl.col("review_id") == "0" * 12).then(float("nan")).otherwise("change")
    )
    first, again = mean_changes(table), mean_changes(table.sample(fraction=1, shuffle=True, seed=5))
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))
    assert first[1]["n_reviews"].unique().to_list() == [5]


ROW = {"metric": "cosine_anisotropy", "view": "all_tokens"}


def test_component_bars_and_numbers_are_the_means():
    table = components_table()
    axes = drawn("components").axes[0]
    by_quarter, overall = (part.filter(model="alpha", **ROW) for part in mean_changes(table))
    for component in BRANCHES:
        bars = [bar.get_width() for box in axes.containers if box.get_label() == component for bar in box]
        np.testing.assert_allclose(bars, by_quarter.filter(component=component).sort("quarter")["mean"])
        mean = overall.filter(component=component)["mean"].item()
        assert line(axes, f"{component}, all blocks").get_xdata() == pytest.approx([mean])
        assert short_number(mean, signed=True) in [text.get_text() for text in axes.texts]
    assert "addition of attention" in [label.get_text() for label in axes.get_yticklabels()]
    assert axes.get_xlabel() == "Change of cosine anisotropy"


def test_component_numbers_lie_beside_the_bars():
    for axes in drawn("components").axes:
        renderer = axes.figure.canvas.get_renderer()
        right = max(bar.get_window_extent(renderer).x1 for box in axes.containers for bar in box)
        numbers = [text for text in axes.texts if text.get_text()[0] in "+−"]
        assert len(numbers) == len(BRANCHES)
        assert all(text.get_window_extent(renderer).x0 > right for text in numbers)


def test_components_of_a_parallel_block_are_told_from_those_of_another():
    parallel = ["norm_1", "attention", "feed_forward", "addition"]
    both = [components_table({"alpha": 4}), components_table({"beta": 4}, names=parallel)]
    figure = draw_components(pl.concat(both).filter(**ROW), "T", VARIANTS, MODELS)
    for axes, n_missing in zip(figure.axes[:2], (1, 3), strict=True):
        assert [text.get_text() for text in axes.texts].count("none") == n_missing
    assert "addition of both" in [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_components_of_several_variants_have_columns_of_their_own_and_long_names_fit():
    table = components_table({LONG: 4}, ("original", "front"))
    figure = draw_components(table.filter(**ROW), "T", VARIANTS, [[LONG, LONG]])
    titles = ["".join(axes.get_title().split()) for axes in figure.axes[:2]]
    assert titles == [f"{LONG}:Original", f"{LONG}:Front"]
    require_room(figure)


def test_components_leave_models_out_that_were_not_taken_apart():
    figure = draw_components(components_table({"beta": 4}).filter(**ROW), "T", VARIANTS, MODELS)
    assert [axes.get_title() for axes in figure.axes] == ["Beta (random)"]


def test_components_without_values_say_so():
    nothing = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise("change")
    figure = draw_components(components_table().filter(**ROW).with_columns(change=nothing), "T", VARIANTS, MODELS)
    assert "no values" in [text.get_text() for text in figure.axes[1].texts]
    assert "no values" not in [text.get_text() for text in figure.axes[0].texts]


# --- the first token


def test_paired_values_are_those_of_the_same_review_and_layer():
    table = metrics_table()
    pairs = paired_values(table)
    assert set(pairs["view"]) == set(VIEWS)
    assert len(pairs) == 2 * N * (9 + 5)
    row = pairs.filter(model="beta", review_id=f"{7:012x}", layer=3, view="raw").row(0, named=True)
    wanted = table.filter(model="beta", review_id=f"{7:012x}", layer=3)
    for name, metric, view in (
        ("share", "first_token_energy_share", "all_tokens"),
        ("variance", "max_explainable_variance", "raw"),
    ):
        assert row[name] == wanted.filter(metric=metric, view=view)["value"].item()
    assert pairs.equals(paired_values(table.sample(fraction=1, shuffle=True, seed=5)))


def test_scatter_points_are_the_pairs_with_their_depth_and_none_lies_below_the_bound():
    figure = drawn("first_token_scatter")
    for axes, (view, model) in zip(figure.axes, [(v, m) for v in VIEWS for m in BLOCKS], strict=False):
        points = next(drawn_ for drawn_ in axes.collections if drawn_.get_label() == "points")
        pairs = paired_values(metrics_table()).filter(view=view, model=model)
        np.testing.assert_allclose(points.get_offsets(), pairs.select("share", "variance").to_numpy())
        np.testing.assert_allclose(points.get_array(), pairs["depth"].to_numpy())
        assert ("bound" in labels(axes)) == (view == "raw")
    bound = line(figure.axes[0], "bound")
    np.testing.assert_array_equal(bound.get_xdata(), bound.get_ydata())


def test_scatter_shows_the_correlation_of_the_table_and_never_rounds_a_broken_bound_up():
    axes = drawn("first_token_scatter").axes
    assert axes[0].get_title() == "Alpha (trained)"
    assert axes[0].texts[-1].get_text() == "r = −0.62 [−0.68, −0.61]\nbound holds: 100 %"
    assert axes[2].texts[-1].get_text() == "r = −0.62 [−0.68, −0.61]"
    broken = correlations_table(bound_holds=0.99999)
    figure = draw_first_token_scatter(metrics_table(), broken, "T", "Original", MODELS)
    assert "bound holds: 99.9 %" in texts(figure)


def test_scatter_looks_closer_where_the_first_token_is_small_and_keeps_the_bound():
    small = pl.when(pl.col("metric") == "first_token_energy_share", pl.col("model") == "beta")
    table = metrics_table(n=5).with_columns(value=small.then(pl.col("value") * 0.02).otherwise("value"))
    figure = draw_first_token_scatter(table, correlations_table(), "T", "Original", MODELS)
    assert figure.axes[0].get_xlim() == (-0.02, 1.02)
    right = figure.axes[1].get_xlim()[1]
    assert right < 0.03
    assert figure.axes[3].get_xlim()[1] == right
    assert line(figure.axes[1], "bound").get_ydata()[-1] == right


def test_scatter_without_correlations_or_values_or_a_view():
    table = (
        metrics_table()
        .filter(pl.col("view") != "raw")
        .with_columns(value=pl.when(pl.col("model") == "beta").then(float("nan")).otherwise("value"))
    )
    figure = draw_first_token_scatter(table, correlations_table().clear(), "T", "Original", MODELS)
    assert "no values" in [text.get_text() for text in figure.axes[1].texts]
    assert "r = " not in texts(figure)
    assert not figure.legends  # nothing is bounded here
    require_room(figure)


def test_scatter_of_many_models_with_long_names_fits():
    blocks = {f"{LONG}-{index}": 2 for index in range(4)}
    table, correlations = metrics_table(blocks, 5), correlations_table(blocks)
    require_room(draw_first_token_scatter(table, correlations, "T " * 90, LONG, [[name, name] for name in blocks]))


# --- claims


def cells(figure):
    """The boxes of the board from left to right, row by row, each with the texts in it."""
    axes = figure.axes[0]
    found = []
    for box in (patch for patch in axes.patches if isinstance(patch, Rectangle)):
        left, top = box.get_xy()
        right, bottom = left + box.get_width(), top + box.get_height()
        inside = [text for text in axes.texts if left < text.get_position()[0] < right]
        inside = [text for text in inside if top < text.get_position()[1] < bottom]
        found.append((box, inside))
    return found


def test_board_has_a_cell_for_each_claim_and_model_with_verdict_and_number():
    table = claims_table()
    found = cells(drawn("claims"))
    assert [box.get_label() for box, _ in found] == table["verdict"].to_list()
    for (box, inside), row in zip(found, table.iter_rows(named=True), strict=True):
        look = VERDICTS[row["verdict"]]
        assert to_hex(box.get_facecolor()) == to_hex(look.colour)
        told = [text.get_text() for text in inside]
        assert told[0] == look.sign
        if row["verdict"] == "not tested":
            assert told[1].split("\n")[0] == "the study has no"
            assert len(told) == 2
        else:
            assert told[1] == short_number(row["estimate"], signed=row["statistic"] == "contrast")
            assert len(told) == (3 if np.isfinite(row["ci_high"]) else 2)


def test_board_gives_a_claim_that_no_model_has_a_say_in_one_wide_cell():
    widths = [box.get_width() for box, _ in cells(drawn("claims"))]
    assert max(widths) == pytest.approx(2 * min(widths), rel=0.05)
    assert widths.count(max(widths)) == 1


def test_board_groups_by_source_and_counts_verdicts():
    figure = drawn("claims")
    told = [text.get_text() for text in figure.axes[0].texts]
    assert told.index("paper") < told.index("thesis")
    of_alpha = claims_table().filter(model="alpha")["verdict"].to_list()
    tally = "   ".join(f"{look.sign} {of_alpha.count(name)}" for name, look in VERDICTS.items())
    assert tally in told
    assert "mean difference < 0" in told


def test_board_texts_stay_in_their_cells_and_rows():
    figure = drawn("claims")
    renderer = figure.canvas.get_renderer()
    found = cells(figure)
    for box, inside in found:
        outline = box.get_window_extent(renderer)
        for text in inside:
            extent = text.get_window_extent(renderer)
            assert outline.x0 <= extent.x0
            assert extent.x1 <= outline.x1
            assert outline.y0 <= extent.y0
            assert extent.y1 <= outline.y1
    extents = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    for index, extent in enumerate(extents):
        assert not any(extent.overlaps(other) for other in extents[index + 1 :])
    first_column = min(box.get_window_extent(renderer).x0 for box, _ in found)
    aside = [text for text in figure.axes[0].texts if text.get_position()[0] == 0]
    assert len(aside) == 2 * 9 + 2
    assert all(text.get_window_extent(renderer).x1 < first_column for text in aside)


def test_verdicts_are_told_apart_without_colour_and_can_be_read():
    def luminance(colour):
        parts = np.asarray(to_rgb(colour))
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    looks = list(VERDICTS.values())
    assert len({look.sign for look in looks}) == 4
    darkness = sorted(luminance(look.colour) for look in looks)
    assert min(np.diff(darkness)) > 0.15
    # at least what the web guidelines ask of small text, and of large text where there is a lone dash
    assert all(contrast(look.ink, look.colour) > (4.2 if look.sign == "–" else 4.5) for look in looks)


def test_board_of_one_and_of_many_models_with_long_names_fits():
    for names in ([LONG], [f"{LONG}-{index}" for index in range(7)]):
        figure = draw_claims(claims_table(names), "A long title " * 20, [[name, name] for name in names])
        around, panels = boxes(figure)
        assert all(box.x1 <= figure.bbox.width for box in [*around, *panels])
        assert not any(box.overlaps(panel) for box in around for panel in panels)


def test_board_shows_a_model_that_was_not_judged_as_not_tested():
    figure = draw_claims(claims_table(["alpha"]), "T", MODELS)
    verdicts = [box.get_label() for box, _ in cells(figure)]
    assert verdicts.count("not tested") >= 8


# --- what they share


@pytest.mark.parametrize(
    ("drawn_from", "schema"),
    [
        (contrasts_table, CONTRASTS_SCHEMA),
        (components_table, COMPONENTS_SCHEMA),
        (correlations_table, FIRST_TOKEN_SCHEMA),
        (claims_table, CLAIMS_SCHEMA),
    ],
)
def test_figures_are_drawn_from_columns_that_the_tables_have(drawn_from, schema):
    assert set(drawn_from().columns) <= set(schema)
    assert set(COLUMNS.items()) <= set(CLAIMS_SCHEMA.items())


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        (-0.01234, "−0.012", "−0.012"),
        (0.6535, "0.653", "+0.653"),
        (0.0996, "0.100", "+0.100"),
        (1.449, "1.4", "+1.4"),
        (12.3, "12", "+12"),
        (99.7, "100", "+100"),
        (1234.5, "1234", "+1234"),
        (0.00999, "0.010", "+0.010"),
        (2.14e-5, "2.1e−5", "+2.1e−5"),
        (-3e7, "−3.0e7", "−3.0e7"),
        (0.0, "0", "0"),
        (-0.0, "0", "0"),
    ],
)
def test_short_numbers(value, plain, signed):
    assert short_number(value) == plain
    assert short_number(value, signed=True) == signed


def test_views_are_called_by_their_look_and_their_tokens():
    assert view_label("raw") == "as is, all tokens"
    assert view_label("centred_without_first") == "centred, without the first token"
    assert view_label("without_first") == "without the first token"
    assert view_label("of_my_own") == "of my own"


def write_inputs(folder):
    """Tables as the scripts read them, more than each needs."""
    folder.mkdir(exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in ("contrasts", "components", "metrics", "first_token")}
    other = contrasts_table(metric="stable_rank").with_columns(pl.col("mean") + 100)
    pl.concat([contrasts_table(), other, contrasts_table(pairs=[["end", "front"]])]).write_parquet(paths["contrasts"])
    components_table(variants=("original", "hidden")).write_parquet(paths["components"])
    metrics_table().write_parquet(paths["metrics"])
    correlations_table().write_parquet(paths["first_token"])
    paths["claims"] = folder / "claims.csv"
    claims_table().with_columns(q_value=pl.lit("with, a comma")).write_csv(paths["claims"])
    return paths


CONTRAST_PARAMS = {
    "metric": "max_explainable_variance", "label": "variance", "views": VIEWS[:1], "pairs": PAIRS, "alpha": 0.05,
}  # fmt: skip
SCRIPTS = {  # rule -> its inputs, its further parameters
    "plot_contrast": (["contrasts"], {"variants": VARIANTS, **CONTRAST_PARAMS}),
    "plot_components": (["components"], {"variants": VARIANTS}),
    "plot_first_token_scatter": (["metrics", "first_token"], {"variants": VARIANTS}),
    "plot_claims": (["claims"], {}),
}


ALPHA = {"alpha": 8}
FROM_PART = {  # rule -> the figure that it shall draw of the tables of `write_inputs`
    "plot_contrast": lambda: contrast_figure(contrasts_table(ALPHA), models=MODELS[:1], views=["raw"]),
    "plot_components": lambda: draw_components(components_table(ALPHA), "T", VARIANTS, MODELS[:1]),
    "plot_first_token_scatter": lambda: draw_first_token_scatter(
        metrics_table(ALPHA), correlations_table(ALPHA), "T", "Original", MODELS[:1]
    ),
    "plot_claims": lambda: draw_claims(claims_table(), "T", MODELS[:1]),
}


@pytest.mark.parametrize("rule", SCRIPTS)
def test_scripts_draw_their_part_of_the_tables_with_the_same_bytes_again(rule, tmp_path):
    paths = write_inputs(tmp_path / "tables")
    inputs, more = SCRIPTS[rule]
    arguments = {name: paths[name] for name in inputs} | more
    svg, png = tmp_path / "figure.svg", tmp_path / "figure.png"
    script_main(rule)(**arguments, svg=svg, png=png, title="T", models=MODELS[:1])
    # nothing of the other metrics, pairs, variants and models, and the same bytes from another drawing
    save_figure(FROM_PART[rule](), tmp_path / "own.svg", tmp_path / "own.png")
    assert svg.read_bytes() == (tmp_path / "own.svg").read_bytes()
    assert png.read_bytes() == (tmp_path / "own.png").read_bytes()
    assert b"<dc:date>" not in svg.read_bytes()
    with Image.open(png) as image:
        assert 600 <= image.width <= 2000


@pytest.mark.parametrize(
    ("rule", "change", "named"),
    [
        ("plot_contrast", {"metric": "participation_ratio"}, "participation_ratio"),
        ("plot_contrast", {"pairs": [["scattered", "end"]]}, "max_explainable_variance"),
        ("plot_components", {"variants": [["nobody", "Nobody"]]}, "nobody"),
        ("plot_first_token_scatter", {"variants": [["front", "Front"]]}, "first_token_energy_share"),
        ("plot_claims", {"claims": "empty"}, "any claim"),
    ],
)
def test_a_table_without_the_rows_is_refused_by_name(tmp_path, rule, change, named):
    paths = write_inputs(tmp_path)
    if "claims" in change:
        claims_table().clear().write_csv(paths["claims"])
        change = {}
    inputs, more = SCRIPTS[rule]
    svg, png = tmp_path / "figure.svg", tmp_path / "figure.png"
    arguments = {name: paths[name] for name in inputs} | more | change
    with pytest.raises(HomogenizationError, match=named) as refused:
        script_main(rule)(**arguments, svg=svg, png=png, title="T", models=MODELS)
    assert str(paths[inputs[0]]) in str(refused.value)
    assert not svg.exists()


def test_a_damaged_table_of_claims_is_moved_aside(tmp_path):
    claims = tmp_path / "claims.csv"
    claims.write_text("claim,statement\na,b\n")
    with pytest.raises(HomogenizationError, match="moved to"):
        script_main("plot_claims")(claims=claims, svg=tmp_path / "a", png=tmp_path / "b", title="T", models=MODELS)
    assert (tmp_path / "claims.csv.damaged").exists()
    with pytest.raises(HomogenizationError, match="gone"):
        script_main("plot_claims")(claims=claims, svg=tmp_path / "a", png=tmp_path / "b", title="T", models=MODELS)


@pytest.mark.parametrize("caption", DRAWN)
def test_captions_render(caption):
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string((ROOT / "workflow/report" / f"{caption}.rst").read_text(encoding="utf-8"))
    text = template.render(snakemake=SimpleNamespace(params=SimpleNamespace(title="The title"), config={}))
    html = publish_parts(text, writer="html", settings_overrides={"report_level": 1})["body"]
    assert "system-message" not in html
    assert "{" not in html
    assert "The title" in html


def test_the_caption_of_claims_serves_the_table_too():
    """The rule that makes the table has no title."""
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    template = environment.from_string((ROOT / "workflow/report/claims.rst").read_text(encoding="utf-8"))
    assert template.render(snakemake=SimpleNamespace(params=SimpleNamespace())).startswith("Published claims")
