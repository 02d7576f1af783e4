"""What every figure of the catalogue keeps to, drawn of its example."""

import re

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

from drawings import LONG, as_svg, line, require_axis_labels, require_house_style, require_room, texts
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.drawing import save_figure
from homogenization.figures.shown import names_of
from homogenization.names.variants import ORIGINAL
from library.figures.examples import drawn, example, figure_of, require_refusal, shown_of, tables_of, used_by

# figure -> panel, label of a line, columns of x and y, and the rows of the figure's first table that are the line
LINES = {
    "metric": (1, "front", "depth mean", "model=beta variant=front view=raw"),
    "mauve": (0, "front", "depth mean", "model=alpha variant=front kind=consecutive"),
    "first_token": (2, "original", "depth mean", "model=alpha metric=first_token_energy_share variant=original"),
    "attention_profile": (0, "end", "relative_position received", "model=alpha variant=end layer=1"),
    "extrema": (0, "curve", "depth mean", "model=alpha variant=original view=raw"),
    "probes": (0, "front", "depth estimate", "model=alpha variant=front quantity=log_loss"),
    "training": (0, "held-out", "step held_out_loss", "model=alpha"),
}
SAMES = {"point": "residual_stream"}  # of tables that have other points, and levels beside differences


@pytest.mark.parametrize("name", FIGURES)
def test_it_keeps_the_house_style(name):
    require_house_style(drawn(name), example(name).size)
    if example(name).labelled:
        require_axis_labels(drawn(name))


@pytest.mark.parametrize("name", FIGURES)
def test_it_shows_its_own_models_variants_and_metric_alone_and_is_the_same_file_each_time(name):
    """Rows of others in the same tables change nothing."""
    chosen = {"models": "model", "variants": "variant", "metric": "metric", "view": "view"}
    chosen |= {"contrasts": "minus"}
    told = [column for field, column in chosen.items() if field in FIGURES[name].shows]
    tables = {table: with_strangers(rows, told) for table, rows in tables_of(name).items()}
    assert as_svg(figure_of(name, tables)) == as_svg(drawn(name))


@pytest.mark.parametrize("name", FIGURES)
def test_on_paper_it_has_the_width_of_a_column_or_page_and_its_words_in_the_metadata(name, tmp_path):
    figure = figure_of(name, style="paper", title="A title of its own")
    save_figure(figure, tmp_path / "a.svg", tmp_path / "a.pdf", style="paper")
    svg = (tmp_path / "a.svg").read_text("utf-8")
    words = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
    assert "A title of its own" not in [text.get_text() for text in words]
    assert "<dc:title>A title of its own</dc:title>" in svg
    assert ("<dc:description>" in svg) == bool(figure.get_label().partition("\n")[2])
    assert "/Subtype /Type0" in (tmp_path / "a.pdf").read_bytes().decode("latin1")  # fonts, not outlines
    assert figure.get_figwidth() in (3.35, 6.75)
    assert min(text.get_fontsize() for text in words) >= 6
    require_room(figure)


def with_strangers(table, told):
    """`table` with its rows once more for another value of each of the columns `told`, and with other numbers."""
    numbers = pl.col(pl.Float64).exclude("depth") + 3
    strangers = [
        table.filter(pl.col(column).is_not_null()).with_columns(numbers, pl.lit("stranger").alias(column))
        for column in told
        if column in table.columns
    ]
    return pl.concat([*strangers, table])


@pytest.mark.parametrize("name", sorted(FIGURES.keys() - {"balance"}))  # the ticks of its one axis name models
def test_long_names_and_titles_have_room(name):
    named = {"models": shown_of(name).models, "variants": shown_of(name).variants}
    long = {field: [[key, f"{LONG}-{place}"] for place, (key, _) in enumerate(pairs)] for field, pairs in named.items()}
    require_room(figure_of(name, title="A long title " * 20, **long))


@pytest.mark.parametrize("name", [name for name in FIGURES if "models" in FIGURES[name].shows])
def test_a_model_that_the_tables_lack_is_left_out_or_says_so(name):
    second = names_of(shown_of(name).models)[1]
    tables = {
        table: rows.filter(pl.col("model").eq_missing(second).not_()) if "model" in rows.columns else rows
        for table, rows in tables_of(name).items()
    }
    written = texts(figure_of(name, tables))
    assert (example(name).absent or "") in written
    if example(name).absent is None:
        assert "Beta (random)" not in written
        assert "Alpha (trained)" in written


@pytest.mark.parametrize("name", FIGURES)
def test_tables_without_its_rows_are_refused(name):
    table, rows = next(iter(tables_of(name).items()))
    if example(name).refusal:
        require_refusal(name, example(name).refusal, {table: rows.clear()})
    if example(name).absent != "" and "models" in FIGURES[name].shows:
        require_refusal(name, "no rows", models=[["nobody", "Nobody"]])
    if "metric" in FIGURES[name].shows:
        require_refusal(name, "no rows for metric 'nothing'", metric="nothing")


def test_tables_of_other_variants_or_pairs_are_refused():
    require_refusal("components", "nobody", variants=[["nobody", "Nobody"]])
    require_refusal("contrast", shown_of("contrast").metric, contrasts=[["scattered", "end"]])


@pytest.mark.parametrize(("name", "column"), [("metric", "mean"), ("components", "change")])
def test_a_model_without_values_says_so_in_its_panel_alone(name, column):
    (table, rows), *_ = tables_of(name).items()
    nothing = pl.when(pl.col("model") == "beta").then(float("nan")).otherwise(column)
    rows = rows.with_columns(nothing.alias(column))
    if "ci_low" in rows.columns:  # what is missing leaves a gap in the band
        rows = rows.with_columns(ci_low=pl.lit(None, dtype=pl.Float64))
    alpha, beta = figure_of(name, {table: rows}).axes[:2]
    assert len(alpha.lines) > 0
    assert "no values" in [text.get_text() for text in beta.texts]
    assert "no values" not in [text.get_text() for text in alpha.texts]


@pytest.mark.parametrize("name", [name for name in FIGURES if "homogenization" in FIGURES[name].shows])
def test_the_side_on_which_tokens_are_more_alike_is_tinted_where_a_metric_has_one(name):
    def tinted(figure):
        return [patch for axes in figure.axes for patch in axes.patches if patch.get_label() == "more alike"]

    assert tinted(drawn(name))
    assert "more alike" in texts(drawn(name))
    neither = figure_of(name, homogenization=0)
    assert not tinted(neither)
    assert "more alike" not in texts(neither)


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_the_rows_of_a_table(name):
    panel, label, columns, wanted = LINES[name]
    x, y = columns.split()
    wanted = dict(part.split("=") for part in wanted.split())
    rows = next(iter(tables_of(name).values()))
    rows = rows.filter(pl.col(column).cast(pl.String) == value for column, value in wanted.items())
    rows = rows.filter(**{column: value for column, value in SAMES.items() if column in rows.columns})
    rows = rows.filter(pl.col("minus").is_null()) if {"minus", "kind"} <= set(rows.columns) else rows
    rows = rows.filter(pl.col(y).is_finite()).sort(x)
    shown = line(drawn(name).axes[panel], label)
    np.testing.assert_array_equal(shown.get_xdata(), rows[x])
    np.testing.assert_allclose(shown.get_ydata(), rows[y])


@pytest.mark.parametrize("name", FIGURES)
def test_it_uses_the_tables_and_fields_of_its_entry(name):
    """One field more would redraw the figure for nothing; one less would draw it from a default."""
    tables, fields = used_by(name)
    assert fields - {"source", "style"} == {"title", *FIGURES[name].shows}
    assert tables == {table.partition(".")[0] for table in FIGURES[name].tables}


@pytest.mark.parametrize("name", FIGURES)
def test_models_and_variants_are_told_by_their_labels_alone(name):
    """Whatever they are called in tables."""
    pairs = [pair for field in ("models", "variants") for pair in getattr(shown_of(name), field)]
    ids = {one: f"id_{one}" for one in names_of(pairs) if one != ORIGINAL}
    tables = {
        table: rows.with_columns(pl.col({"model", "variant", "minus", "control"} & {*rows.columns}).replace(ids))
        for table, rows in tables_of(name).items()
    }
    told = {field: renamed(value, ids) for field, value in vars(shown_of(name)).items()}
    told["variants"] = [[one, "Untouched" if one == ORIGINAL else label] for one, label in told["variants"]]
    figure = figure_of(name, tables, **told)
    written = [text.get_text() for text in figure.findobj(Text) if text.get_visible()]
    assert not [text for text in written if "id_" in text]
    assert not [text for text in written if re.match("original\\b", text, re.IGNORECASE)]


def renamed(value, ids):
    """The value of a field with other names: in pairs of a name and a label, in pairs of names, in lists of names."""
    if isinstance(value, str):
        return ids.get(value, value)
    return [renamed(one, ids) for one in value] if isinstance(value, list | tuple) else value
