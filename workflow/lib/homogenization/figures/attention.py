"""Figures of attention: what tokens receive by position and block."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator

from homogenization.figures.grammar import (
    Panels,
    colour_bar,
    draw_lines,
    handle,
    handles_of,
    mark_empty,
    set_log_scale,
)
from homogenization.figures.shown import Shown, Tables, accepted, required
from homogenization.figures.style import (
    EMPTY,
    REFERENCE,
    LineStyle,
    diverging,
    variant_styles,
)

_FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
_HALVES = [0, 0.5, 1], ["0", "0.5", "1"]


def attention_profile(tables: Tables, shown: Shown) -> Figure:
    """Attention received by position in the review: a row for each model, a column for each of a few blocks."""
    table = required(tables["attention"], shown, "attention received")
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    styles = variant_styles(shown.variants, set(table["variant"]))
    blocks = {model: _chosen_blocks(table.filter(model=model)["layer"]) for model, _ in shown.models}
    columns = [(str(index), "") for index in range(max(map(len, blocks.values())))]
    panels = Panels(("", columns), ("model", shown.models), height=2.3, most_columns=len(_FRACTIONS), share_y=True)
    for (model, column), axes, of_model in panels.parts(table):
        if int(column) < len(blocks[model]):
            _draw_profile(axes, of_model, blocks[model][int(column)], styles)
        elif column == "0":
            mark_empty(axes, "no attention", ticks=False)
        else:  # a model with fewer blocks leaves panels empty
            axes.set_axis_off()
    panels.label("Position in the review", "Attention received by a token")
    handles = [*handles_of(reviews.variants, styles), *reviews.left_out]
    if table["uniform"].is_finite().any():
        handles.append(handle("uniform attention", **REFERENCE))
    return panels.finish(shown.title, reviews.counts, handles)


def _chosen_blocks(layers: pl.Series) -> list[int]:
    """The first and last block and those nearest to a quarter, half and three quarters of the depth."""
    present = layers.unique().sort().to_numpy()
    if present.size == 0:
        return []
    wanted = [present[np.abs(present - fraction * present[-1]).argmin()] for fraction in _FRACTIONS]
    return sorted({int(block) for block in wanted})


def _draw_profile(axes: Axes, of_model: pl.DataFrame, block: int, styles: Mapping[str, LineStyle]) -> None:
    rows = of_model.filter(layer=block)
    axes.set_title(f"block {block} (depth {rows['depth'][0]:.2f})", weight="normal")
    values = ("received", "ci_low", "ci_high")
    draw_lines(axes, rows, styles, x="relative_position", y=values, markers=5, ms=3)
    uniform = rows.filter(pl.col("uniform").is_finite()).group_by("relative_position").agg(pl.col("uniform").mean())
    along = uniform.sort("relative_position")
    axes.plot(along["relative_position"], along["uniform"], **REFERENCE, label="uniform")
    axes.set_xlim(0, 1)
    axes.set_xticks(*_HALVES)
    drawn = of_model.select(pl.concat_list("received", "uniform").explode()).to_series()
    positive = drawn.filter(drawn.is_finite() & (drawn > 0))
    if len(positive) and positive.max() >= 10 * positive.min():
        set_log_scale(axes)


_LEAST_LIMIT = 0.16  # doublings; below it, differences are noise
_FINE_RATIOS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6)


def attention_heatmap(tables: Tables, shown: Shown) -> Figure:
    """Attention received over position and layer, as a ratio to uniform attention: a column for each variant.

    Each model, a row, has a colour scale of its own: encoders move attention by tenths, decoders manyfold.
    """
    table = required(tables["attention"], shown, "attention received")
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table.with_columns(excess=(pl.col("received") / pl.col("uniform")).log(2))
    limits = {model: _limit(table.filter(model=model)["excess"].to_numpy()) for model, _ in shown.models}
    panels = Panels(("variant", reviews.variants), ("model", shown.models), height=2.3, share_y=True)
    meshes: dict[str, QuadMesh] = {}
    for (model, _), axes, rows in panels.parts(table, "no attention"):
        axes.grid(False)
        meshes[model] = _draw_heat(axes, rows, limits[model])
    for model, mesh in meshes.items():
        of_model = [axes for (name, _), axes in panels.axes.items() if name == model]
        first = of_model[0].get_subplotspec().rowspan.start  # variants that continue below have the same scale
        _add_colour_bar(mesh, [axes for axes in of_model if axes.get_subplotspec().rowspan.start == first])
    panels.label("Position in the review", "Relative depth of the block")
    return panels.finish(shown.title, reviews.counts, reviews.left_out)


def _limit(excess: np.ndarray) -> float:
    """Doublings at the ends of a model's scale.

    The few most extreme cells get the colour of the end, so that they do not bleach the others.
    """
    finite = np.abs(excess[np.isfinite(excess)])
    return max(_LEAST_LIMIT, float(np.quantile(finite, 0.99))) if finite.size else 1.0


def _draw_heat(axes: Axes, rows: pl.DataFrame, limit: float) -> QuadMesh:
    cells = rows.pivot(on="bin", index="layer", values="excess", sort_columns=False).sort("layer")
    bins = sorted(cells.columns[1:], key=int)
    depths = (np.arange(len(cells) + 1) + cells["layer"][0] - 0.5) / cells["layer"][-1]
    look = {"cmap": diverging(EMPTY), "rasterized": True, "vmin": -limit, "vmax": limit}
    values = np.ma.masked_invalid(cells.select(bins).to_numpy())
    mesh = axes.pcolormesh(np.linspace(0, 1, len(bins) + 1), depths, values, **look)
    axes.set_facecolor(EMPTY)
    axes.set_xticks(*_HALVES)
    axes.set_yticks([0.25, 0.5, 0.75, 1])
    return mesh


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
