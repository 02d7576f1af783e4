"""The heat map of the responses of metrics to causes: rows are metrics, columns are causes, panels are views."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from homogenization.figures.grammar import colour_bar, finish
from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import DARK, FINE, GAP, GREY, GRID, WHITE, diverging
from homogenization.figures.words import two_decimals
from homogenization.run.files import damage
from homogenization.statistics.causes import CAUSES, COLLAPSE, CONFUSES, RESPONSE_SCHEMA

COLUMNS = {"sensitivity": RESPONSE_SCHEMA}
_PANELS = (  # rows of (view, heading); the views left out say much the same
    (("raw", "As is, all tokens"), ("raw_without_first", "As is, without the first token")),
    (("unit", "Unit rows, all tokens"), ("centred", "Centred, all tokens")),
    (("all_tokens", "Norms and directions, all tokens"), ("without_first", "Norms and directions, without the first")),
)
_LIMIT = 1.0  # responses beyond it have the colour of the scale's end
_WIDTH = 11.0  # inches
_CELL_HEIGHT = 0.2
_HEADING_HEIGHT = 1.2  # of a row of panels, with the names of the causes


def sensitivity(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table sensitivity, whose metrics keep their order."""
    table = tables["sensitivity"]
    if table.is_empty():
        raise damage(
            shown.source, f"its columns should be {', '.join(RESPONSE_SCHEMA)}, with a row for each metric and view"
        )
    titles = {metric: title.split(" (")[0] for metric, title in shown.metric_titles.items()}
    blocks = []  # rows of panels, each with the metrics that one of its views has
    for panels in _PANELS:
        views = [view for view, _ in panels]
        metrics = table.filter(pl.col("view").is_in(views))["metric"].unique(maintain_order=True).to_list()
        if metrics:
            blocks.append((panels, metrics))
    heights = [_HEADING_HEIGHT + _CELL_HEIGHT * len(metrics) for _, metrics in blocks]
    figure = Figure(figsize=(_WIDTH, sum(heights)))
    grid = figure.add_gridspec(len(blocks), 2, height_ratios=[len(metrics) for _, metrics in blocks])
    mesh = None
    for row, (panels, metrics) in enumerate(blocks):
        for column, (view, heading) in enumerate(panels):
            axes = figure.add_subplot(grid[row, column])
            axes.set_title(heading, loc="left")
            mesh = _draw_panel(axes, table.filter(pl.col("view") == view), metrics)
            axes.set_yticks(np.arange(len(metrics)) + 0.5, [titles[metric] for metric in metrics])
            if column:
                axes.tick_params(labelleft=False)
    place = {"extend": "both", "fraction": 0.02, "pad": 0.015, "aspect": 45, "shrink": 0.5}
    colour_bar(mesh, figure.axes, "Response (1: as to a collapse)", **place)
    ratios = [strength for cause in CAUSES.values() if cause.ranged for strength in cause.strengths]
    note = (
        "Number: how far the metric moves from its value for Gaussian tokens when the cause acts with full strength, "
        "divided by how far a collapse of all tokens onto their mean moves it; for the shape of noise (tokens / width "
        f"from {min(ratios):g} to {max(ratios):g}), the range. Bold: at least {CONFUSES:g}, the metric can't tell this "
        "from a collapse. Grey: a collapse does not move the metric; a dot marks the causes that do. Empty: the metric "
        "has no such view."
    )
    return finish(figure, shown.title, note)


def _draw_panel(axes: Axes, table: pl.DataFrame, metrics: list[str]) -> QuadMesh:
    """Draw one view: `metrics` from above, those that the view does not have as empty rows."""
    causes, centred = list(CAUSES), {"ha": "center", "va": "center", "fontsize": 7.5}
    responses = np.full((len(metrics), len(causes)), np.nan)
    for row in table.iter_rows(named=True):
        y = metrics.index(row["metric"])
        responses[y] = [row[name] for name in causes]
        axes.axhspan(y, y + 1, color=GRID, lw=0, zorder=0)
        for x, name in enumerate(causes):
            if np.isfinite(responses[y, x]):
                weight = "bold" if name != COLLAPSE and responses[y, x] >= CONFUSES else "normal"
                look = centred | {"weight": weight, "color": WHITE if abs(responses[y, x]) > 0.7 * _LIMIT else DARK}
                axes.text(x + 0.5, y + 0.5, two_decimals(responses[y, x]), **look)
            elif name in row["answers_to"].split(", "):
                axes.plot(x + 0.5, y + 0.5, "o", ms=3, color=GREY)
    look = {"cmap": diverging((0, 0, 0, 0)), "vmin": -_LIMIT, "vmax": _LIMIT, "edgecolors": WHITE, "linewidth": FINE}
    mesh = axes.pcolormesh(np.ma.masked_invalid(responses), **look)
    for x in range(1, len(causes)):  # a white line sets the collapse and the ranged causes apart
        if causes[x - 1] == COLLAPSE or CAUSES[causes[x]].ranged:
            axes.axvline(x, color=WHITE, lw=GAP)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set(ylim=(len(metrics), 0), xlim=(0, len(causes)))
    axes.xaxis.tick_top()
    titles = [cause.title for cause in CAUSES.values()]
    axes.set_xticks(np.arange(len(causes)) + 0.5, titles, rotation=35, ha="left", rotation_mode="anchor")
    return mesh
