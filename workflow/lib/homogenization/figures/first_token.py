"""The figure of the first token of the originals over depth: its norm beside the others', its shares and cosine."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.grammar import DEPTH_LABEL, DEPTH_NOTE, Panels, spans_decades
from homogenization.figures.shown import Shown, Tables, require_rows, rows_of
from homogenization.figures.style import REFERENCE, THIN, variant_styles
from homogenization.figures.words import counted
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_OTHER_NORM = "other_token_norm"
_ATTENTION, _ATTENTION_EXCESS = "first_token_attention_share", "first_token_attention_excess"
_ROWS = {  # row -> metrics drawn in it, label of its vertical axis, label at its right
    "norm": (
        ("first_token_norm", _OTHER_NORM),
        "Norm of a token vector",
        "markers: first token, thin: median of others",
    ),
    "energy": (("first_token_energy_share",), "First token's share of squared norm", ""),
    "attention": ((_ATTENTION,), "First token's share of attention", "dashed: uniform attention"),
    "cosine": (("cosine_to_first_token",), "Mean cosine of others to first token", ""),
}
_ROW_OF = {metric: row for row, (metrics, _, _) in _ROWS.items() for metric in metrics}
METRICS = (*_ROW_OF, _ATTENTION_EXCESS)


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table summary; metrics of `METRICS` that the table lacks have no row of panels."""
    summary = tables["summary"]
    # each of these metrics has one view; the metric figures show the state after the final norm, and other variants
    table = rows_of(summary, shown, variant=ORIGINAL, point=RESIDUAL_STREAM).filter(pl.col("metric").is_in(METRICS))
    require_rows(table, shown, f"metrics {', '.join(METRICS)}", summary["metric"])
    uniform = _uniform_share(table).with_columns(row=pl.lit("attention"))
    drawn = table.with_columns(row=pl.col("metric").replace_strict(_ROW_OF, default=None))
    rows = [(row, _ROWS[row][2]) for row in _ROWS if (drawn["row"] == row).any()]
    styles = variant_styles(shown.variants, {ORIGINAL})
    panels = Panels(("model", shown.models), ("row", rows))
    panels.lines(drawn.filter(pl.col("metric") != _OTHER_NORM), styles)
    panels.lines(drawn.filter(metric=_OTHER_NORM), styles, **THIN)
    for axes, of_model in panels.of(uniform):
        if not of_model.is_empty():
            axes.plot(of_model["depth"], of_model["uniform"], **REFERENCE, label="uniform")
    panels.depth_axis()
    panels.fit(drawn, logarithmic=["norm"] * spans_decades(drawn.filter(row="norm")))
    panels.label(DEPTH_LABEL, {row: label for row, (_, label, _) in _ROWS.items()})
    note = (
        f"Line: mean over reviews, band: its 95 % confidence interval; {dict(shown.variants)[ORIGINAL]}, "
        f"n = {counted(table['n_reviews'])}. {DEPTH_NOTE} Vertical scales differ between panels."
    )
    return panels.finish(shown.title, note)


def _uniform_share(table: pl.DataFrame) -> pl.DataFrame:
    """Model, depth, uniform: the first token's mean share under uniform attention, from its share and the excess."""
    keys = ["model", "variant", "depth"]
    share, excess = (table.filter(pl.col("metric") == metric) for metric in (_ATTENTION, _ATTENTION_EXCESS))
    both = share.join(excess, on=keys, suffix="_excess").filter(pl.col("mean").is_finite())
    uniform = both.group_by("model", "depth").agg(uniform=(pl.col("mean") - pl.col("mean_excess")).mean())
    return uniform.sort("model", "depth")
