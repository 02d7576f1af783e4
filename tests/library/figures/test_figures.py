"""The figures: drawn from tables of the documented columns, read back from the axes, and their captions."""

import importlib.util
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined
from PIL import Image

from homogenization.figures.attention_heatmap import draw_attention_heatmap
from homogenization.figures.attention_profile import draw_attention_profile
from homogenization.figures.catalogue import FIGURE_TITLES
from homogenization.figures.cosine_histogram import draw_cosine_histogram
from homogenization.figures.first_token import METRICS, draw_first_token
from homogenization.figures.mauve import draw_mauve
from homogenization.figures.metric import draw_metric
from homogenization.figures.placement import draw_placement
from homogenization.figures.similarity import draw_similarity
from homogenization.figures.style import counted, save_figure, variant_styles
from homogenization.run.errors import HomogenizationError

ROOT = Path(__file__).parents[3]
VARIANTS = [["original", "Original"], ["front", "Front"], ["end", "End"], ["scattered", "Scattered"]]
MODELS = [["alpha", "Alpha (trained)"], ["beta", "Beta (random)"]]
BLOCKS = {"alpha": 6, "beta": 4}
LONG = "a/rather-long-Model-Name-of-an-organisation-with-many-words-7B-instruct-v0.3"
N = 40


def script_main(rule):
    path = ROOT / "workflow" / "scripts" / f"{rule}.py"
    spec = importlib.util.spec_from_file_location(rule, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def value_of(model, variant, depth, scale=1.0):
    return scale * (2 + depth + 0.1 * len(variant) + 0.01 * len(model))


def summary_table(
    metric="effective_rank", views=("raw", "raw_without_first"), blocks=BLOCKS, variants=VARIANTS, **over
):
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in variants:
            for view in views:
                places = [("residual_stream", layer) for layer in range(n_blocks + 1)] + [("final_norm", n_blocks)]
                for point, layer in places:
                    depth = layer / n_blocks
                    mean = value_of(model, variant, depth, 0.5 if point == "final_norm" else 1.0)
                    rows.append(
                        {
                            "model": model, "variant": variant, "point": point, "layer": layer, "depth": depth,
                            "view": view, "metric": metric, "n_reviews": N, "mean": mean, "std": 1.0, "median": mean,
                            "ci_low": mean - 0.2, "ci_high": mean + 0.3, **over,
                        }
                    )  # fmt: skip
    return pl.DataFrame(rows)


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


def attention_table(blocks=BLOCKS, uniform=lambda place: 3 * np.exp(-4 * place)):
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in VARIANTS:
            for block in range(1, n_blocks + 1):
                for index in range(20):
                    place = (index + 0.5) / 20
                    base = uniform(place)
                    received = base * 2.0 ** (block / n_blocks)
                    interval = (received * 0.9, received * 1.2)
                    rows.append((model, variant, block, block / n_blocks, index, place, N, received, *interval, base))
    columns = ["model", "variant", "layer", "depth", "bin", "relative_position", "n_reviews", "received", "ci_low"]
    return pl.DataFrame(rows, schema=[*columns, "ci_high", "uniform"], orient="row")


def cosine_table(blocks=BLOCKS):
    edges = np.linspace(-1, 1, 41)
    rows = []
    for model, n_blocks in blocks.items():
        for variant, _ in VARIANTS:
            for point, layer in [("residual_stream", i) for i in range(n_blocks + 1)] + [("final_norm", n_blocks)]:
                density = np.exp(-(((edges[:-1] + edges[1:]) / 2 - 0.1 * layer) ** 2) * 20)
                density /= density.sum() * 0.05
                for left, right, value in zip(edges[:-1], edges[1:], density, strict=True):
                    rows.append((model, variant, point, layer, layer / n_blocks, "all_tokens", left, right, value))
    columns = ["model", "variant", "point", "layer", "depth", "tokens", "bin_left", "bin_right", "density"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def similarity_table(random_pairs=True, variants=VARIANTS[1:]):
    rows = []
    for shift, (variant, _) in enumerate(variants):
        for index in range(N):
            f1 = 0.8 + 0.004 * index - 0.01 * shift
            rows.append((variant, f"{index:012x}", f1, f1, f1, f1 >= 0.85, index > 20))
    for index in range(N if random_pairs else 0):
        rows.append(("random_pairs", f"{index:012x}", 0.5, 0.5, 0.5 + 0.002 * index, None, None))
    schema = dict.fromkeys(("precision", "recall", "f1"), pl.Float64)
    schema = {"variant": pl.String, "review_id": pl.String, **schema, "accepted": pl.Boolean, "analysed": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def placement_table(variants=VARIANTS):
    rows = []
    for variant, _ in variants:
        for index in range(N):
            before = index / (N - 1)
            after = {"original": before, "front": 0.0 if index % 4 else 0.05, "end": 1.0}.get(variant, 1 - before)
            rows.append((variant, f"{index % 10:012x}", "phrase", index // 10, before, after))
        rows.append((variant, "0" * 12, "whole", 9, None, None))
    columns = ["variant", "review_id", "phrase", "sentence", "original_position", "position"]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def first_token_table(metrics=METRICS, blocks=BLOCKS):
    return pl.concat([summary_table(metric, ("all_tokens",), blocks) for metric in metrics])


DRAWN = {  # figure -> a figure of well-formed tables, all with the title T
    "metric": lambda: draw_metric(
        summary_table(), "T", "Effective rank", ["raw", "raw_without_first"], VARIANTS, MODELS
    ),
    "mauve": lambda: draw_mauve(mauve_table(), "T", VARIANTS, MODELS),
    "attention_profile": lambda: draw_attention_profile(attention_table(), "T", VARIANTS, MODELS),
    "attention_heatmap": lambda: draw_attention_heatmap(attention_table(), "T", VARIANTS, MODELS),
    "cosine_histogram": lambda: draw_cosine_histogram(cosine_table(), pl.Series([N]), "T", VARIANTS, MODELS),
    "similarity": lambda: draw_similarity(similarity_table(), "T", 0.85, VARIANTS),
    "placement": lambda: draw_placement(placement_table(), "T", VARIANTS),
    "first_token": lambda: draw_first_token(first_token_table(), "T", VARIANTS, MODELS),
}


@cache
def drawn(name):
    return DRAWN[name]()


def texts(figure):
    found = [text.get_text() for text in figure.texts]
    for legend in figure.legends:
        found += [text.get_text() for text in legend.get_texts()]
    for axes in figure.axes:
        found += [axes.get_title(), axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()]
        found += [text.get_text() for text in axes.texts]
    return " ".join(" ".join(found).split())


def line(axes, label):
    return next(curve for curve in axes.lines if curve.get_label() == label)


def boxes_of_texts(figure):
    """What must not lie over anything else: title, note, legend, and every panel with its labels."""
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.texts]
    boxes += [legend.get_window_extent(renderer) for legend in figure.legends]
    return boxes, [axes.get_tightbbox(renderer) for axes in figure.axes if axes.axison]


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_has_title_axis_labels_and_note(name):
    figure = drawn(name)
    assert figure.texts[0].get_text() == "T"
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert any(axes.get_ylabel() for axes in figure.axes)
    size = {"mauve": "6 values a point", "placement": "41 key phrases in 10 reviews"}.get(name, f"{N}")
    assert size in texts(figure)


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_lies_over_anything_else(name):
    figure = drawn(name)
    around, panels = boxes_of_texts(figure)
    for box in around:
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.height
        for panel in panels:
            assert not box.overlaps(panel)
    for index, panel in enumerate(panels):
        assert panel.x0 >= 0
        assert panel.x1 <= figure.bbox.width
        assert not any(panel.overlaps(other) for other in panels[index + 1 :])


def test_metric_lines_are_the_values_of_the_table():
    figure = drawn("metric")
    # two views (rows), two models (columns)
    assert [axes.get_title() for axes in figure.axes] == ["Alpha (trained)", "Beta (random)", "", ""]
    for axes, (model, n_blocks) in zip(figure.axes[:2], BLOCKS.items(), strict=True):
        for variant, _ in VARIANTS:
            depth = np.arange(n_blocks + 1) / n_blocks
            np.testing.assert_allclose(line(axes, variant).get_xdata(), depth)
            np.testing.assert_allclose(line(axes, variant).get_ydata(), [value_of(model, variant, d) for d in depth])
    assert f"n = {N} reviews" in texts(figure)
    assert "without the first token" in texts(figure)


def test_metric_bands_reach_from_low_to_high():
    axes = drawn("metric").axes[0]
    vertices = axes.collections[0].get_paths()[0].vertices
    values = [value_of("alpha", "original", depth) for depth in np.arange(7) / 6]
    assert vertices[:, 1].min() == pytest.approx(min(values) - 0.2)
    assert vertices[:, 1].max() == pytest.approx(max(values) + 0.3)


def test_final_norm_is_an_open_marker_right_of_the_curve_and_not_part_of_it():
    axes = drawn("metric").axes[0]
    assert line(axes, "front").get_xdata().max() == 1
    marker = line(axes, "front after final norm")
    assert len(marker.get_xdata()) == 1
    assert 1 < marker.get_xdata()[0] < axes.get_xlim()[1]
    assert marker.get_ydata()[0] == pytest.approx(value_of("alpha", "front", 1.0, 0.5))
    assert marker.get_markerfacecolor() == "white"


def test_metric_without_final_norm_has_no_room_for_it():
    table = summary_table().filter(pl.col("point") == "residual_stream")
    figure = draw_metric(table, "T", "L", ["raw"], VARIANTS, MODELS)
    assert figure.axes[0].get_xlim()[1] < 1.05
    assert "final norm" not in texts(figure)


def test_metric_shows_its_own_views_where_it_has_none_of_the_wanted():
    table = summary_table("resultant_length", ("all_tokens", "without_first"))
    figure = draw_metric(table, "T", "L", ["raw", "unit"], VARIANTS, MODELS)
    assert len(figure.axes) == 4
    assert "all tokens" in texts(figure)


@pytest.mark.parametrize(("factor", "scale"), [(5.0, "linear"), (5000.0, "log")])
def test_a_metric_over_decades_is_drawn_on_a_logarithmic_axis_and_says_so(factor, scale):
    table = summary_table(views=("raw",)).with_columns(mean=1 + factor * pl.col("depth"))
    figure = draw_metric(table, "T", "Norm", ["raw"], VARIANTS, MODELS)
    assert figure.axes[0].get_yscale() == scale
    assert ("log scale" in figure.axes[0].get_ylabel()) == (scale == "log")


def test_a_constant_metric_is_not_blown_up_to_rounding_noise():
    noise = pl.int_range(pl.len()) * 1e-15
    table = summary_table(views=("raw",)).with_columns(mean=1 + noise, ci_low=1 + noise, ci_high=1 + noise)
    low, high = draw_metric(table, "T", "L", ["raw"], VARIANTS, MODELS).axes[0].get_ylim()
    assert high - low > 0.01


def test_missing_values_leave_gaps_and_a_model_without_values_says_so():
    nan = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise(pl.col("mean"))
    table = summary_table(views=("raw",)).with_columns(mean=nan, ci_low=pl.lit(None, dtype=pl.Float64))
    figure = draw_metric(table, "T", "L", ["raw"], VARIANTS, MODELS)
    assert len(figure.axes[0].lines) > 0
    assert [text.get_text() for text in figure.axes[1].texts if "no values" in text.get_text()]


@pytest.mark.parametrize(
    ("blocks", "variants"),
    [
        ({"alpha": 6}, VARIANTS[:1]),
        ({"alpha": 32, "beta": 28, LONG: 28}, VARIANTS),
        ({f"{LONG}-{index}": 2 for index in range(5)}, [*VARIANTS, ["fifth", LONG], ["sixth", "Sixth"]]),
    ],
)
def test_few_many_and_long_names_fit(blocks, variants):
    table = summary_table(blocks=blocks, variants=variants)
    title = "A title that is far too long for one line " * 4
    figure = draw_metric(table, title, "Some quantity", ["raw"], variants, [[name, name] for name in blocks])
    around, panels = boxes_of_texts(figure)
    assert all(box.x1 <= figure.bbox.width for box in around)
    assert not any(box.overlaps(panel) for box in around for panel in panels)
    assert len(panels) == len(blocks)


def test_variants_differ_in_colour_dashes_and_marker():
    names = [*VARIANTS, *([f"v{index}", ""] for index in range(12))]
    styles = variant_styles(names)
    looks = {(style.colour, str(style.dashes), style.marker) for style in styles.values()}
    assert len(looks) == len(names)
    for field in ("colour", "dashes", "marker"):
        assert len({str(getattr(styles[name], field)) for name, _ in VARIANTS}) == 4


def test_a_variant_keeps_its_style_when_others_come_and_go():
    assert variant_styles(VARIANTS)["end"] == variant_styles([["end", "End"], ["other", ""]])["end"]


def test_mauve_lines_and_null_are_the_values_of_the_table():
    axes = drawn("mauve").axes[0]
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


def test_mauve_without_null_says_so():
    assert "no split-half null" in texts(draw_mauve(mauve_table(null=False), "T", VARIANTS, MODELS))


def test_attention_profile_shows_blocks_over_the_depth_with_the_baseline():
    blocks = {"deep": 32, "shallow": 2}
    figure = draw_attention_profile(attention_table(blocks), "T", VARIANTS, [[name, name] for name in blocks])
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert [title.split()[1] for title in titles] == ["1", "8", "16", "24", "32", "1", "2"]
    axes = figure.axes[0]
    place = (np.arange(20) + 0.5) / 20
    np.testing.assert_allclose(line(axes, "uniform").get_ydata(), 3 * np.exp(-4 * place))
    np.testing.assert_allclose(line(axes, "end").get_ydata(), 3 * np.exp(-4 * place) * 2 ** (1 / 32))
    assert axes.get_yscale() == "log"


def test_attention_profile_of_a_bidirectional_model_is_linear():
    table = attention_table({"alpha": 4}, uniform=lambda place: 1.0)
    assert draw_attention_profile(table, "T", VARIANTS, MODELS[:1]).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("draw", [draw_attention_profile, draw_attention_heatmap])
def test_a_model_without_attention_says_so(draw):
    figure = draw(attention_table({"alpha": 4}), "T", VARIANTS, MODELS)
    assert "no attention" in texts(figure)


@pytest.mark.parametrize("draw", [draw_attention_profile, draw_attention_heatmap])
def test_attention_without_baseline_or_with_empty_bins_is_drawn(draw):
    nan = pl.lit(float("nan"))
    empty_bin = pl.when(pl.col("bin") == 19).then(nan).otherwise(pl.col("received")).alias("received")
    draw(attention_table().with_columns(empty_bin), "T", VARIANTS, MODELS)
    figure = draw(attention_table().with_columns(uniform=nan), "T", VARIANTS, MODELS)
    assert not any(text.get_text() == "uniform attention" for legend in figure.legends for text in legend.get_texts())


def test_heat_map_colours_are_doublings_over_uniform_around_zero():
    figure = drawn("attention_heatmap")
    mesh = figure.axes[0].collections[0]
    cells = np.asarray(mesh.get_array()).reshape(6, 20)
    np.testing.assert_allclose(cells, np.repeat(np.arange(1, 7)[:, None] / 6, 20, axis=1))  # lowest row: block 1
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert [axes.get_title() for axes in figure.axes[:4]] == [label for _, label in VARIANTS]


def test_cosine_ridges_rise_with_depth_and_keep_the_form_of_the_histogram():
    figure = drawn("cosine_histogram")
    axes = figure.axes[0]
    ridges = [curve.get_ydata() for curve in axes.lines if curve.get_label() == "original"]
    assert len(ridges) == 8  # 7 layers and the final norm
    histogram = cosine_table().filter(model="alpha", variant="original", point="residual_stream", layer=3)["density"]
    np.testing.assert_allclose((ridges[3] - 3) / (ridges[3] - 3).max(), histogram / histogram.max(), atol=1e-12)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "0 (0.00)"
    assert "final norm" in labels[-1].replace("\n", " ")


def test_cosine_ridges_of_a_deep_model_are_a_selection_with_both_ends():
    figure = draw_cosine_histogram(cosine_table({"deep": 32}), pl.Series([N]), "T", VARIANTS, [["deep", "Deep"]])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 10
    assert labels[0].startswith("0 ")
    assert labels[-2].startswith("32 ")


def test_similarity_states_acceptance_threshold_and_baseline():
    figure = drawn("similarity")
    # front: .8 + .004 i reaches .85 from i = 13 on
    assert "27 of 40 accepted (67.5 %)" in figure.axes[0].get_title(loc="left")
    assert figure.axes[-1].get_title(loc="left").startswith("Random pairs of originals: median 0.539, 40 pairs")
    assert all(axes.lines[-1].get_xdata()[0] == 0.85 for axes in figure.axes)
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    assert "threshold: 19 are" in texts(figure)


def test_similarity_without_baseline_without_variants_and_of_equal_scores():
    assert "no random pairs" in texts(draw_similarity(similarity_table(random_pairs=False), "T", 0.85, VARIANTS))
    assert len(draw_similarity(similarity_table(variants=[]), "T", 0.85, VARIANTS).axes) == 1
    equal = similarity_table(random_pairs=False).with_columns(f1=pl.lit(1.0))
    assert len(draw_similarity(equal, "T", 1.0, VARIANTS).axes) == 3


def test_placement_bars_are_shares_with_exact_ends_apart():
    figure = drawn("placement")
    before, after = figure.axes[1].containers  # front
    heights = [bar.get_height() for bar in after]
    np.testing.assert_allclose(heights[:2], [75, 25])
    assert sum(heights) == pytest.approx(100)
    assert before[0].get_height() == pytest.approx(100 / N)  # one phrase stood at exactly 0
    assert figure.axes[2].containers[1][-1].get_height() == 100  # end
    assert "left out (1 phrase)" in texts(figure)


def test_placement_of_a_variant_without_phrases_says_so():
    assert "no key phrases" in texts(draw_placement(placement_table(VARIANTS[:2]), "T", VARIANTS))


def test_first_token_has_a_row_a_measure_and_the_uniform_share():
    table = first_token_table().with_columns(
        mean=pl.when(pl.col("metric") == "first_token_attention_excess").then(pl.col("mean") - 0.04).otherwise("mean")
    )
    figure = draw_first_token(table, "T", VARIANTS, MODELS)
    assert len(figure.axes) == 8
    np.testing.assert_allclose(line(figure.axes[4], "uniform").get_ydata(), 0.04)
    assert line(figure.axes[0], "front").get_xdata().max() == 1


def test_first_token_leaves_out_what_is_not_in_the_table():
    figure = draw_first_token(first_token_table(["first_token_norm"]), "T", VARIANTS, MODELS)
    assert len(figure.axes) == 2


def test_scripts_write_both_formats_with_the_same_bytes_again(tmp_path):
    table = tmp_path / "attention.parquet"
    attention_table({"alpha": 4}).write_parquet(table)
    main = script_main("plot_attention_heatmap")
    written = []
    for run in ("first", "second"):
        svg, png = tmp_path / run / "figure.svg", tmp_path / run / "figure.png"
        main(attention=table, svg=svg, png=png, title="T", variants=VARIANTS, models=MODELS[:1])
        written.append((svg.read_bytes(), png.read_bytes()))
        assert sorted(path.name for path in (tmp_path / run).iterdir()) == ["figure.png", "figure.svg"]
    assert written[0] == written[1]
    assert b"<dc:date>" not in written[0][0]
    with Image.open(tmp_path / "first" / "figure.png") as image:
        assert 600 <= image.width <= 2000


def test_metric_script_draws_its_metric_alone(tmp_path):
    table = tmp_path / "summary.parquet"
    other = summary_table("stable_rank").with_columns(pl.col("mean", "ci_low", "ci_high") + 100)
    pl.concat([summary_table(), other]).write_parquet(table)
    svg, png = tmp_path / "m.svg", tmp_path / "m.png"
    script_main("plot_metric")(
        summary=table, svg=svg, png=png, metric="effective_rank", title="Only this", label="L", views=["raw"],
        variants=VARIANTS, models=MODELS,
    )  # fmt: skip
    again = draw_metric(summary_table(), "Only this", "L", ["raw"], VARIANTS, MODELS)
    save_figure(again, tmp_path / "again.svg", tmp_path / "again.png")
    assert svg.read_bytes() == (tmp_path / "again.svg").read_bytes()


@pytest.mark.parametrize(
    ("rule", "tables", "more", "named"),
    [
        (
            "plot_metric",
            {"summary": summary_table},
            {"metric": "no_metric", "label": "L", "views": ["raw"]},
            "no_metric",
        ),
        ("plot_mauve", {"mauve": lambda: mauve_table().filter(kind="null")}, {}, "MAUVE"),
        ("plot_attention_profile", {"attention": lambda: attention_table().clear()}, {}, "attention"),
        ("plot_attention_heatmap", {"attention": lambda: attention_table().clear()}, {}, "attention"),
        ("plot_cosine_histogram", {"cosines": lambda: cosine_table().clear(), "summary": summary_table}, {}, "cosines"),
        ("plot_first_token", {"summary": summary_table}, {}, "first_token_norm"),
        ("plot_similarity", {"similarity": lambda: similarity_table().clear()}, {"threshold": 0.85}, "front"),
        ("plot_placement", {"placement": lambda: placement_table().clear()}, {}, "front"),
    ],
)
def test_a_table_without_the_rows_is_refused_by_name(tmp_path, rule, tables, more, named):
    paths = {name: tmp_path / f"{name}.parquet" for name in tables}
    for name, table in tables.items():
        table().write_parquet(paths[name])
    models = {} if rule in ("plot_similarity", "plot_placement") else {"models": MODELS}
    svg, png = tmp_path / "figure.svg", tmp_path / "figure.png"
    with pytest.raises(HomogenizationError, match=named) as refused:
        script_main(rule)(**paths, svg=svg, png=png, title="T", variants=VARIANTS, **models, **more)
    assert str(next(iter(paths.values()))) in str(refused.value)
    assert not svg.exists()
    assert not png.exists()


def test_counts_are_written_as_a_number_or_a_range():
    assert counted(pl.Series([64, 64])) == "64 reviews"
    assert counted(pl.Series([1])) == "1 review"
    assert counted(pl.Series([1500, None, 1400])) == "1,400 to 1,500 reviews"
    assert counted(pl.Series([], dtype=pl.Int64)) == "0 reviews"


# in test_figures_statistics.py and test_sensitivity.py
OTHERS_DRAWN = {"contrast", "components", "first_token_scatter", "claims", "sensitivity"}


def test_every_figure_has_a_default_title_and_a_caption():
    captions = {path.stem for path in (ROOT / "workflow" / "report").glob("*.rst")}
    assert captions == {*FIGURE_TITLES, "metric", "acceptance", "rewriting", "workflow"}
    assert set(DRAWN) | OTHERS_DRAWN == {*FIGURE_TITLES, "metric"}


@pytest.mark.parametrize("caption", sorted((ROOT / "workflow" / "report").glob("*.rst")), ids=lambda path: path.stem)
def test_captions_render(caption, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/tables").mkdir(parents=True)
    (tmp_path / "results/tables/verdicts.csv").write_text(
        'statement,source,criterion,small,control\nAll is well.,we,> 0,"supported: 1 [0.5, 2]",undecided\n'
    )
    config = {
        "corpus": {"source": "reviews.jsonl", "n_reviews": 64},
        "variants": {"original": {"rewriter": "none"}, "front": {"rewriter": "rules", "position": "front"}},
        "models": {"small": {"weights": {"hub": "someone/small"}}, "control": {"weights": {"random": {"x": 1}}}},
    }
    snakemake = SimpleNamespace(config=config, params=SimpleNamespace(title="The title", threshold=0.85))
    environment = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    text = environment.from_string(caption.read_text(encoding="utf-8")).render(snakemake=snakemake)
    html = publish_parts(text, writer="html", settings_overrides={"report_level": 1})["body"]
    assert "system-message" not in html
    assert "{{" not in html
    assert "{%" not in html
    assert ":math:" not in text
    said = {
        "workflow": ["front", "someone/small", "64", "supported: 1"],
        "claims": ["criterion"],
        "acceptance": ["0.85"],
        "rewriting": ["median words"],
    }
    assert all(word in html for word in said.get(caption.stem, ["The title"]))
