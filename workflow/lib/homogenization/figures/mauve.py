"""The figure of MAUVE between consecutive layers against depth, with its split-half null."""

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.curves import DEPTH_LABEL, draw_depth_curves, set_depth_axis
from homogenization.figures.panels import counted, finish, label_outer, mark_empty, panel_grid, variant_handles
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import GREY, house_style, variant_styles


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table mauve: a column for each model, a line for each variant.

    Raises:
        HomogenizationError: the table holds no MAUVE between consecutive layers.
    """
    table = rows_of(tables["mauve"], shown)
    consecutive = table.filter(kind="consecutive")
    require_rows(consecutive, shown, "MAUVE between consecutive layers", tables["mauve"]["model"])
    styles = variant_styles(shown.variants)
    figure, panels = panel_grid(shown.models, [("mauve", "")], row_height=3.2, share_y=True)
    null = (
        table.filter(pl.col("kind") == "null", pl.col("mean").is_finite())
        .group_by("model", "depth")
        .agg(pl.col("low").min(), pl.col("mean").mean(), pl.col("high").max())
        .sort("depth")
    )
    for model, _ in shown.models:
        axes = panels["mauve", model]
        of_model = null.filter(pl.col("model") == model)
        if not of_model.is_empty():
            depth, low, high = (of_model[column].to_numpy() for column in ("depth", "low", "high"))
            axes.fill_between(depth, low, high, color=GREY, alpha=0.3, lw=0)
            axes.plot(depth, of_model["mean"], color=GREY, ls=":", lw=1.2, label="null")
        rows = consecutive.filter(pl.col("model") == model)
        draw_depth_curves(axes, rows, styles, values=("mean", "low", "high"))
        set_depth_axis(axes, 0)
        axes.set_ylim(-0.02, 1.02)
        if not rows["mean"].is_finite().any():
            mark_empty(axes)
    label_outer(panels, DEPTH_LABEL, {"mauve": "MAUVE against the layer before"})
    handles = variant_handles(shown.variants, styles, set(consecutive["variant"]))
    if null.is_empty():
        about_null = "The table holds no split-half null."
    else:
        handles.append(Patch(color=GREY, alpha=0.3, lw=0, label="null: two halves of one layer"))
        about_null = "Grey: two random halves of one layer's tokens, the range over variants too."
    counts = counted(consecutive["n_values"], "value")
    there = set(consecutive["variant"])
    missing = [label for name, label in shown.variants if name in shown.mauve_variants and name not in there]
    note = (
        f"Line: mean, band: lowest to highest over shards of reviews and seeds ({counts} a point). {about_null} "
        "The value at a depth compares that layer's tokens with those of the layer before; 1: the same distribution. "
        "All tokens of a variant count, whether or not their review is accepted."
    )
    if missing:
        note += f" Too few tokens: {', '.join(missing)}."
    return finish(figure, shown.title, note, handles)
