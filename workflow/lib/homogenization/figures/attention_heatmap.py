"""The heat map of received attention over position and layer, as a ratio to uniform attention.

Each model has a colour scale of its own: encoders move attention by tenths, decoders manyfold.
"""

import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from homogenization.figures.accepted import accepted
from homogenization.figures.grammar import Panels, colour_bar, mark_empty
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import DIVERGING, EMPTY

_LEAST_LIMIT = 0.16  # doublings; below it, differences are noise
_FINE_RATIOS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6)


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table attention: a column for each variant, a row for each model."""
    table = rows_of(tables["attention"], shown)
    require_rows(table, shown, "attention received", tables["attention"]["model"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table.with_columns(excess=(pl.col("received") / pl.col("uniform")).log(2))
    limits = {model: _limit(table.filter(model=model)["excess"].to_numpy()) for model, _ in shown.models}
    panels = Panels(("variant", reviews.variants), ("model", shown.models), height=2.3, share_y=True)
    colours = sns.color_palette(DIVERGING, as_cmap=True).with_extremes(bad=EMPTY)
    meshes: dict[str, QuadMesh] = {}
    for (model, _), axes, rows in panels.parts(table):
        axes.grid(False)
        if rows.is_empty():
            mark_empty(axes, "no attention")
            continue
        cells = rows.pivot(on="bin", index="layer", values="excess", sort_columns=False).sort("layer")
        bins = sorted(cells.columns[1:], key=int)
        values = cells.select(bins).to_numpy()
        edges = np.linspace(0, 1, len(bins) + 1)
        n_blocks = cells["layer"][-1]
        depths = (np.arange(len(cells) + 1) + cells["layer"][0] - 0.5) / n_blocks
        scale = {"vmin": -limits[model], "vmax": limits[model]}
        meshes[model] = axes.pcolormesh(
            edges, depths, np.ma.masked_invalid(values), cmap=colours, rasterized=True, **scale
        )
        axes.set_facecolor(EMPTY)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_yticks([0.25, 0.5, 0.75, 1])
    for model, mesh in meshes.items():
        of_model = [axes for (name, _), axes in panels.axes.items() if name == model]
        first = of_model[0].get_subplotspec().rowspan.start  # variants that continue below have the same scale
        _add_colour_bar(mesh, [axes for axes in of_model if axes.get_subplotspec().rowspan.start == first])
    panels.label("Position in the review", "Relative depth of the block")
    note = (
        "Colour: mean attention received by a token, divided by what it would receive under uniform attention "
        f"(logarithmic, a scale for each model; white: the same; grey: no tokens); {reviews.counts}. Position 0: "
        "the first token, which is left out here, 1: the last."
    )
    return panels.finish(shown.title, note, reviews.left_out)


def _limit(excess: np.ndarray) -> float:
    """Doublings at the ends of a model's scale.

    The few most extreme cells get the colour of the end, so that they do not bleach the others.
    """
    finite = np.abs(excess[np.isfinite(excess)])
    return max(_LEAST_LIMIT, float(np.quantile(finite, 0.99))) if finite.size else 1.0


def _add_colour_bar(mesh: QuadMesh, axes: list[Axes]) -> None:
    """A colour bar labelled with ratios rather than with their logarithms."""
    bar = colour_bar(mesh, axes, "Received / uniform", extend="both", pad=0.02, fraction=0.05, aspect=12)
    bar.minorticks_off()
    limit = mesh.norm.vmax
    step = max(1, int(limit // 3))
    doublings = np.arange(step, limit + 1e-9, step)
    ratios = np.concatenate([2.0 ** -doublings[::-1], [1.0], 2.0**doublings]) if limit >= 1 else _FINE_RATIOS
    ratios = [ratio for ratio in ratios if abs(np.log2(ratio)) <= limit + 1e-9]
    bar.ax.yaxis.set_major_locator(FixedLocator(np.log2(ratios)))
    bar.ax.yaxis.set_major_formatter(FixedFormatter([f"{ratio:.3g}×" for ratio in ratios]))
