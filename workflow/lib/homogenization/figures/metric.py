"""The figure of one metric against depth: the originals, with the other variants thin behind them.

Columns are models, rows are views.
"""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.accepted import accepted
from homogenization.figures.curves import (
    DEPTH_LABEL,
    DEPTH_NOTE,
    draw_depth_curves,
    draw_final_norm,
    final_norm_handle,
    set_depth_axis,
    spans_decades,
)
from homogenization.figures.panels import (
    axis_label,
    finish,
    fit_vertical_axis,
    label_outer,
    panel_grid,
    variant_handles,
    views_present,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import house_style, variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.vocabulary.variants import ORIGINAL


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure of `shown.metric` from the table summary.

    The thin lines show how far variants lie apart beside what depth does; the figures of contrasts test differences.
    Views that the metric lacks are left out. A metric with none of `shown.views` (metrics of the geometry have views of
    their own) is shown in all of its views.

    Raises:
        HomogenizationError: the table lacks the metric.
    """
    summary = tables["summary"]
    table = rows_of(summary, shown).filter(metric=shown.metric)
    require_rows(table, shown, f"metric '{shown.metric}'", summary["metric"])
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    views = views_present(table, shown.views)
    drawn = dict(reviews.variants)
    styles = {name: style for name, style in variant_styles(shown.variants).items() if name in drawn}
    behind = {name: style for name, style in styles.items() if name != ORIGINAL} if ORIGINAL in styles else {}
    front = {name: style for name, style in styles.items() if name not in behind}
    figure, panels = panel_grid(shown.models, [(view, view_label(view)) for view in views])
    has_final_norm = (table["point"] == FINAL_NORM).any()
    y_labels = {}
    for view in views:
        of_view = table.filter(pl.col("view") == view)
        logarithmic = spans_decades(of_view)
        y_labels[view] = axis_label(shown.label, logarithmic)
        for model, _ in shown.models:
            axes = panels[view, model]
            rows = of_view.filter(pl.col("model") == model)
            residual = rows.filter(pl.col("point") == RESIDUAL_STREAM)
            draw_depth_curves(axes, residual, behind, plain=True, band=False)
            draw_depth_curves(axes, residual, front)
            draw_final_norm(axes, rows.filter(pl.col("point") == FINAL_NORM), front)
            set_depth_axis(axes, len(front) if has_final_norm else 0)
            fit_vertical_axis(axes, rows["mean"], logarithmic)
    label_outer(panels, DEPTH_LABEL, y_labels)
    handles = variant_handles(reviews.variants, styles, set(drawn), thin=behind)
    if has_final_norm:
        handles.append(final_norm_handle())
    handles += reviews.left_out
    note = (
        f"Line: mean over reviews, band: its 95 % confidence interval; {reviews.counts}. {DEPTH_NOTE} Vertical scales "
        f"differ between panels.{' Thin: the other variants, without their bands.' if behind else ''}"
    )
    if has_final_norm:
        note += " The state after the final norm is no part of the curve."
    return finish(figure, shown.title, note, handles)
