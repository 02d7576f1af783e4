"""The figure of one metric: against depth, a line for each variant, a column for each model, a row for each view."""

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.depth import (
    DEPTH_LABEL,
    DEPTH_NOTE,
    draw_depth_curves,
    draw_final_norm,
    final_norm_handle,
    set_depth_axis,
    spans_decades,
)
from homogenization.figures.style import (
    Named,
    counted,
    finish,
    house_style,
    label_outer,
    mark_empty,
    panel_grid,
    set_log_scale,
    variant_handles,
    variant_styles,
    widen_if_flat,
)
from homogenization.figures.view_labels import view_label


@house_style()
def draw_metric(
    table: pl.DataFrame, title: str, label: str, views: Sequence[str], variants: Named, models: Named
) -> Figure:
    """The figure of one metric.

    Args:
        table: rows of one metric of tables/summary.parquet.
        title: of the figure.
        label: of the vertical axes, with the unit.
        views: the rows, in this order; views that the metric does not have are left out, and where it has none of
            them (metrics of the geometry have views of their own) all that it has are shown.
        variants: (name, label) in the order of the legend.
        models: (name, label) in the order of the columns.
    """
    present = set(table["view"])
    shown = [view for view in views if view in present] or sorted(present)
    styles = variant_styles(variants)
    figure, panels = panel_grid(models, [(view, view_label(view)) for view in shown])
    has_final_norm = (table["point"] == "final_norm").any()
    y_labels = {}
    for view in shown:
        of_view = table.filter(pl.col("view") == view)
        logarithmic = spans_decades(of_view)
        y_labels[view] = f"{label} (log scale)" if logarithmic else label
        for model, _ in models:
            axes = panels[view, model]
            rows = of_view.filter(pl.col("model") == model)
            draw_depth_curves(axes, rows.filter(pl.col("point") == "residual_stream"), styles)
            draw_final_norm(axes, rows.filter(pl.col("point") == "final_norm"), styles)
            set_depth_axis(axes, len(styles) if has_final_norm else 0)
            if not rows["mean"].is_finite().any():
                mark_empty(axes)
            elif logarithmic:
                set_log_scale(axes)
            else:
                widen_if_flat(axes)
    label_outer(panels, DEPTH_LABEL, y_labels)
    handles = variant_handles(variants, styles, set(table["variant"]))
    if has_final_norm:
        handles.append(final_norm_handle())
    note = (
        f"Line: mean, band: its 95 % confidence interval over reviews; n = {counted(table['n_reviews'])}, the same "
        f"reviews in every variant. {DEPTH_NOTE} Vertical scales differ between panels."
    )
    if has_final_norm:
        note += " The state after the final norm is no part of the curve."
    return finish(figure, title, note, handles)
