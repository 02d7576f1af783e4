"""The figure of what happens at peaks and troughs: curves, what each component of a block adds, and shares.

Columns are models. A metric has a row with its curve and, where blocks are taken apart, one with their components.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, set_depth_axis
from homogenization.figures.panels import counted, finish, label_outer, mark_empty, panel_grid, range_with_zero
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, GREY, house_style
from homogenization.figures.view_labels import view_label
from homogenization.vocabulary.variants import ORIGINAL

_CELLS = (("max_explainable_variance", "raw"), ("cosine_anisotropy", "all_tokens"))
_BARE = {"raw": "raw_without_first", "all_tokens": "without_first"}
_MARKERS = {"peak": ("^", "#d55e00"), "trough": ("v", "#0173b2")}
_ADDED = {  # component -> label, colour, dashes
    "attention_addition": ("attention added", "#0173b2", "-"),
    "feed_forward_addition": ("feed-forward network added", "#de8f05", (0, (5, 1.5))),
    "addition": ("both added", "#029e73", "-"),
    "norm_1": ("first norm", "#949494", (0, (1.5, 1.2))),
    "norm_2": ("second norm", "#555555", (0, (6, 1.5, 1.5, 1.5))),
}
_SHARES = {
    "first_token_energy_share": ("first token's share of the energy", "#ca9161", "-"),
    "first_token_attention_share": ("first token's share of the attention", "#cc78bc", (0, (5, 1.5))),
    "positional_mass": ("attention that follows from position", "#029e73", (0, (6, 1.5, 1.5, 1.5))),
    "massive_tokens": ("reviews with another massive token", "#555555", (0, (1.5, 1.2))),
}
_OF_SHARES = "shares"
_FEW = 12  # blocks, each of which has a marker


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the tables summary, extrema and extrema_blocks, of the originals.

    Raises:
        HomogenizationError: the table `summary` has none of the models.
    """
    wanted = (pl.col("model").is_in(names_of(shown.models)), pl.col("variant") == ORIGINAL)
    curves = tables["summary"].filter(*wanted, pl.col("point") == "residual_stream", pl.col("mean").is_finite())
    require_rows(curves, shown, f"models {', '.join(names_of(shown.models))}", tables["summary"]["model"])
    extrema, blocks = tables["extrema"].filter(*wanted), tables["extrema_blocks"].filter(*wanted)
    cells = _cells(curves, extrema)
    rows = _rows(cells, blocks)
    figure, panels = panel_grid(shown.models, [(row, label) for row, (label, _) in rows.items()], row_height=1.9)
    for model, _ in shown.models:
        of_model, there = (table.filter(model=model) for table in (curves, blocks))
        for metric, view in cells:
            found = extrema.filter(model=model, metric=metric, view=view)
            _draw_curve(panels[f"{metric} {view}", model], of_model.filter(metric=metric), view, found)
            if f"{metric} {view} blocks" in rows:
                axes = panels[f"{metric} {view} blocks", model]
                _draw_lines(axes, there.filter("in_stream", metric=metric, view=view), _ADDED, zero=True)
                _mark(axes, found)
        if _OF_SHARES in rows:
            axes = panels[_OF_SHARES, model]
            _draw_lines(axes, there.filter(pl.col("metric").is_null()), _SHARES)
            _mark(axes, extrema.filter(model=model, metric=cells[0][0], view=cells[0][1]))
            axes.set_ylim(-0.03, 1.03)
    for axes in panels.values():
        set_depth_axis(axes, 0)
    label_outer(panels, DEPTH_LABEL, {row: _named(label, shown) for row, (_, label) in rows.items()})
    return finish(figure, shown.title, _note(curves, rows), _handles(extrema, blocks, rows))


def _cells(curves: pl.DataFrame, extrema: pl.DataFrame) -> list[tuple[str, str]]:
    """Those of `_CELLS` that are there; else the first that has extrema, or that there is."""
    present = set(curves.select("metric", "view").unique().rows())
    others = sorted(set(extrema.select("metric", "view").rows())) or sorted(present)
    return [cell for cell in _CELLS if cell in present] or others[:1]


def _rows(cells: Sequence[tuple[str, str]], blocks: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Name -> label at the right and metric, or label, of the axis."""
    rows = {}
    for metric, view in cells:
        rows[f"{metric} {view}"] = (view_label(view), metric)
        if not blocks.filter("in_stream", metric=metric, view=view).is_empty():
            rows[f"{metric} {view} blocks"] = ("what a block adds", f"Δ {metric}")
    if not blocks.filter(pl.col("quantity").is_in(list(_SHARES))).is_empty():
        rows[_OF_SHARES] = ("shares", "share")
    return rows


def _named(label: str, shown: Shown) -> str:
    metric = label.removeprefix("Δ ")
    title = shown.metric_titles.get(metric, metric)
    return title if label == metric else f"change of {title[0].lower()}{title[1:]}"


def _draw_curve(axes: Axes, table: pl.DataFrame, view: str, extrema: pl.DataFrame) -> None:
    rows = table.filter(view=view).sort("depth")
    if rows.is_empty():
        mark_empty(axes)
        return
    bare = table.filter(view=_BARE.get(view, "")).sort("depth")
    axes.plot(bare["depth"], bare["mean"], color=GREY, ls=(0, (4, 2)), lw=1.1, label="without the first token")
    axes.fill_between(rows["depth"], rows["ci_low"], rows["ci_high"], color=DARK, alpha=0.15, lw=0)
    axes.plot(rows["depth"], rows["mean"], color=DARK, label="curve")
    for row in extrema.iter_rows(named=True):
        marker, colour = _MARKERS[row["kind"]]
        face = colour if row["settled"] else "white"
        axes.hlines(row["height"], row["depth_low"], row["depth_high"], color=colour, lw=1.6)
        axes.vlines(row["depth"], row["height_low"], row["height_high"], color=colour, lw=1.6)
        axes.plot(row["depth"], row["height"], marker, color=colour, mfc=face, ms=7, label=row["kind"], zorder=4)
    axes.margins(y=0.14)


def _draw_lines(axes: Axes, table: pl.DataFrame, looks: dict, zero: bool = False) -> None:
    """A line for each quantity that is there."""
    for name, (label, colour, dashes) in looks.items():
        rows = table.filter(quantity=name).sort("depth")
        if len(rows):
            look = {"color": colour, "ls": dashes, "lw": 1.4, "ms": 3, "marker": "o" if len(rows) <= _FEW else ""}
            axes.plot(rows["depth"], rows["mean"], label=label, **look)
    if not axes.lines:
        mark_empty(axes, "not computed")
        return
    if zero:
        axes.axhline(0, color=DARK, lw=0.9, label="zero")
        axes.set_ylim(range_with_zero(np.concatenate([line.get_ydata() for line in axes.lines]), 0.08))


def _mark(axes: Axes, extrema: pl.DataFrame) -> None:
    """A thin line at each settled extremum."""
    for row in extrema.filter("settled").iter_rows(named=True):
        axes.axvline(row["depth"], color=_MARKERS[row["kind"]][1], lw=0.8, label=row["kind"], zorder=1)


def _handles(extrema: pl.DataFrame, blocks: pl.DataFrame, rows: dict[str, tuple[str, str]]) -> list[Artist]:
    handles = [
        Line2D([], [], color=DARK, label="mean over reviews"),
        Line2D([], [], color=GREY, ls=(0, (4, 2)), lw=1.1, label="without the first token"),
    ]
    kinds = set(extrema["kind"])
    for kind, (marker, colour) in _MARKERS.items():
        if kind in kinds:
            handles.append(Line2D([], [], color=colour, ls="", marker=marker, ms=7, label=kind))
    present = set(blocks.filter(pl.col("in_stream").fill_null(True))["quantity"])
    looks = (_ADDED if any(row.endswith(" blocks") for row in rows) else {}) | _SHARES
    return handles + [
        Line2D([], [], color=colour, ls=dashes, lw=1.4, label=label)
        for name, (label, colour, dashes) in looks.items()
        if name in present
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
