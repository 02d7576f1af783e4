"""The figure of maximum explainable variance against the first token's share of the energy."""

import numpy as np
import polars as pl
import pytest

from drawings import MODELS, N, as_svg, line, require_room, texts
from homogenization.figures.first_token_scatter import paired_values, percent
from library.figures import examples
from library.figures.example_tables import DEEPER, correlations_table, metrics_table
from library.figures.examples import drawn, require_refusal

VIEWS = ["raw", "raw_without_first"]


def figure_of(metrics, correlations, **fields):
    return examples.figure_of("first_token_scatter", {"metrics": metrics, "first_token": correlations}, **fields)


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
    for axes, (view, model) in zip(
        drawn("first_token_scatter").axes, [(v, m) for v in VIEWS for m in DEEPER], strict=False
    ):
        points = next(cloud for cloud in axes.collections if cloud.get_label() == "points")
        pairs = paired_values(metrics_table()).filter(view=view, model=model)
        np.testing.assert_allclose(points.get_offsets(), pairs.select("share", "variance").to_numpy())
        np.testing.assert_allclose(points.get_array(), pairs["depth"].to_numpy())
        assert any(curve.get_label() == "bound" for curve in axes.lines) == (view == "raw")
    bound = line(drawn("first_token_scatter").axes[0], "bound")
    np.testing.assert_array_equal(bound.get_xdata(), bound.get_ydata())


def test_it_shows_the_correlation_of_the_table_and_never_rounds_a_broken_bound_up():
    axes = drawn("first_token_scatter").axes
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


def test_it_draws_the_first_variant_that_has_values_and_its_own_models_alone():
    other = metrics_table({"alpha": 8}, 5).with_columns(variant=pl.lit("end"), value=0.3)
    more = correlations_table().with_columns(variant=pl.lit("end"), pearson=0.9)
    chosen = {"models": MODELS[:1], "variants": [["front", "Front"], ["original", "Original"], ["end", "End"]]}
    figure = figure_of(pl.concat([other, metrics_table(n=5)]), pl.concat([more, correlations_table()]), **chosen)
    own = figure_of(metrics_table({"alpha": 8}, 5), correlations_table({"alpha": 8}), models=MODELS[:1])
    assert "Original" in texts(figure)
    assert as_svg(figure) == as_svg(own)


def test_a_table_without_the_metrics_is_refused():
    wanted = "first_token_energy_share in variant"
    require_refusal("first_token_scatter", f"{wanted} 'front'", variants=[["front", "Front"]])
    others = metrics_table(n=2).filter(metric="effective_rank")
    require_refusal("first_token_scatter", f"{wanted} 'original'", {"metrics": others})


@pytest.mark.parametrize(
    ("share", "written"), [(1.0, "100 %"), (0.99999, "99.9 %"), (0.6251, "62.5 %"), (0.0, "0.0 %")]
)
def test_a_share_is_never_rounded_up_to_all(share, written):
    assert percent(share) == written
