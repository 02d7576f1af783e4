"""The figure of what each component of a block adds."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from drawings import LONG, line, named, require_room
from homogenization.figures.components import mean_changes
from homogenization.names.numbers import signed, significant
from library.figures.example_tables import BRANCHES, components_table
from library.figures.examples import drawn, figure_of

ROW = {"metric": "cosine_anisotropy", "view": "all_tokens"}


def test_means_average_layers_first_and_have_student_intervals():
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


def test_means_do_not_depend_on_the_order_of_rows_and_leave_missing_values_out():
    table = components_table().with_columns(
        change=pl.when(pl.col("review_id") == "0" * 12).then(float("nan")).otherwise("change")
    )
    first, again = mean_changes(table), mean_changes(table.sample(fraction=1, shuffle=True, seed=5))
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))
    assert first[1]["n_reviews"].unique().to_list() == [5]


def test_bars_and_numbers_are_the_means():
    axes = drawn("components").axes[0]
    assert all(panel.get_xlabel() for panel in drawn("components").axes)
    by_quarter, overall = (part.filter(model="alpha", **ROW) for part in mean_changes(components_table()))
    for component in BRANCHES:
        bars = [bar.get_width() for box in axes.containers if box.get_label() == component for bar in box]
        np.testing.assert_allclose(bars, by_quarter.filter(component=component).sort("quarter")["mean"])
        mean = overall.filter(component=component)["mean"].item()
        assert line(axes, f"{component}, all blocks").get_xdata() == pytest.approx([mean])
        assert signed(significant(mean, 2)) in [text.get_text() for text in axes.texts]
    assert "addition of attention" in [label.get_text() for label in axes.get_yticklabels()]
    assert axes.get_xlabel() == "Change of cosine anisotropy"


def test_a_parallel_block_is_told_from_another():
    parallel = ["norm_1", "attention", "feed_forward", "addition"]
    both = [components_table({"alpha": 4}), components_table({"beta": 4}, names=parallel)]
    figure = figure_of("components", pl.concat(both).filter(**ROW))
    for axes, n_missing in zip(figure.axes[:2], (1, 3), strict=True):
        assert [text.get_text() for text in axes.texts].count("none") == n_missing
    assert "addition of both" in [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_several_variants_have_columns_of_their_own_and_long_names_fit():
    table = components_table({LONG: 4}, ("original", "front"))
    figure = figure_of("components", table.filter(**ROW), models=named([LONG]))
    titles = ["".join(axes.get_title().split()) for axes in figure.axes[:2]]
    assert titles == [f"{LONG}:Original", f"{LONG}:Front"]
    require_room(figure)
