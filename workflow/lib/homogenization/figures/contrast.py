"""The figure of one metric's differences between variants: against depth, a panel for each view and subtracted variant.

Rows are the variants that are subtracted and the views, columns the models, lines the variants.
"""

import textwrap
from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, draw_final_norm, set_depth_axis
from homogenization.figures.panels import (
    alike_handles,
    counted,
    finish,
    label_outer,
    mark_empty,
    panel_grid,
    range_with_zero,
    variant_handles,
    views_present,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import ALIKE_COLOUR, DARK, VariantStyle, house_style, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM

_COMMON_LOOK = {"lw": 1.0, "ls": (0, (2.5, 1.5))}
_LARGEST_MARKER, _SMALLEST_MARKER = 4.8, 2.0  # points
_FACES = {  # how a difference is marked -> the look of its marker
    "open": lambda colour: {"mfc": "white"},
    "half": lambda colour: {"mfc": colour, "fillstyle": "bottom", "markerfacecoloralt": "white"},
    "filled": lambda colour: {"mfc": colour},
}


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the table contrasts; the side of `shown.homogenization` is tinted.

    Raises:
        HomogenizationError: the table lacks the metric, or all of `shown.contrasts`.
    """
    contrasts = tables["contrasts"]
    pairs = pl.DataFrame(shown.contrasts, schema={"variant": pl.String, "minus": pl.String}, orient="row")
    table = rows_of(contrasts, shown).filter(metric=shown.metric).join(pairs, ["variant", "minus"], "semi")
    require_rows(table, shown, f"metric '{shown.metric}'", contrasts["metric"])
    alpha, labels = shown.alpha, dict(shown.variants)
    views = views_present(table, shown.views)
    subtracted = dict.fromkeys(minus for _, minus in shown.contrasts)
    tested = set(table.filter(pl.col("reason").is_null())["variant"])
    styles = {name: style for name, style in variant_styles(shown.variants).items() if name in tested}
    has_final_norm = (table["point"] == FINAL_NORM).any()
    rows = {}
    for minus in subtracted:
        less = [labels.get(variant, variant) for variant, other in shown.contrasts if other == minus]
        difference = f"{less[0] if len(less) == 1 else 'Variants'} less {labels.get(minus, minus)}"
        for view in views:
            if not table.filter(minus=minus, view=view).is_empty():
                rows[f"{minus} {view}"] = (minus, view, f"{difference}; {view_label(view)}")
    labelled = [(row, text) for row, (_, _, text) in rows.items()]
    figure, panels = panel_grid(shown.models, labelled, row_height=2.3, rows_above=True)
    for (row, model), axes in panels.items():
        minus, view, _ = rows[row]
        of_panel = table.filter(minus=minus, view=view, model=model)
        axes.axhline(0, color=DARK, lw=0.9, label="zero")
        _draw_curves(axes, of_panel.filter(pl.col("point") == RESIDUAL_STREAM), styles)
        _draw_final_norm(axes, of_panel.filter(pl.col("point") == FINAL_NORM), styles)
        set_depth_axis(axes, len(styles) if has_final_norm else 0)
        axes.set_ylim(range_with_zero(of_panel.select("mean", "ci_low", "ci_high", "mean_common").to_numpy(), 0.12))
        if not of_panel["mean"].is_finite().any():
            mark_empty(axes, _why_empty(axes, of_panel))
        elif shown.homogenization:
            _tint_side(axes, shown.homogenization)
    label_outer(panels, DEPTH_LABEL, dict.fromkeys(rows, f"Δ {shown.label}"))
    has_common = table["mean_common"].is_finite().any()
    handles = [
        *variant_handles(shown.variants, styles, set(styles)),
        *_other_handles(alpha, has_common, shown.homogenization),
    ]
    return finish(figure, shown.title, _note(table, labels, alpha, has_common, has_final_norm), handles)


def _why_empty(axes: Axes, table: pl.DataFrame) -> str:
    """The reasons for which the contrasts of a panel are not tested, wrapped to its width."""
    width = axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols
    reasons = table["reason"].drop_nulls().unique(maintain_order=True)
    return "\n".join(textwrap.fill(f"not tested: {reason}", int(9 * width)) for reason in reasons) or "no values"


def _draw_curves(axes: Axes, table: pl.DataFrame, styles: Mapping[str, VariantStyle]) -> None:
    """A line with its band for each variant, markers by their verdict, and the line at equal length."""
    for name, style in styles.items():
        rows = table.filter(pl.col("variant") == name).sort("depth")
        columns = ("depth", "mean", "ci_low", "ci_high", "mean_common")
        depth, mean, low, high, common = (rows[column].to_numpy() for column in columns)
        if not np.isfinite(mean).any():
            continue
        colour, size = style.colour, _marker_size(axes, len(rows))
        axes.fill_between(depth, low, high, color=colour, alpha=0.18, lw=0)
        axes.plot(depth, common, color=colour, label=f"{name} at equal length", **_COMMON_LOOK)
        axes.plot(depth, mean, color=colour, ls=style.dashes, label=name)
        marked = rows.select(_marking()).to_series().to_numpy()
        look = {"ls": "", "marker": style.marker, "ms": size, "mec": colour, "mew": 0.9}
        for what, face in _FACES.items():
            chosen = marked == what
            axes.plot(depth[chosen], mean[chosen], label=f"{name} {what}", **look, **face(colour))


def _marking() -> pl.Expr:
    """How the difference of a row is marked: one of `_FACES`."""
    differs = pl.col("verdict").is_in(["higher", "lower"])
    return (
        pl.when(differs & pl.col("fragile"))
        .then(pl.lit("half"))
        .when(differs)
        .then(pl.lit("filled"))
        .otherwise(pl.lit("open"))
    )


def _marker_size(axes: Axes, n_markers: int) -> float:
    """Size in points: as large as neighbours allow, in a panel that takes three quarters of its place in the grid."""
    width = 0.75 * axes.figure.get_figwidth() / axes.get_subplotspec().get_gridspec().ncols
    return float(np.clip(0.7 * 72 * width / max(n_markers, 1), _SMALLEST_MARKER, _LARGEST_MARKER))


def _draw_final_norm(axes: Axes, table: pl.DataFrame, styles: Mapping[str, VariantStyle]) -> None:
    """The state after the final norm, right of depth 1, marked by its verdict."""
    draw_final_norm(axes, table, styles)
    marked = dict(table.select("variant", _marking().alias("marked")).rows())
    for marker in axes.lines:
        name = str(marker.get_label()).removesuffix(" after final norm")
        if name != marker.get_label() and name in marked:
            marker.set(**_FACES[marked[name]](styles[name].colour))


def _tint_side(axes: Axes, homogenization: int) -> None:
    limits = axes.get_ylim()
    axes.axhspan(0, limits[homogenization > 0], color=ALIKE_COLOUR, lw=0, zorder=0, label="more alike")
    axes.set_ylim(limits)


def _other_handles(alpha: float, has_common: bool, homogenization: int) -> list[Artist]:
    """Legend entries that all variants share."""
    marker = {"color": DARK, "ls": "", "marker": "o", "ms": _LARGEST_MARKER}
    handles: list[Artist] = [
        Line2D([], [], **marker, **_FACES["filled"](DARK), label=f"filled: corrected p < {alpha:.3g}, not negligible"),
        Line2D([], [], **marker, **_FACES["half"](DARK), label="half: so, but fragile"),
        Line2D([], [], **marker, **_FACES["open"](DARK), label="open: undecided or negligible"),
    ]
    if has_common:
        handles.append(Line2D([], [], color=DARK, **_COMMON_LOOK, label="thin: same number of tokens"))
    return handles + alike_handles(homogenization)


def _note(table: pl.DataFrame, labels: Mapping[str, str], alpha: float, has_common: bool, has_final_norm: bool) -> str:
    counted_rows = table.filter(pl.col("mean").is_finite())
    note = (
        f"Line: mean difference Δ over reviews, each against itself in the variant named above it; band: its "
        f"{100 * (1 - alpha):.3g} % bootstrap interval; n = {counted(counted_rows['n_reviews'])}. p: sign-flip test, "
        f"corrected over the layers of a line (max-T). {DEPTH_NOTE} Vertical scales differ between panels."
    )
    if has_common:
        common_rows = table.filter(pl.col("mean_common").is_finite())
        note += (
            f" Thin: the mean difference once more on the same number of tokens of every review "
            f"(n = {counted(common_rows['n_common'])})."
        )
    if has_final_norm:
        note += " Right of the grey line: the state after the final norm, tested alone."
    refused = table.filter(pl.col("reason").is_not_null()).select("variant", "minus", "reason").unique().sort(pl.all())
    if len(refused):
        listed = "; ".join(
            f"{labels.get(variant, variant)} less {labels.get(minus, minus)} ({reason})"
            for variant, minus, reason in refused.rows()
        )
        note += f" Not tested: {listed}."
    return note
