"""The heat map of how positional each head is, by block, and the means of the blocks for each variant."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.panels import counted, finish, panel_grid, variant_handles
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import GREY, VariantStyle, house_style, variant_styles

_HEAT = (("positional_mass", "Positional mass"), ("ratio", "Share of selectivity"))
_MEANS = "means"
_GREEN_TO_BLUE = "YlGnBu"


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table positional: a row for each model; two heat maps of heads, and means over heads.

    Raises:
        HomogenizationError: the table holds nothing of these variants and models.
    """
    table = rows_of(tables["positional"], shown)
    require_rows(table, shown, "positional attention", tables["positional"]["model"])
    present = set(table["variant"])
    variants = [pair for pair in shown.variants if pair[0] in present]
    models = [pair for pair in shown.models if pair[0] in set(table["model"])]
    styles = variant_styles(variants)
    figure, panels = panel_grid([*_HEAT, (_MEANS, "Mean over heads")], models, row_height=3.0)
    mesh = None
    for model, _ in models:
        of_model = table.filter(pl.col("model") == model)
        of_first = of_model.filter(
            pl.col("variant") == next(name for name, _ in variants if name in of_model["variant"])
        )
        for number, _ in _HEAT:
            mesh = _draw_heads(panels[model, number], of_first, number)
        panels[model, "positional_mass"].set_ylabel("Block")
        _draw_means(panels[model, _MEANS], of_model, styles)
    heat = [panels[model, number] for model, _ in models for number, _ in _HEAT]
    bar = figure.colorbar(mesh, ax=heat, pad=0.02, fraction=0.05, aspect=25)
    bar.outline.set_visible(False)
    last = models[-1][0]
    for number, _ in _HEAT:
        panels[last, number].set_xlabel("Head")
    panels[last, _MEANS].set_xlabel("Total variation from uniform")
    handles = variant_handles(variants, styles, present)
    handles.append(Line2D([], [], color=GREY, ls="-", lw=1, label="total mass"))
    handles.append(Line2D([], [], color=GREY, ls=":", lw=1.2, label="null: keys in random order"))
    note = (
        f"Heat maps: {variants[0][1]}. Positional mass: total variation of uniform attention and of the attention that "
        "the places of query and key predict, cells chosen on one half of the reviews and summed on the other. Share "
        "of selectivity: positional mass over that of the attention itself (total mass). Lines: means over the heads "
        f"of a block. n = {counted(table['n_reviews'])}, accepted or not."
    )
    return finish(figure, shown.title, note, handles)


def _draw_heads(axes: Axes, rows: pl.DataFrame, number: str) -> QuadMesh:
    """A cell for each block (from below) and head."""
    grid = np.full((rows["block"].max(), rows["head"].max()), np.nan)
    grid[rows["block"].to_numpy() - 1, rows["head"].to_numpy() - 1] = rows[number].to_numpy()
    axes.grid(False)
    edges = [np.arange(size + 1) + 0.5 for size in grid.shape]
    mesh = axes.pcolormesh(
        edges[1], edges[0], np.ma.masked_invalid(grid), cmap=_GREEN_TO_BLUE, vmin=0, vmax=1, rasterized=True
    )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.get_major_locator().set_params(integer=True)
    return mesh


def _draw_means(axes: Axes, rows: pl.DataFrame, styles: dict[str, VariantStyle]) -> None:
    """Lines over the blocks, which run upwards as in the heat maps."""
    numbers = pl.col("positional_mass", "total_mass", "null_mass").mean()
    means = rows.group_by("variant", "block").agg(numbers).sort("block")
    for name, style in styles.items():
        of_variant = means.filter(pl.col("variant") == name)
        look = {"color": GREY, "lw": 1}
        axes.plot(of_variant["total_mass"], of_variant["block"], **look, label="total mass")
        axes.plot(of_variant["null_mass"], of_variant["block"], **look, ls=":", label="null")
        axes.plot(
            of_variant["positional_mass"], of_variant["block"], color=style.colour, ls=style.dashes,
            marker=style.marker, ms=3, label=name,
        )  # fmt: skip
    axes.set_ylim(0.5, rows["block"].max() + 0.5)
    axes.set_xlim(min(-0.05, means["null_mass"].min() or 0), 1)
    axes.yaxis.get_major_locator().set_params(integer=True)
