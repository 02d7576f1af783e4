"""The figure of dose and response."""

from functools import cache

import numpy as np
import polars as pl
import pytest

from dosed import COSINE, STRENGTHS, curves, dial, intervened_rows, template
from drawings import MODELS, line, require_house_style, require_refusal, saved, shown, texts
from homogenization.figures.dose_response import draw
from homogenization.statistics.interventions import effects_table
from homogenization.tables.intervened import DOSE_MEANS_SCHEMA

N = 12
EFFECTS = {"first": 0.4, "removed": -0.2, "uniform": 0.1}


@cache
def tables():
    """The tables of two models; the second has no next token, one range of blocks less and no template."""
    conditions, kl = curves(EFFECTS, {"first": 0.5, "removed": 1.0, "uniform": 2.0}, N, 0.1)
    middle = {dial("first", 0.1, "middle"): np.full(N, 9.0)}
    signed = {template(s, name): np.full(N, s) for s in (-0.5, 0.5) for name in ("template", "permuted_template")}
    moved = {dial("first", 0.4): np.arange(N) < 3}
    rows = [
        intervened_rows(chosen, kl, moved, layers, view=view, model=model)
        for model, chosen in (("alpha", conditions | middle | signed), ("beta", conditions))
        for view in ("all_tokens", "without_first", "after_quarter")
        for layers in ("all", "middle", "output")
    ]
    effects = effects_table(pl.concat(rows), 200, 0.95, 0)
    keys = ["model", "variant", "kind", "pattern", "blocks", "strength"]
    doses = effects.select(keys).unique()
    known = {(one.pattern, one.strength): values.mean() for one, values in kl.items()}
    means = [known.get((row["pattern"], row["strength"])) for row in doses.iter_rows(named=True)]
    doses = doses.with_columns(kl=pl.Series(means, dtype=pl.Float64))
    doses = doses.with_columns(kl=pl.when(pl.col("model") == "alpha").then("kl"))
    empty = {name: pl.lit(None, dtype) for name, dtype in DOSE_MEANS_SCHEMA.items() if name not in doses.columns}
    return {"interventions": effects, "doses": doses.with_columns(**empty).select(*DOSE_MEANS_SCHEMA)}


def figure_of(**fields):
    return draw(tables(), shown(**{"metric": COSINE, "label": "cosine", "homogenization": 1} | fields))


@cache
def drawn():
    return figure_of()


def panel(row, column, layers=0):
    """A panel of a row with three doses, twice. Rows: the first model's two ranges in one view; the second's."""
    return drawn().axes[row * 6 + layers * 3 + column]


def test_it_keeps_the_house_style():
    require_house_style(drawn(), f"n = {N - 3} to {N} reviews")
    assert "Left out: 3 reviews of a dose, in which another token took over the sink." in texts(drawn())
    assert "Alpha (trained); middle blocks" in texts(drawn())
    assert "control: nowhere (removed)" in texts(drawn())


def test_lines_are_the_changes_of_the_table_and_start_at_no_dose():
    effects = tables()["interventions"].filter(model="alpha", view="without_first", layers="all", blocks="all")
    for pattern in EFFECTS:
        rows = effects.filter(pattern=pattern, against="untouched", part="whole").sort("strength")
        drawn_line = line(panel(0, 0), pattern)
        np.testing.assert_allclose(drawn_line.get_xdata(), [0, *STRENGTHS])
        np.testing.assert_allclose(drawn_line.get_ydata(), [0, *rows["estimate"]])


def test_the_second_column_has_the_damage_on_the_scale_of_its_root():
    axes = panel(0, 1)
    doses = tables()["doses"].filter(model="alpha", pattern="uniform", blocks="all").sort("strength")
    np.testing.assert_allclose(line(axes, "uniform").get_xdata(), [0, *doses["kl"]])
    places = axes.transData.transform([(value, 0) for value in (0.0, 0.04, 0.16)])[:, 0]
    assert places[2] - places[0] == pytest.approx(2 * (places[1] - places[0]))
    assert axes.get_xlim()[1] >= doses["kl"].max()


def test_a_template_has_both_signs():
    np.testing.assert_allclose(line(panel(0, 2), "template").get_xdata(), [-0.5, 0, 0.5])


def test_a_model_without_next_token_or_template_has_empty_panels():
    for column in (1, 2):
        assert "not changed" in [text.get_text() for text in panel(2, column).texts]


def test_only_patterns_that_are_no_control_have_bands():
    assert len(panel(0, 0).collections) == 1


def test_the_side_of_homogenization_is_tinted():
    def tinted(figure):
        return [patch.get_bbox().height for axes in figure.axes for patch in axes.patches]

    assert tinted(drawn())
    assert not tinted(figure_of(homogenization=0))


def test_each_range_of_blocks_has_a_row_in_one_view():
    np.testing.assert_allclose(line(panel(1, 0), "first").get_xydata(), [[0, 0], [0.1, 9]], atol=1e-9)
    assert len(drawn().axes) == 18
    highest = [max(np.max(curve.get_ydata()) for curve in panel(row, 0).lines) for row in range(3)]
    assert [value > 1 for value in highest] == [False, True, False]
    assert "Tokens: without the first token." in texts(drawn())


def test_one_range_has_each_view_in_a_row_and_is_named_below():
    only = {**tables(), "interventions": tables()["interventions"].filter(blocks="middle")}
    written = texts(draw(only, shown(metric=COSINE, label="cosine")))
    assert "Changed: middle blocks." in written
    assert "Alpha (trained); all tokens" in written
    assert "Alpha (trained); without the first token" in written
    assert "Tokens:" not in written


def test_three_models_with_two_ranges_fit_on_a_page():
    more = {
        name: pl.concat([table.with_columns(model=pl.lit(f"{table['model'][0]}{n}")) for n in range(3)])
        for name, table in ((name, table.filter(model="alpha")) for name, table in tables().items())
    }
    models = [[f"alpha{number}", f"Model {number}"] for number in range(3)]
    assert draw(more, shown(metric=COSINE, label="cosine", models=models)).get_figheight() < 17


def test_it_refuses_what_the_table_lacks():
    chosen = shown(metric="stable_rank", label="", models=MODELS)
    require_refusal(draw, tables(), chosen, "no rows for metric 'stable_rank'")


def test_two_drawings_are_the_same_file(tmp_path):
    one = shown(metric=COSINE, label="cosine", models=MODELS[1:])
    assert saved(draw(tables(), one), tmp_path) == saved(draw(tables(), one), tmp_path)
