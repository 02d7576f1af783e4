"""The figure of differences between variants over depth, as shares of one yardstick."""

import textwrap

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures import grammar
from homogenization.figures.grammar import Panels, Shown, Tables, draw_lines, legend_of, named_in, range_with_zero
from homogenization.figures.style import DECISIONS, DEPTH, MARGINS, variant_styles
from homogenization.metrics.catalogue import likeness
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import DISORDER, ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED


def contrast(tables: Tables, shown: Shown) -> Figure:
    """Differences of `shown.metric` in `shown.view` over depth; columns are models.

    The first row has each variant minus the original, the next the same in each group of reviews, those after them a
    variant minus its controls, the last what a variant does beyond disorder of its size. A row has one scale.
    """
    table = _shares(tables["contrasts"], shown)
    rows = {(None, ORIGINAL): (whole := "Each variant − original")}
    rows |= {(group, ORIGINAL): f"{whole}: {shown.by} {group}" for group in table["group"].unique().drop_nulls().sort()}
    controlled = {name: label for name, label in shown.variants.items() if name != ORIGINAL}
    rows |= {(None, name): f"{label} − each of its controls" for name, label in controlled.items()}
    rows |= {(None, DISORDER): "Each variant, beyond disorder of its size"}
    rows = named_in(rows, table.select("group", "row").rows())
    styles = variant_styles(shown.variants, shown.ladder)
    panels = Panels(shown.models, rows, height=2.1, share="xr")
    for ((group, row), model), axes in panels.axes.items():
        of_row = table.filter(pl.col("group").eq_missing(pl.lit(group, pl.String)), row=row)
        of_panel = of_row.filter(model=model)
        drawn = named_in(styles, of_panel.filter(pl.col("mean").is_finite())["line"])
        draw_lines(axes, of_panel, drawn, hue="line", marker="")
        for filled in (True, False):
            marks = {name: style._replace(dashes="", open=not filled) for name, style in drawn.items()}
            draw_lines(axes, of_panel.filter(filled=filled), marks, hue="line", band=False, ms=3.5, markevery=1)
        if not drawn:
            reasons = of_panel.filter(verdict=NOT_TESTED)["reason"].unique().sort()
            grammar.say(axes, textwrap.fill("; ".join(["not tested", *reasons]), 40))
        axes.set_ylim(range_with_zero(of_row, least=200 * shown.margin))
        grammar.draw_margin(axes, 100 * shown.margin, shown.metric)
    meanings = DECISIONS | dict(list(MARGINS.items())[: 2 if likeness(shown.metric) else 1])
    legend = legend_of(named_in(shown.variants, table["line"]), styles) | meanings
    return panels.finish(shown, table, legend, x=DEPTH, y="Δ, % of the yardstick")


def _shares(contrasts: pl.DataFrame, shown: Shown) -> pl.DataFrame:
    """The layers of the figure's metric, view and pairs, in percent of the yardstick; `row`, `line` and `filled`.

    Of groups of reviews, differences from the original alone are drawn.
    """
    pairs = [*shown.pairs, *((name, DISORDER) for name in shown.variants)]
    pairs = pl.DataFrame(pairs, ("variant", "minus"), orient="row")
    rows = contrasts.filter(pl.col("layers").is_null(), point=RESIDUAL_STREAM, metric=shown.metric, view=shown.view)
    rows = rows.filter(pl.col("group").is_null() | (pl.col("minus") == ORIGINAL))
    alone = pl.when(pl.col("minus").is_in([ORIGINAL, DISORDER]))
    return rows.join(pairs, on=("variant", "minus"), how="semi").with_columns(
        pl.col("mean", "ci_low", "ci_high") / pl.col("yardstick") * 100,
        row=alone.then("minus").otherwise("variant"),
        line=alone.then("variant").otherwise("minus"),
        filled=pl.col("verdict").is_in(DECIDED),
    )
