"""The figure of one metric's differences between variants, in one view, against depth.

Columns are models. The first row has each variant minus the original, each other row a variant minus its controls.
"""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import (
    Panels,
    alike_handles,
    draw_final_norm,
    draw_lines,
    handles_of,
    mark_empty,
    marker_handle,
    range_with_zero,
    tint_alike,
)
from homogenization.figures.shown import Shown, Tables, required
from homogenization.figures.style import DARK, MARGIN, OPEN, LineStyle, variant_styles
from homogenization.figures.words import DEPTH_LABEL, counted
from homogenization.names.numbers import typeset
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED

_DIFFERENCES = ["mean", "ci_low", "ci_high"]
_LARGEST_MARKER, _SMALLEST_MARKER = 4.8, 2.0  # points
_FACES = {  # how a difference is marked -> the look of its marker
    "open": lambda colour: OPEN,
    "filled": lambda colour: {"mfc": colour},
}


def contrast(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` in `shown.view` from the table contrasts.

    Differences are shares of the yardstick, as the margin is. All panels have one scale, and one margin.
    """
    contrasts, pairs = tables["contrasts"], _pairs(shown.contrasts)
    of_layers = contrasts.filter(pl.col("layers").is_null()).join(pairs, ["variant", "minus"], maintain_order="left")
    wanted = f"metric '{shown.metric}' in view '{shown.view}'"
    table = required(of_layers, shown, wanted, told=contrasts["metric"], metric=shown.metric, view=shown.view)
    table = table.with_columns(pl.col(_DIFFERENCES) / pl.col("yardstick") * 100, face=_face())
    rows = _labelled_rows(pairs, dict(shown.variants))
    tested = table.filter(pl.col("verdict") != NOT_TESTED)
    styles = {row: variant_styles(shown.variants, set(tested.filter(row=row)["line"])) for row, _ in rows}
    height = 2.3 if len(rows) < 3 else 1.9
    panels = Panels(("model", shown.models), ("row", rows), height=height, rows_above=True)
    limits = range_with_zero(table.select(_DIFFERENCES).to_numpy(), 0.06)
    panels.zero()
    for (row, _), axes, of_panel in panels.parts(table):
        _draw_curves(axes, of_panel.filter(point=RESIDUAL_STREAM), styles[row])
        final_norm = of_panel.filter(point=FINAL_NORM)
        draw_final_norm(axes, final_norm, styles[row], "line", lambda one, colour: _FACES[one["face"]](colour))
        axes.set_ylim(limits)
        axes.yaxis.set_major_formatter(lambda value, _: typeset(f"{value:g}"))
        if of_panel["yardstick"].is_finite().any():
            margin = 100 * shown.margin
            axes.axhspan(-margin, margin, color=MARGIN, lw=0, zorder=0.5, label="margin")
        if not of_panel["mean"].is_finite().any():
            mark_empty(axes, _why_empty(axes, of_panel))
        else:
            tint_alike(axes, shown.homogenization)
    panels.depth_axis(max(map(len, styles.values())) if (table["point"] == FINAL_NORM).any() else 0)
    panels.label(DEPTH_LABEL, "Δ, % of the yardstick")
    for axes in panels.axes.values():  # one scale
        axes.tick_params(labelleft=axes.get_subplotspec().colspan.start == 0)
    handles = [
        *handles_of(shown.variants, variant_styles(shown.variants, set(tested["line"]))),
        *_other_handles(shown.alpha),
        *alike_handles(shown.homogenization),
    ]
    return panels.finish(shown.title, _note(table, shown), handles)


def _pairs(contrasts: Sequence[Sequence[str]]) -> pl.DataFrame:
    """variant, minus, row and line: the row of panels of a contrast, and the variant whose look its line has.

    A row has all that is compared with the original, or a variant with its controls.
    """
    pairs = pl.DataFrame(contrasts, schema={"variant": pl.String, "minus": pl.String}, orient="row")
    of_original = pl.col("minus") == ORIGINAL
    return pairs.sort(~of_original, maintain_order=True).with_columns(
        row=pl.when(of_original).then("minus").otherwise(pl.concat_str("variant", pl.lit(" and controls"))),
        line=pl.when(of_original).then("variant").otherwise("minus"),
    )


def _labelled_rows(pairs: pl.DataFrame, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, label) of each row of panels; the label says what is subtracted from what."""
    rows = []
    for (row,), of_row in pairs.group_by("row", maintain_order=True):
        variant, minus = (labels.get(of_row[column][0], of_row[column][0]) for column in ("variant", "minus"))
        if len(of_row) > 1:
            variant, minus = ("Each variant", minus) if row == ORIGINAL else (variant, "each of its controls")
        rows.append((row, f"{variant} minus {minus}"))
    return rows


def _why_empty(axes: Axes, table: pl.DataFrame) -> str:
    """The reasons for which the contrasts of a panel are not tested, wrapped to its width."""
    width = axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols
    reasons = table.filter(verdict=NOT_TESTED)["reason"].unique(maintain_order=True)
    return "\n".join(textwrap.fill(f"not tested: {reason}", int(9 * width)) for reason in reasons) or "no values"


def _draw_curves(axes: Axes, table: pl.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """A line with its band for each variant, and markers by their verdict."""
    # as large as neighbours allow, in a panel that takes three quarters of its place in the grid
    width = 0.75 * 72 * axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols
    for name, style in styles.items():
        rows = table.filter(line=name).sort("depth")
        if not rows["mean"].is_finite().any():
            continue
        draw_lines(axes, rows, {name: style}, hue="line", marker="")
        size = float(np.clip(0.7 * width / len(rows), _SMALLEST_MARKER, _LARGEST_MARKER))
        look = {"ls": "", "marker": style.marker, "ms": size, "mec": style.colour, "mew": 0.9}
        for what, face in _FACES.items():
            chosen = rows.filter(face=what)
            axes.plot(chosen["depth"], chosen["mean"], label=f"{name} {what}", **look, **face(style.colour))


def _face() -> pl.Expr:
    """How the difference of a row is marked: one of `_FACES`."""
    return pl.when(pl.col("verdict").is_in(DECIDED)).then(pl.lit("filled")).otherwise(pl.lit("open"))


def _other_handles(alpha: float) -> list[Artist]:
    """Legend entries that all lines share."""
    said = {"filled": f"corrected p < {alpha:.3g}, not negligible", "open": "undecided or negligible"}
    faces = {f"{what}: {words}": _FACES[what](DARK) for what, words in said.items()}
    handles: list[Artist] = [marker_handle(label, ms=_LARGEST_MARKER, **face) for label, face in faces.items()]
    return [*handles, Patch(color=MARGIN, label="margin: too small to matter")]


def _note(table: pl.DataFrame, shown: Shown) -> str:
    """Reviews, and what is not tested."""
    labels = dict(shown.variants)
    parts = [f"n = {counted(table.filter(pl.col('mean').is_finite())['n_reviews'])}"]
    refused = table.filter(verdict=NOT_TESTED).select("variant", "minus", "reason").unique().sort(pl.all())
    parts += [
        f"not tested: {labels.get(variant, variant)} minus {labels.get(minus, minus)} ({reason})"
        for variant, minus, reason in refused.rows()
    ]
    return "; ".join(parts)
