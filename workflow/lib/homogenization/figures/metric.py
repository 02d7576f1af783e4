"""The figure of one metric against depth: the originals, with the other variants thin behind them.

Columns are models, rows are views.
"""

from matplotlib.figure import Figure

from homogenization.figures.accepted import accepted
from homogenization.figures.grammar import (
    DEPTH_LABEL,
    DEPTH_NOTE,
    Panels,
    draw_final_norm,
    handles_of,
    marker_handle,
    spans_decades,
    views_present,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import OPEN, THIN, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the table summary.

    The thin lines show how far variants lie apart beside what depth does; the figures of contrasts test differences.
    Views that the metric lacks are left out. A metric with none of `shown.views` (metrics of the geometry have views of
    their own) is shown in all of its views.
    """
    table = rows_of(tables["summary"], shown, metric=shown.metric)
    require_rows(table, shown, f"metric '{shown.metric}'", tables["summary"]["metric"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    views = views_present(table, shown.views)
    styles = variant_styles(shown.variants, dict(reviews.variants))
    behind = {name: style for name, style in styles.items() if name != ORIGINAL} if ORIGINAL in styles else {}
    front = {name: style for name, style in styles.items() if name not in behind}
    stream, final_norm = (table.filter(point=point) for point in (RESIDUAL_STREAM, FINAL_NORM))
    panels = Panels(("model", shown.models), ("view", [(view, view_label(view)) for view in views]))
    panels.lines(stream, behind, y=("mean",), **THIN)
    panels.lines(stream, front)
    for axes, rows in panels.of(final_norm):
        draw_final_norm(axes, rows, front)
    panels.depth_axis(0 if final_norm.is_empty() else len(front))
    panels.fit(table, logarithmic=[view for view in views if spans_decades(table.filter(view=view))])
    panels.label(DEPTH_LABEL, shown.label)
    handles = handles_of(reviews.variants, styles, thin=behind)
    note = (
        f"Line: mean over reviews, band: its 95 % confidence interval; {reviews.counts}. {DEPTH_NOTE} Vertical scales "
        f"differ between panels.{' Thin: the other variants, without their bands.' if behind else ''}"
    )
    if not final_norm.is_empty():
        handles.append(marker_handle("after the final norm", **OPEN, ms=5))
        note += " The state after the final norm is no part of the curve."
    return panels.finish(shown.title, note, handles + reviews.left_out)
