"""The figure of what happens at peaks and troughs: curves, what each component of a block adds, and shares.

Columns are models. A metric has a row with its curve and, where blocks are taken apart, one with their components.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.grammar import (
    DEPTH_NOTE,
    MEAN,
    Panels,
    draw_lines,
    handle,
    mark_empty,
    range_with_zero,
)
from homogenization.figures.shown import Shown, Tables, required, rows_of
from homogenization.figures.style import (
    ADDED,
    DARK,
    EXTREMA,
    FINE,
    FULL,
    GREY,
    LIGHT,
    OPEN,
    SHARE_STYLES,
    STRONG,
    ZERO,
    LineStyle,
)
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import DEPTH_LABEL, counted
from homogenization.metrics.registry import view_without_first
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_CELLS = (("max_explainable_variance", "raw"), ("cosine_anisotropy", "all_tokens"))
_CURVE, _WITHOUT_FIRST = LineStyle(DARK), LineStyle(GREY, (0, (4, 2)))
_OF_SHARES = "shares"
_FEW = 12  # blocks, each of which has a marker


def extrema(tables: Tables, shown: Shown) -> Figure:
    """The figure from the tables summary, extrema and extrema_blocks, of the originals."""
    extrema, blocks = (
        rows_of(tables[name], shown, ("model",), variant=ORIGINAL) for name in ("extrema", "extrema_blocks")
    )
    summary = tables["summary"].filter(pl.col("mean").is_finite(), variant=ORIGINAL, point=RESIDUAL_STREAM)
    curves = required(summary, shown, of=("model",), told=tables["summary"]["model"])
    cells = _cells(curves, extrema)
    rows = _rows(cells, blocks, shown.metric_titles)
    panels = Panels(("model", shown.models), ("row", [(row, label) for row, (label, _) in rows.items()]), height=1.9)
    for model, _ in shown.models:
        of_model, there, found = (table.filter(model=model) for table in (curves, blocks, extrema))
        for metric, view in cells:
            of_cell = found.filter(metric=metric, view=view)
            _draw_curve(panels.axes[f"{metric} {view}", model], of_model.filter(metric=metric), view, of_cell)
            if f"{metric} {view} blocks" in rows:
                axes = panels.axes[f"{metric} {view} blocks", model]
                _draw_quantities(axes, there.filter("in_stream", metric=metric, view=view), ADDED)
                if axes.lines:
                    axes.axhline(0, **ZERO, label="zero")
                    drawn = np.concatenate([line.get_ydata() for line in axes.lines])
                    axes.set_ylim(range_with_zero(drawn, 0.08))
                _mark(axes, of_cell)
        if _OF_SHARES in rows:
            axes = panels.axes[_OF_SHARES, model]
            _draw_quantities(axes, there.filter(pl.col("metric").is_null()), SHARE_STYLES)
            _mark(axes, found.filter(metric=cells[0][0], view=cells[0][1]))
            axes.set_ylim(-0.03, 1.03)
    panels.depth_axis()
    panels.label(DEPTH_LABEL, {row: label for row, (_, label) in rows.items()})
    return panels.finish(shown.title, _note(curves, rows), _handles(extrema, blocks, rows))


def _cells(curves: pl.DataFrame, extrema: pl.DataFrame) -> list[tuple[str, str]]:
    """Those of `_CELLS` that are there; else the first that has extrema, or that there is."""
    present = set(curves.select("metric", "view").unique().rows())
    others = sorted(set(extrema.select("metric", "view").rows())) or sorted(present)
    return [cell for cell in _CELLS if cell in present] or others[:1]


def _rows(
    cells: Sequence[tuple[str, str]], blocks: pl.DataFrame, titles: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Name -> label at the right, and label of the axis."""
    rows = {}
    for metric, view in cells:
        title = titles.get(metric, metric)
        rows[f"{metric} {view}"] = (view_label(view), title)
        if not blocks.filter("in_stream", metric=metric, view=view).is_empty():
            rows[f"{metric} {view} blocks"] = ("what a block adds", f"change of {title[0].lower()}{title[1:]}")
    if blocks["quantity"].is_in(list(SHARE_STYLES)).any():
        rows[_OF_SHARES] = ("shares", "share")
    return rows


def _draw_curve(axes: Axes, table: pl.DataFrame, view: str, extrema: pl.DataFrame) -> None:
    if table.filter(view=view).is_empty():
        mark_empty(axes)
        return
    bare = {view_without_first(view): _WITHOUT_FIRST}
    draw_lines(axes, table, bare, y=MEAN[:1], hue="view", lw=LIGHT, label="without the first token")
    draw_lines(axes, table, {view: _CURVE}, hue="view", label="curve")
    for row in extrema.iter_rows(named=True):
        style = EXTREMA[row["kind"]]
        axes.hlines(row["height"], row["depth_low"], row["depth_high"], color=style.colour, lw=FULL)
        axes.vlines(row["depth"], row["height_low"], row["height_high"], color=style.colour, lw=FULL)
        look = {"color": style.colour, "ms": 7, "label": row["kind"], "zorder": 4} | ({} if row["settled"] else OPEN)
        axes.plot(row["depth"], row["height"], style.marker, **look)
    axes.margins(y=0.14)


def _draw_quantities(axes: Axes, table: pl.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """A line for each quantity that is there."""
    few = table.group_by("quantity").len()["len"].max() or 0
    draw_lines(axes, table, styles, y=MEAN[:1], hue="quantity", lw=STRONG, ms=3, marker="o" if few <= _FEW else "")
    if not axes.lines:
        mark_empty(axes, "not computed")


def _mark(axes: Axes, extrema: pl.DataFrame) -> None:
    """A thin line at each settled extremum."""
    for row in extrema.filter("settled").iter_rows(named=True):
        axes.axvline(row["depth"], color=EXTREMA[row["kind"]].colour, lw=FINE, label=row["kind"], zorder=1)


def _handles(extrema: pl.DataFrame, blocks: pl.DataFrame, rows: dict[str, tuple[str, str]]) -> list[Artist]:
    kinds = [style for kind, style in EXTREMA.items() if (extrema["kind"] == kind).any()]
    present = set(blocks.filter(pl.col("in_stream").fill_null(True))["quantity"])
    quantities = (ADDED if any(row.endswith(" blocks") for row in rows) else {}) | SHARE_STYLES
    return [
        handle("mean over reviews", _CURVE),
        handle("without the first token", _WITHOUT_FIRST, lw=LIGHT),
        *(handle(style.label, style, ms=7) for style in kinds),
        *(handle(style.label, style, lw=STRONG) for name, style in quantities.items() if name in present),
    ]


def _note(curves: pl.DataFrame, rows: dict[str, tuple[str, str]]) -> str:
    note = (
        "Originals. Marker: an extremum of the mean curve; lines through it: the 95 % intervals of its place and "
        "height over bootstrap draws of the reviews; open where fewer draws than that have it, or noise could make it. "
    )
    if any(row.endswith(" blocks") for row in rows):
        note += "What a block adds stands where the block ends. "
    if _OF_SHARES in rows:
        note += "Thin vertical lines are the extrema of the metric above; in the last row those of the first. "
    return f"{note}n = {counted(curves['n_reviews'])}. {DEPTH_NOTE} Scales differ between panels."
