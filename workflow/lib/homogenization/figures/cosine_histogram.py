"""The figure of the pairwise cosines of a review's tokens: one histogram for each of several layers."""

from collections.abc import Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.accepted import accepted
from homogenization.figures.grammar import Panels, draw_lines, handles_of, mark_empty
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import BAND, DARK, FINE, GREY, HAIR, STRONG, LineStyle, variant_styles
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_MAX_RIDGES = 9
_RIDGE_HEIGHT = 0.88  # share of the distance between two ridges
_FINAL_NORM_GAP = 0.3
_TOKENS = "all_tokens"  # pairs with the first token are too few to be seen here


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table cosines."""
    table = rows_of(tables["cosines"], shown).filter(tokens=_TOKENS)
    require_rows(table, shown, "cosines between tokens", tables["cosines"]["model"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    styles = variant_styles(shown.variants, set(table["variant"]))
    panels = Panels(("model", shown.models), height=5.2)
    for axes, rows in panels.of(table.filter(pl.col("density").is_finite())):
        if rows.is_empty():
            mark_empty(axes)
        else:
            _draw_ridges(axes, rows, styles)
    panels.label("Cosine of two token vectors", "Layer (relative depth)")
    # the curves have no markers
    handles = [*handles_of(reviews.variants, styles, marker=""), *reviews.left_out]
    note = (
        "Each curve: the histogram of the cosines of all pairs of a review's tokens (the first included), the mean "
        f"over reviews; {reviews.counts}. Layer 0: after the embedding. Every curve has the same area; heights are "
        "scaled by the highest curve of each layer. Dotted: cosine 0."
    )
    return panels.finish(shown.title, note, handles)


def _draw_ridges(axes: Axes, rows: pl.DataFrame, styles: Mapping[str, LineStyle]) -> None:
    """Draw a few layers of one model, deeper ones higher, and the state after the final norm on top."""
    layers = np.unique(rows.filter(pl.col("point") == RESIDUAL_STREAM)["layer"].to_numpy())
    if layers.size > _MAX_RIDGES:
        layers = np.unique(layers[np.linspace(0, layers.size - 1, _MAX_RIDGES).round().astype(int)])
    ridges = [(RESIDUAL_STREAM, int(layer)) for layer in layers]
    ridges += [(FINAL_NORM, int(layer)) for layer in rows.filter(pl.col("point") == FINAL_NORM)["layer"].unique()]
    heights, labels = [], []
    for rank, (point, layer) in enumerate(ridges):
        height = rank + (_FINAL_NORM_GAP if point == FINAL_NORM else 0)
        of_layer = rows.filter(pl.col("point") == point, pl.col("layer") == layer)
        scale = _RIDGE_HEIGHT / max(of_layer["density"].max(), 1e-12)
        of_layer = of_layer.with_columns(
            centre=(pl.col("bin_left") + pl.col("bin_right")) / 2, height=height + pl.col("density") * scale
        )
        original = of_layer.filter(variant=ORIGINAL).sort("centre")
        if ORIGINAL in styles and not original.is_empty():
            filled = {"color": styles[ORIGINAL].colour, **BAND}
            axes.fill_between(original["centre"], height, original["height"], **filled)
        draw_lines(axes, of_layer, styles, x="centre", y=("height",), lw=STRONG, marker="")
        axes.axhline(height, color=GREY, lw=HAIR)
        heights.append(height)
        labels.append(f"{layer} ({of_layer['depth'][0]:.2f})" if point == RESIDUAL_STREAM else "after the\nfinal norm")
    axes.axvline(0, color=DARK, lw=FINE, ls=":")
    axes.set_yticks(heights, labels)
    axes.set_ylim(-0.1, heights[-1] + 1)
    axes.grid(axis="y", visible=False)
    occupied = rows.filter(pl.col("density") > 0.001 * pl.col("density").max())
    left, right = occupied["bin_left"].min(), occupied["bin_right"].max()
    axes.set_xlim(left - 0.03, right + 0.03)
