"""The figure of the first token of the originals over depth: its norm beside the others', its shares and cosine."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, draw_depth_curves, set_depth_axis, spans_decades
from homogenization.figures.panels import (
    axis_label,
    counted,
    finish,
    fit_vertical_axis,
    label_outer,
    panel_grid,
)
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import DARK, house_style, variant_styles
from homogenization.vocabulary.points import RESIDUAL_STREAM
from homogenization.vocabulary.variants import ORIGINAL

_FIRST_NORM, _OTHER_NORM = "first_token_norm", "other_token_norm"
_ATTENTION, _ATTENTION_EXCESS = "first_token_attention_share", "first_token_attention_excess"
_ROWS = {  # row -> metrics drawn in it, label of its vertical axis, label at its right
    "norm": ((_FIRST_NORM, _OTHER_NORM), "Norm of a token vector", "markers: first token, thin: median of others"),
    "energy": (("first_token_energy_share",), "First token's share of squared norm", ""),
    "attention": ((_ATTENTION,), "First token's share of attention", "dashed: uniform attention"),
    "cosine": (("cosine_to_first_token",), "Mean cosine of others to first token", ""),
}
METRICS = (*(metric for metrics, _, _ in _ROWS.values() for metric in metrics), _ATTENTION_EXCESS)


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table summary; metrics that the table lacks have no row of panels.

    Raises:
        HomogenizationError: the table holds none of `METRICS`.
    """
    summary = tables["summary"]
    # each of these metrics has one view; the metric figures show the state after the final norm, and other variants
    table = rows_of(summary, shown).filter(pl.col("metric").is_in(METRICS), variant=ORIGINAL, point=RESIDUAL_STREAM)
    require_rows(table, shown, f"metrics {', '.join(METRICS)}", summary["metric"])
    styles = {name: style for name, style in variant_styles(shown.variants).items() if name == ORIGINAL}
    rows_shown = [row for row, (metrics, _, _) in _ROWS.items() if table["metric"].is_in(metrics).any()]
    figure, panels = panel_grid(shown.models, [(row, _ROWS[row][2]) for row in rows_shown])
    uniform = _uniform_share(table)
    y_labels = {}
    for row in rows_shown:
        metrics, label, _ = _ROWS[row]
        of_row = table.filter(pl.col("metric").is_in(metrics))
        logarithmic = row == "norm" and spans_decades(of_row)
        y_labels[row] = axis_label(label, logarithmic)
        for model, _ in shown.models:
            axes = panels[row, model]
            of_panel = of_row.filter(pl.col("model") == model)
            for metric in metrics:
                rows = of_panel.filter(pl.col("metric") == metric)
                draw_depth_curves(axes, rows, styles, plain=metric == _OTHER_NORM)
            if row == "attention":
                of_model = uniform.filter(pl.col("model") == model)
                axes.plot(of_model["depth"], of_model["uniform"], color=DARK, ls="--", lw=1, label="uniform")
            set_depth_axis(axes, 0)
            fit_vertical_axis(axes, of_panel["mean"], logarithmic)
    label_outer(panels, DEPTH_LABEL, y_labels)
    note = (
        f"Line: mean over reviews, band: its 95 % confidence interval; {dict(shown.variants)[ORIGINAL]}, "
        f"n = {counted(table['n_reviews'])}. {DEPTH_NOTE} Vertical scales differ between panels."
    )
    return finish(figure, shown.title, note)


def _uniform_share(table: pl.DataFrame) -> pl.DataFrame:
    """Model, depth, uniform: the first token's mean share under uniform attention, from its share and the excess."""
    keys = ["model", "variant", "depth"]
    share, excess = (table.filter(pl.col("metric") == metric) for metric in (_ATTENTION, _ATTENTION_EXCESS))
    both = share.join(excess, on=keys, suffix="_excess").filter(pl.col("mean").is_finite())
    uniform = both.group_by("model", "depth").agg(uniform=(pl.col("mean") - pl.col("mean_excess")).mean())
    return uniform.sort("model", "depth")
