"""The figure of maximum explainable variance against the first token's share of the energy."""

from functools import cache

import numpy as np
import polars as pl

from drawings import (
    LONG,
    MODELS,
    N,
    line,
    named,
    require_axis_labels,
    require_house_style,
    require_refusal,
    require_room,
    saved,
    shown,
    texts,
)
from homogenization.figures.first_token_scatter import draw, paired_values
from homogenization.statistics.first_token import FIRST_TOKEN_SCHEMA

BLOCKS = {"alpha": 8, "beta": 4}
VIEWS = ["raw", "raw_without_first"]


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
    names = ["model", "variant", "view", "predictor", "scope"]
    values = ["pearson", "pearson_low", "pearson_high", "bound_holds"]
    return pl.DataFrame(rows, schema=[*names, *values], orient="row")


def figure_of(metrics, correlations, **fields):
    return draw({"metrics": metrics, "first_token": correlations}, shown(**fields))


@cache
def drawn():
    return figure_of(metrics_table(), correlations_table())


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N} reviews")
    require_axis_labels(drawn())


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


def test_points_are_the_pairs_with_their_depth_and_none_lies_below_the_bound():
    for axes, (view, model) in zip(drawn().axes, [(v, m) for v in VIEWS for m in BLOCKS], strict=False):
        points = next(cloud for cloud in axes.collections if cloud.get_label() == "points")
        pairs = paired_values(metrics_table()).filter(view=view, model=model)
        np.testing.assert_allclose(points.get_offsets(), pairs.select("share", "variance").to_numpy())
        np.testing.assert_allclose(points.get_array(), pairs["depth"].to_numpy())
        assert any(curve.get_label() == "bound" for curve in axes.lines) == (view == "raw")
    bound = line(drawn().axes[0], "bound")
    np.testing.assert_array_equal(bound.get_xdata(), bound.get_ydata())


def test_it_shows_the_correlation_of_the_table_and_never_rounds_a_broken_bound_up():
    axes = drawn().axes
    assert axes[0].get_title() == "Alpha (trained)"
    assert axes[0].texts[-1].get_text() == "r = −0.62 [−0.68, −0.61]\nbound holds: 100 %"
    assert axes[2].texts[-1].get_text() == "r = −0.62 [−0.68, −0.61]"
    broken = figure_of(metrics_table({"alpha": 2}), correlations_table(bound_holds=0.99999), models=MODELS[:1])
    assert "bound holds: 99.9 %" in texts(broken)


def test_it_looks_closer_where_the_first_token_is_small_and_keeps_the_bound():
    small = pl.when(pl.col("metric") == "first_token_energy_share", pl.col("model") == "beta")
    table = metrics_table(n=5).with_columns(value=small.then(pl.col("value") * 0.02).otherwise("value"))
    figure = figure_of(table, correlations_table())
    assert figure.axes[0].get_xlim() == (-0.02, 1.02)
    right = figure.axes[1].get_xlim()[1]
    assert right < 0.03
    assert figure.axes[3].get_xlim()[1] == right
    assert line(figure.axes[1], "bound").get_ydata()[-1] == right


def test_without_correlations_or_values_or_a_view():
    table = (
        metrics_table()
        .filter(pl.col("view") != "raw")
        .with_columns(value=pl.when(pl.col("model") == "beta").then(float("nan")).otherwise("value"))
    )
    figure = figure_of(table, correlations_table().clear())
    assert "no values" in [text.get_text() for text in figure.axes[1].texts]
    assert "r = " not in texts(figure)
    assert not figure.legends  # nothing is bounded here
    require_room(figure)


def test_many_models_with_long_names_fit():
    blocks = {f"{LONG}-{index}": 2 for index in range(4)}
    look = {"title": "T " * 90, "variants": [["original", LONG]], "models": named(blocks)}
    require_room(figure_of(metrics_table(blocks, 5), correlations_table(blocks), **look))


def test_it_draws_the_first_variant_that_has_values_and_its_own_models_alone(tmp_path):
    other = metrics_table({"alpha": 8}, 5).with_columns(variant=pl.lit("end"), value=0.3)
    more = correlations_table().with_columns(variant=pl.lit("end"), pearson=0.9)
    chosen = {"models": MODELS[:1], "variants": [["front", "Front"], ["original", "Original"], ["end", "End"]]}
    figure = figure_of(pl.concat([other, metrics_table(n=5)]), pl.concat([more, correlations_table()]), **chosen)
    own = figure_of(metrics_table({"alpha": 8}, 5), correlations_table({"alpha": 8}), models=MODELS[:1])
    assert "Original" in texts(figure)
    assert saved(figure, tmp_path) == saved(own, tmp_path)


def test_a_table_without_the_metrics_is_refused():
    tables = {"metrics": metrics_table(n=2), "first_token": correlations_table()}
    require_refusal(draw, tables, shown(variants=[["front", "Front"]]), "first_token_energy_share in variant 'front'")
    tables["metrics"] = tables["metrics"].filter(metric="effective_rank")
    require_refusal(draw, tables, shown(), "first_token_energy_share in variant 'original'")


def test_the_table_has_the_columns_that_it_is_drawn_from():
    assert set(correlations_table().columns) <= set(FIRST_TOKEN_SCHEMA)
