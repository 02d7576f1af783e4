"""The figure of slopes at a dose of 0: how much a metric at the output answers to the attention of each block."""

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from homogenization.figures.changed_attention import chosen_variant, pattern_handles, views_of
from homogenization.figures.grammar import ESTIMATE, Panels, mark_empty, range_with_zero
from homogenization.figures.shown import Shown, Tables, named_in, require_rows, rows_of
from homogenization.figures.style import pattern_styles
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table slopes: rows are metrics and views, columns models, lines patterns and controls."""
    slopes = rows_of(tables["slopes"], shown, ("model",), against="untouched")
    require_rows(slopes, shown, "", tables["slopes"]["model"])
    table = slopes.filter(pl.col("block").is_not_null(), variant=chosen_variant(slopes["variant"]))
    table = table.with_columns(row=pl.concat_str("metric", pl.lit(" "), "view"))
    metrics = table["metric"].unique().sort()
    rows = {f"{m} {view}": (m, view) for m in metrics for view in views_of(table.filter(metric=m), m)}
    styles = pattern_styles(table["pattern"])
    panels = Panels(
        ("model", named_in(shown.models, table["model"])),
        ("row", [(row, view_label(view)) for row, (_, view) in rows.items()]),
        height=2.3,
    )
    panels.zero()
    for axes, of_panel in panels.of(table):
        if not of_panel["estimate"].is_finite().any():
            n_reviews = counted(of_panel["n_reviews"])
            mark_empty(axes, "no values" if of_panel.is_empty() else f"not tested:\n{n_reviews}")
    panels.lines(table, styles, x="block", y=ESTIMATE, hue="pattern", markers=16, ms=3.5)
    for axes, of_panel in panels.of(table):
        if of_panel["estimate"].is_finite().any():
            axes.set_ylim(range_with_zero(of_panel.select(ESTIMATE).to_numpy(), 0.08))
            axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    titles = {row: f"d {shown.metric_titles.get(metric, metric)} / dλ" for row, (metric, _) in rows.items()}
    panels.label("Block whose attention is changed", titles)
    for axes in panels.axes.values():  # models differ in their number of blocks
        axes.tick_params(labelbottom=True)
    note = (
        "Line: mean over reviews of the derivative of the metric after the last block by the share λ of one block's "
        "attention that goes to a pattern, at λ = 0; band: its 95 % interval, not drawn for controls. Slopes "
        f"of blocks add up to the slope of all. n = {counted(table['n_reviews'])}. Scales differ between panels."
    )
    return panels.finish(shown.title, note, pattern_handles(styles))
