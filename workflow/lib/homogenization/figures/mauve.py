"""The figure of MAUVE between consecutive layers against depth, with its split-half null."""

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import DEPTH_LABEL, Panels, handles_of, mark_empty
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import GREY, STRONG, variant_styles
from homogenization.figures.words import counted

_VALUES = ("mean", "low", "high")
_NULL = {"color": GREY, "alpha": 0.3, "lw": 0}


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table mauve: a column for each model, a line for each variant."""
    table = rows_of(tables["mauve"], shown)
    consecutive = table.filter(kind="consecutive")
    require_rows(consecutive, shown, "MAUVE between consecutive layers", tables["mauve"]["model"])
    styles = variant_styles(shown.variants, set(consecutive["variant"]))
    null = table.filter(pl.col("kind") == "null", pl.col("mean").is_finite()).group_by("model", "depth")
    null = null.agg(pl.col("low").min(), pl.col("mean").mean(), pl.col("high").max()).sort("depth")
    panels = Panels(("model", shown.models), height=3.2, share_y=True)
    for axes, rows in panels.of(null):
        if not rows.is_empty():
            axes.fill_between(rows["depth"], rows["low"], rows["high"], **_NULL)
            axes.plot(rows["depth"], rows["mean"], color=GREY, ls=":", lw=STRONG, label="null")
    panels.lines(consecutive, styles, y=_VALUES)
    panels.depth_axis()
    for axes, rows in panels.of(consecutive):
        axes.set_ylim(-0.02, 1.02)
        if not rows["mean"].is_finite().any():
            mark_empty(axes)
    panels.label(DEPTH_LABEL, "MAUVE against the layer before")
    handles = handles_of(shown.variants, styles)
    if null.is_empty():
        about_null = "The table holds no split-half null."
    else:
        handles.append(Patch(**_NULL, label="null: two halves of one layer"))
        about_null = "Grey: two random halves of one layer's tokens, the range over variants too."
    note = (
        "Line: mean, band: lowest to highest over shards of reviews and seeds "
        f"({counted(consecutive['n_values'], 'value')} a point). {about_null} "
        "The value at a depth compares that layer's tokens with those of the layer before; 1: the same distribution. "
        "All tokens of a variant count, whether or not their review is accepted."
    )
    missing = [label for name, label in shown.variants if name in shown.mauve_variants and name not in styles]
    if missing:
        note += f" Too few tokens: {', '.join(missing)}."
    return panels.finish(shown.title, note, handles)
