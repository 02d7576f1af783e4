"""The heat map of how positional each head is, by block, and the means of the blocks for each variant."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, colour_bar, handle, handles_of
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import GREY, LIGHT, SHARES, STRONG, LineStyle, variant_styles
from homogenization.figures.words import counted

_HEAT = {"positional_mass": "Positional mass", "ratio": "Share of selectivity"}
_MEANS = "means"
_TOTAL, _NULL = LineStyle(GREY), LineStyle(GREY, ":")


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table positional: a row for each model; two heat maps of heads, and means over heads."""
    table = rows_of(tables["positional"], shown)
    require_rows(table, shown, "positional attention", tables["positional"]["model"])
    variants, models = named_in(shown.variants, table["variant"]), named_in(shown.models, table["model"])
    styles = variant_styles(variants)
    panels = Panels(("", [*_HEAT.items(), (_MEANS, "Mean over heads")]), ("model", models), height=3.0)
    heat = []
    for (model, column), axes, rows in panels.parts(table):
        if column == _MEANS:
            _draw_means(axes, rows, styles)
        else:
            heat.append(axes)
            first = next(name for name in styles if name in rows["variant"])
            mesh = _draw_heads(axes, rows.filter(variant=first), column)
        axes.yaxis.get_major_locator().set_params(integer=True)
        if model == models[-1][0]:
            axes.set_xlabel("Total variation from uniform" if column == _MEANS else "Head")
    for model, _ in models:
        panels.axes[model, "positional_mass"].set_ylabel("Block")
    colour_bar(mesh, heat, pad=0.02, fraction=0.05, aspect=25)
    handles = handles_of(variants, styles)
    handles += [handle("total mass", _TOTAL, lw=LIGHT), handle("null: keys in random order", _NULL, lw=STRONG)]
    note = (
        f"Heat maps: {variants[0][1]}. Positional mass: total variation of uniform attention and of the attention that "
        "the places of query and key predict, cells chosen on one half of the reviews and summed on the other. Share "
        "of selectivity: positional mass over that of the attention itself (total mass). Lines: means over the heads "
        f"of a block. n = {counted(table['n_reviews'])}, accepted or not."
    )
    return panels.finish(shown.title, note, handles)


def _draw_heads(axes: Axes, rows: pl.DataFrame, number: str) -> QuadMesh:
    """A cell for each block (from below) and head."""
    grid = np.full((rows["block"].max(), rows["head"].max()), np.nan)
    grid[rows["block"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[number].to_numpy()
    axes.grid(False)
    below, left = (np.arange(size + 1) + 0.5 for size in grid.shape)
    mesh = axes.pcolormesh(left, below, np.ma.masked_invalid(grid), cmap=SHARES, vmin=0, vmax=1, rasterized=True)
    axes.xaxis.get_major_locator().set_params(integer=True)
    return mesh


def _draw_means(axes: Axes, rows: pl.DataFrame, styles: dict[str, LineStyle]) -> None:
    """Lines over the blocks, which run upwards as in the heat maps."""
    means = rows.group_by("variant", "block").agg(pl.col("positional_mass", "total_mass", "null_mass").mean())
    means = means.sort("block")
    for name, style in styles.items():
        of_variant = means.filter(variant=name)
        axes.plot(of_variant["total_mass"], of_variant["block"], color=GREY, lw=LIGHT, label="total mass")
        axes.plot(of_variant["null_mass"], of_variant["block"], color=GREY, lw=LIGHT, ls=":", label="null")
        look = {"color": style.colour, "ls": style.dashes, "marker": style.marker, "ms": 3, "label": name}
        axes.plot(of_variant["positional_mass"], of_variant["block"], **look)
    axes.set_ylim(0.5, rows["block"].max() + 0.5)
    axes.set_xlim(min(-0.05, means["null_mass"].min() or 0), 1)
