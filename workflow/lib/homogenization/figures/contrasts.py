"""Figures of differences between variants: over depth, and averaged over parts of it, as shares of one yardstick."""

import textwrap

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures import grammar
from homogenization.figures.grammar import Panels, Shown, Tables, draw_lines, legend_of, named_in, range_with_zero
from homogenization.figures.style import DECISIONS, DEPTH, DOT, MARGINS, STEPS, variant_styles
from homogenization.metrics.catalogue import likeness
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED
from homogenization.statistics.rest import DISORDER

_SHARE = "Δ, % of the yardstick"
_PARTS = {"all": "all layers", "first": "first quarter", "middle": "middle half", "last": "last quarter"}


def contrast(tables: Tables, shown: Shown) -> Figure:
    """Differences of `shown.metric` in `shown.view` over depth; columns are models.

    The first row has each variant minus the original, the next a variant minus its controls, the last what a variant
    does beyond disorder of its size. The panels of a row have one scale.
    """
    table = _shares(tables["contrasts"], shown).filter(pl.col("layers").is_null(), point=RESIDUAL_STREAM)
    alone = pl.col("minus").is_in([ORIGINAL, DISORDER])
    group, line = (
        pl.when(alone).then(first).otherwise(second) for first, second in (("minus", "variant"), ("variant", "minus"))
    )
    table = table.with_columns(group=group, line=line)
    rows = {name: f"{label} − each of its controls" for name, label in shown.variants.items()}
    rows = {ORIGINAL: "Each variant − original"} | {name: label for name, label in rows.items() if name != ORIGINAL}
    rows = named_in(rows | {DISORDER: "Each variant, beyond disorder of its size"}, table["group"])
    styles = variant_styles(shown.variants, shown.ladder)
    panels = Panels(shown.models, rows, height=2.1, share="xr")
    for (group, model), axes in panels.axes.items():
        of_panel = table.filter(model=model, group=group)
        drawn = named_in(styles, of_panel.filter(pl.col("mean").is_finite())["line"])
        draw_lines(axes, of_panel, drawn, hue="line", marker="")
        for filled in (True, False):
            marks = {name: style._replace(dashes="", open=not filled) for name, style in drawn.items()}
            draw_lines(axes, of_panel.filter(filled=filled), marks, hue="line", band=False, ms=3.5, markevery=1)
        if not drawn:
            reasons = of_panel.filter(verdict=NOT_TESTED)["reason"].unique().sort()
            grammar.say(axes, textwrap.fill("; ".join(["not tested", *reasons]), 40))
        axes.set_ylim(range_with_zero(table.filter(group=group), least=200 * shown.margin))
        grammar.draw_margin(axes, 100 * shown.margin, shown.metric)
    legend = legend_of(named_in(shown.variants, table["line"]), styles) | _marks(shown)
    return panels.finish(shown, table, legend, x=DEPTH, y=_SHARE)


def parts(tables: Tables, shown: Shown) -> Figure:
    """Differences of `shown.metric` in `shown.view`, averaged over parts of the depth: a lane for each difference."""
    table = _shares(tables["contrasts"], shown).filter(pl.col("layers").is_in(list(_PARTS)))
    table = table.with_columns(lane=pl.concat_str("variant", "minus", separator=" "))
    lanes = {}
    for minus in (*shown.variants, DISORDER):
        end = {ORIGINAL: "", DISORDER: ", beyond disorder"}.get(minus, f" − {shown.variants.get(minus)}")
        of_minus = named_in(shown.variants, table.filter(minus=minus)["variant"])
        lanes |= {f"{name} {minus}": label + end for name, label in of_minus.items()}
    styles = {part: DOT._replace(colour=colour) for part, colour in zip(_PARTS, (DOT.colour, *STEPS), strict=False)}
    panels = Panels(shown.models if lanes else {}, height=0.36 * len(lanes) + 0.5, share="xy", lanes=lanes.values())
    for (_, model), axes in panels.axes.items():
        grammar.draw_dots(axes, table.filter(model=model), lanes, styles, hue="layers")
        axes.set_xlim(range_with_zero(table, least=200 * shown.margin))
        grammar.draw_margin(axes, 100 * shown.margin, shown.metric, along_x=True)
    return panels.finish(shown, table, legend_of(_PARTS, styles) | _marks(shown), x=_SHARE, y="")


def _shares(contrasts: pl.DataFrame, shown: Shown) -> pl.DataFrame:
    """The rows of the figure's metric, view and pairs, of all reviews, in percent of the yardstick; and `filled`."""
    pairs = [*shown.pairs, *((name, DISORDER) for name in shown.variants)]
    pairs = pl.DataFrame(pairs, ("variant", "minus"), orient="row")
    rows = contrasts.filter(pl.col("group").is_null(), metric=shown.metric, view=shown.view)
    rows = rows.join(pairs, on=("variant", "minus"), how="semi")
    share = pl.col("mean", "ci_low", "ci_high") / pl.col("yardstick") * 100
    return rows.with_columns(share, filled=pl.col("verdict").is_in(DECIDED))


def _marks(shown: Shown) -> grammar.Styles:
    """What markers and bands mean, for the legend."""
    return DECISIONS | dict(list(MARGINS.items())[: 2 if likeness(shown.metric) else 1])
