"""Curves over the depth of a model, one for each variant, as several figures draw them."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from homogenization.figures.style import DARK, GREY, VariantStyle

DEPTH_LABEL = "Relative depth (layer / blocks)"
DEPTH_NOTE = "Depth 0: after the embedding, 1: after the last block."
_MAX_MARKERS = 13
_FINAL_NORM_START, _FINAL_NORM_STEP = 1.05, 0.038


def draw_depth_curves(
    axes: Axes,
    table: pl.DataFrame,
    styles: Mapping[str, VariantStyle],
    values: tuple[str, str, str] = ("mean", "ci_low", "ci_high"),
    plain: bool = False,
    band: bool = True,
) -> None:
    """Draw one line with its band for each variant in `table`; the line's label is the variant's name.

    Args:
        axes: the panel.
        table: columns variant, depth and the three of `values`; one row for each variant and depth.
        styles: styles of the variants, in the order of drawing.
        values: columns of the line, and of the lower and upper edge of its band.
        plain: whether lines are thin and without markers, for what stands behind something else.
        band: whether a line has its band.
    """
    for name, style in styles.items():
        rows = table.filter(pl.col("variant") == name).sort("depth")
        depth, middle, low, high = (rows[column].to_numpy() for column in ("depth", *values))
        if not np.isfinite(middle).any():
            continue
        if band:
            axes.fill_between(depth, low, high, color=style.colour, alpha=0.18, lw=0)
        axes.plot(
            depth,
            middle,
            color=style.colour,
            ls=style.dashes,
            lw=1.0 if plain else None,
            marker="" if plain else style.marker,
            markevery=max(1, -(-len(depth) // _MAX_MARKERS)),
            label=name,
        )


def draw_final_norm(axes: Axes, table: pl.DataFrame, styles: Mapping[str, VariantStyle]) -> bool:
    """Draw the state after the final norm as open markers right of depth 1; returns whether there was one.

    Args:
        axes: the panel.
        table: columns variant, mean, ci_low, ci_high; one row for each variant.
        styles: styles of the variants, in the order of drawing.
    """
    table = table.filter(pl.col("mean").is_finite())
    for index, (name, style) in enumerate(styles.items()):
        for row in table.filter(pl.col("variant") == name).iter_rows(named=True):
            place = _FINAL_NORM_START + index * _FINAL_NORM_STEP
            axes.vlines(place, row["ci_low"], row["ci_high"], color=style.colour, lw=1)
            axes.plot(
                place, row["mean"], style.marker, mfc="white", mec=style.colour, ms=5, label=f"{name} after final norm"
            )
    return not table.is_empty()


def final_norm_handle() -> Line2D:
    """The legend entry of the open markers."""
    label = "after the final norm"
    return Line2D([], [], color=DARK, ls="", marker="o", mfc="white", ms=5, label=label)


def set_depth_axis(axes: Axes, n_final_norm: int) -> None:
    """Ticks at quarters of the depth, and room right of 1 for `n_final_norm` open markers."""
    right = _FINAL_NORM_START + (n_final_norm - 1) * _FINAL_NORM_STEP if n_final_norm else 1.0
    axes.set_xlim(-0.03, right + 0.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    if n_final_norm:
        axes.axvline(1.02, color=GREY, lw=0.6)


def spans_decades(table: pl.DataFrame) -> bool:
    """Whether the column mean needs a logarithmic axis: positive, beyond 1, and a hundredfold from low to high."""
    means = table["mean"].drop_nulls().drop_nans()
    return len(means) > 0 and means.min() > 0 and means.max() > 1 and means.max() / means.min() >= 100
