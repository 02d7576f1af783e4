"""The templates of positional attention in a few blocks, the dictionary's weights by depth, and attention received."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import Panels, draw_lines, mark_empty, set_log_scale
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import DICTIONARY, REFERENCE, SHARES, LineStyle
from homogenization.figures.words import counted

_CURVES, _WEIGHTS, _RECEIVED = "curves", "weights", "received"
_COLUMNS = (
    (_CURVES, "What positions predict"),
    (_WEIGHTS, "Weights of the dictionary"),
    (_RECEIVED, "Attention received"),
)
_MOST_TICKS = 20
_DEPTHS = (0.0, 1 / 3, 2 / 3, 1.0)  # blocks whose curves are drawn
_DICTIONARY = {
    "self": "itself",
    "previous": "token before",
    "next": "token after",
    "recency_2": "recency, half-life 2",
    "recency_8": "half-life 8",
    "recency_32": "half-life 32",
    "second": "second token",
    "first": "first token",
    "uniform": "uniform (content)",
}


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the tables templates, positional and attention, of the first variant: a row for each model."""
    templates = rows_of(tables["templates"], shown)
    require_rows(templates, shown, "templates of attention", tables["templates"]["model"])
    heads, received = rows_of(tables["positional"], shown), rows_of(tables["attention"], shown)
    present = set(templates["variant"])
    variant, label = next(pair for pair in shown.variants if pair[0] in present)
    templates, heads, received = (part.filter(variant=variant) for part in (templates, heads, received))
    models = named_in(shown.models, templates["model"])
    panels = Panels(("", _COLUMNS), ("model", models), height=3.0)
    for model, _ in models:
        of_model = templates.filter(model=model)
        blocks = _styles_of_blocks(of_model["block"])
        _draw_curves(panels.axes[model, _CURVES], of_model, blocks)
        _draw_weights(panels.axes[model, _WEIGHTS], heads.filter(model=model))
        _draw_received(panels.axes[model, _RECEIVED], received.filter(model=model), blocks)
    present_weights = [name for name in DICTIONARY if heads[f"weight_{name}"].sum() > 0]
    handles = [Patch(color=DICTIONARY[name], label=_DICTIONARY[name]) for name in present_weights]
    note = (
        f"{label}, mean over heads; lines: the blocks named, from the first (light) to the last (dark). Left: mean "
        "attention to the first key, the second, and by distance, over uniform attention of the same queries, of the "
        "bin that holds most queries. Middle: non-negative least-squares weights by block. Right: attention received "
        "over uniform attention; 0: the first token, left out here, 1: the last. "
        f"n = {counted(heads['n_reviews'])} on the left and in the middle, accepted or not."
    )
    return panels.finish(shown.title, note, handles)


def _styles_of_blocks(blocks: pl.Series) -> dict[int, LineStyle]:
    """Blocks at a few depths with their styles, the darker the deeper."""
    present = np.unique(blocks.to_numpy())
    chosen = sorted({int(present[round(depth * (len(present) - 1))]) for depth in _DEPTHS})
    shades = np.linspace(0.25, 0.95, len(chosen))
    return {block: LineStyle(to_hex(colormaps[SHARES](shade))) for block, shade in zip(chosen, shades, strict=True)}


def _draw_curves(axes: Axes, rows: pl.DataFrame, blocks: dict[int, LineStyle]) -> None:
    """Attention over uniform by cell, in the bin that holds most queries."""
    most = rows.sort("n_queries", descending=True, maintain_order=True)["query_bin"][0]
    rows = rows.filter(pl.col("query_bin") == most)
    cells = list(dict.fromkeys(rows["cell"]))
    places = {cell: place for place, cell in enumerate(_in_order(cells))}
    rows = rows.with_columns(place=pl.col("cell").replace_strict(places), ratio=pl.col("attention") / pl.col("uniform"))
    _draw_ratios(axes, rows, blocks, "block", x="place", marker="o", ms=3)
    step = 1 if len(places) <= _MOST_TICKS else 2
    axes.set_xticks(range(0, len(places), step), [_label(cell) for cell in list(places)[::step]])
    axes.tick_params(axis="x", labelrotation=90, labelsize=7)
    axes.set_ylabel("Attention / uniform (log scale)")
    low, high = 2**most, 2 ** (most + 1) - 1
    axes.set_xlabel(f"Key, for queries {low} to {high}")
    axes.legend(frameon=False, fontsize=8, loc="best")


def _draw_ratios(axes: Axes, rows: pl.DataFrame, blocks: dict[int, LineStyle], hue: str, **look: Any) -> None:
    """A line for each of a few blocks on a logarithmic axis, compared with uniform attention."""
    for block, style in blocks.items():
        draw_lines(axes, rows, {block: style}, y=("ratio",), hue=hue, markers=len(rows), label=f"block {block}", **look)
    axes.axhline(1, **REFERENCE)
    set_log_scale(axes)


def _in_order(cells: list[str]) -> list[str]:
    """Keys 0 and 1, then keys before the query from far to near, then keys behind it from near to far."""
    keys, before, behind = ([cell for cell in cells if cell.startswith(side)] for side in ("key", "distance", "ahead"))
    return [*keys, *sorted(before, key=_least_distance, reverse=True), *sorted(behind, key=_least_distance)]


def _least_distance(cell: str) -> int:
    return int(cell.split("_")[1])


def _label(cell: str) -> str:
    side, distance = cell.split("_", 1)
    if side == "key":
        return ("first", "second")[int(distance)]
    low, _, high = distance.partition("_")
    sign = "−" if side == "distance" and low != "0" else "+" if side == "ahead" else ""
    return sign + {"": low, "up": f"{low} …"}.get(high, f"{low}–{high}")


def _draw_weights(axes: Axes, rows: pl.DataFrame) -> None:
    """Stacked shares of the dictionary, mean over heads, by block."""
    columns = [f"weight_{name}" for name in DICTIONARY]
    means = rows.group_by("block").agg(pl.col(columns).fill_nan(None).mean()).sort("block").fill_null(0)
    below = np.zeros(len(means))
    for name, colour in DICTIONARY.items():
        weights = means[f"weight_{name}"].to_numpy()
        axes.bar(means["block"], weights, 1.0, bottom=below, color=colour, lw=0, label=_DICTIONARY[name])
        below += weights
    axes.set_ylim(0, 1)
    axes.set_xlim(0.5, means["block"].max() + 0.5)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(False)
    axes.set_xlabel("Block")
    axes.set_ylabel("Share of the attention")


def _draw_received(axes: Axes, rows: pl.DataFrame, blocks: dict[int, LineStyle]) -> None:
    """Attention received over uniform attention, by position."""
    rows = rows.with_columns(ratio=pl.col("received") / pl.col("uniform")).filter(pl.col("ratio").is_finite())
    if rows.is_empty():
        mark_empty(axes, "no attention")
        return
    _draw_ratios(axes, rows, blocks, "layer", x="relative_position")
    axes.set_xlim(0, 1)
    axes.set_xlabel("Position in the review")
    axes.set_ylabel("Received / uniform (log scale)")
