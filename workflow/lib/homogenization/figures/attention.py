"""Figures of attention: what tokens receive by position in the review and block."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, Shown, Tables, draw_lines, draw_variants, legend_of, named_in
from homogenization.figures.style import DASHED, DIVERGING, EMPTY, GREY, LineStyle, variant_styles
from homogenization.names.variants import ORIGINAL

_PLACES = {0.0: "first", 0.5: "middle", 1.0: "last"}  # of a block
_UNIFORM = {"uniform attention": LineStyle(GREY, DASHED)}
_POSITION = "Position in the review"
_LEAST_LIMIT = 0.16  # doublings; below it, differences are noise


def attention_profile(tables: Tables, shown: Shown) -> Figure:
    """Attention received by position, a row for each model: in the first, the middle and the last block."""
    table = tables["attention"].rename({"received": "mean"})
    styles = variant_styles(shown.variants, shown.ladder)
    panels = Panels({place: f"{name} block" for place, name in _PLACES.items()}, shown.models, height=2.2)
    for (model, place), axes in panels.axes.items():
        rows = table.filter(model=model)
        layers = rows["layer"].unique().sort()
        if len(layers):
            rows = rows.filter(layer=layers[round(place * (len(layers) - 1))])
            draw_variants(axes, rows, styles, x="relative_position")
            uniform = (
                rows.group_by("relative_position")
                .agg(pl.col("uniform").mean().alias("mean"))
                .with_columns(variant=pl.lit(*_UNIFORM))
            )
            draw_lines(axes, uniform, _UNIFORM, x="relative_position", band=False)
            if rows["mean"].max() > 10 * rows["mean"].min():
                axes.set_yscale("log")
    legend = legend_of(named_in(shown.variants, table["variant"]), styles) | _UNIFORM
    return panels.finish(shown, table, legend, x=_POSITION, y="attention received")


def attention_heatmap(tables: Tables, shown: Shown) -> Figure:
    """Attention that tokens of the originals receive over position and layer, as a ratio to uniform attention.

    Each model has a colour scale of its own: encoders move attention by tenths, decoders manyfold.
    """
    table = tables["attention"].filter(variant=ORIGINAL)
    table = table.with_columns(doublings=(pl.col("received") / pl.col("uniform")).log(2))
    panels = Panels(shown.models, height=2.7, share="xy")
    for (_, model), axes in panels.axes.items():
        cells = table.filter(model=model).pivot(on="bin", index=("layer", "depth"), values="doublings").sort("layer")
        if cells.is_empty():
            continue
        values = np.ma.masked_invalid(cells.select(pl.exclude("layer", "depth")).to_numpy())
        # the few most extreme cells do not bleach the others
        limit = max(_LEAST_LIMIT, np.quantile(np.abs(values.compressed()), 0.99))
        edges = np.linspace(0, 1, values.shape[1] + 1), np.append(cells["depth"] - cells["depth"][0], 1)
        look = {"cmap": colormaps[DIVERGING].with_extremes(bad=EMPTY), "vmin": -limit, "vmax": limit}
        mesh = axes.pcolormesh(*edges, values, rasterized=True, **look)
        bar = axes.figure.colorbar(mesh, ax=axes, extend="both", pad=0.02, aspect=14)
        bar.outline.set_visible(False)
        bar.ax.yaxis.set_major_formatter(lambda value, _: f"{2**value:.2g}×")
        axes.grid(False)
    return panels.finish(shown, table.rename({"received": "mean"}), {}, x=_POSITION, y="Relative depth of the block")
