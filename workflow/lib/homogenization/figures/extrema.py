"""The figure of peaks and troughs: the curves of the originals, a row for each metric and a column for each model."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.grammar import (
    MEAN,
    Panels,
    draw_lines,
    handle,
    mark_empty,
)
from homogenization.figures.shown import Shown, Tables, required, rows_of
from homogenization.figures.style import (
    DARK,
    EXTREMA,
    GREY,
    LIGHT,
    OPEN,
    LineStyle,
)
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import DEPTH_LABEL, counted
from homogenization.metrics.registry import view_without_first
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_CELLS = (("max_explainable_variance", "raw"), ("cosine_anisotropy", "all_tokens"))
_CURVE, _WITHOUT_FIRST = LineStyle(DARK), LineStyle(GREY, (0, (4, 2)))


def extrema(tables: Tables, shown: Shown) -> Figure:
    """The figure from the tables summary and extrema, of the originals."""
    extrema = rows_of(tables["extrema"], shown, ("model",), variant=ORIGINAL)
    summary = tables["summary"].filter(pl.col("mean").is_finite(), variant=ORIGINAL, point=RESIDUAL_STREAM)
    curves = required(summary, shown, of=("model",), told=tables["summary"]["model"])
    cells = _cells(curves, extrema)
    rows = [(metric, view_label(view)) for metric, view in cells]
    panels = Panels(("model", shown.models), ("row", rows), height=1.9)
    for model, _ in shown.models:
        of_model, found = (table.filter(model=model) for table in (curves, extrema))
        for metric, view in cells:
            of_cell = found.filter(metric=metric, view=view)
            _draw_curve(panels.axes[metric, model], of_model.filter(metric=metric), view, of_cell)
    panels.depth_axis()
    panels.label(DEPTH_LABEL, {metric: shown.metric_titles.get(metric, metric) for metric, _ in cells})
    kinds = [style for kind, style in EXTREMA.items() if (extrema["kind"] == kind).any()]
    handles = [
        handle("mean over reviews", _CURVE),
        handle("without the first token", _WITHOUT_FIRST, lw=LIGHT),
        *(handle(style.label, style, ms=7) for style in kinds),
    ]
    return panels.finish(shown.title, f"n = {counted(curves['n_reviews'])}", handles)


def _cells(curves: pl.DataFrame, extrema: pl.DataFrame) -> list[tuple[str, str]]:
    """Those of `_CELLS` that are there; else the first that has extrema, or that there is."""
    present = set(curves.select("metric", "view").unique().rows())
    others = sorted(set(extrema.select("metric", "view").rows())) or sorted(present)
    return [cell for cell in _CELLS if cell in present] or others[:1]


def _draw_curve(axes: Axes, table: pl.DataFrame, view: str, extrema: pl.DataFrame) -> None:
    if table.filter(view=view).is_empty():
        mark_empty(axes)
        return
    bare = {view_without_first(view): _WITHOUT_FIRST}
    draw_lines(axes, table, bare, y=MEAN[:1], hue="view", lw=LIGHT, label="without the first token")
    draw_lines(axes, table, {view: _CURVE}, hue="view", label="curve")
    for row in extrema.iter_rows(named=True):
        style = EXTREMA[row["kind"]]
        look = {"color": style.colour, "ms": 7, "label": row["kind"], "zorder": 4}
        look |= {} if row["prominence_low"] > 0 else OPEN
        axes.plot(row["depth"], row["height"], style.marker, **look)
    axes.margins(y=0.14)
