"""The figure of shifts: how far a text moves the pooled states of its original, by depth."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, draw_depth_curves, set_depth_axis
from homogenization.figures.panels import (
    counted,
    finish,
    label_outer,
    mark_empty,
    panel_grid,
    set_log_scale,
    variant_handles,
)
from homogenization.figures.read_texts import read_texts
from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import house_style

_VALUES = ("estimate", "ci_low", "ci_high")


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table shifts: columns models, lines texts.

    Raises:
        HomogenizationError: the table holds no untouched run of these models.
    """
    read = read_texts(tables["shifts"], shown, "texts read by the untouched models")
    table, styles = read.table, read.styles
    figure, panels = panel_grid(read.models, [("shift", "")], row_height=3.0, share_y=True)
    for (_, model), axes in panels.items():
        rows = table.filter(pl.col("estimate") > 0, model=model)
        draw_depth_curves(axes, rows, styles, _VALUES)
        set_depth_axis(axes, 0)
        if rows.is_empty():
            mark_empty(axes)
        else:
            set_log_scale(axes)
    label_outer(panels, DEPTH_LABEL, {"shift": "shift (log scale)"})
    note = (
        "Line: distance of the pooled states of a text from those of its original, over the mean distance of that "
        "original from the others; mean over reviews. Band: its 95 % interval. "
        f"n = {counted(table['n_reviews'])}. {DEPTH_NOTE}"
    )
    return finish(figure, shown.title, note, variant_handles(read.texts, styles, set(styles)))
