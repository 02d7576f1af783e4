"""The figure of attention: what tokens receive by position in the review and block."""

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, Shown, Tables
from homogenization.figures.style import DIVERGING, EMPTY
from homogenization.names.variants import ORIGINAL

_LEAST_LIMIT = 0.16  # doublings; below it, differences are noise


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
    table = table.rename({"received": "mean"})
    return panels.finish(shown, table, {}, x="Position in the review", y="Relative depth of the block")
