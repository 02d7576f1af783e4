"""The figure of slopes at a dose of 0: how much a metric at the output answers to the attention of each block."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from homogenization.figures.panels import counted, finish, label_outer, mark_empty, panel_grid, range_with_zero
from homogenization.figures.pattern_styles import PatternStyle, pattern_handles, pattern_styles
from homogenization.figures.shown import Shown, Tables, names_of, require_rows
from homogenization.figures.style import DARK, house_style
from homogenization.figures.view_labels import view_label
from homogenization.vocabulary.variants import ORIGINAL

_VIEWS = {
    "cosine_anisotropy": ("all_tokens", "without_first"),
    "cosine_to_first_token": ("all_tokens",),
}
_SPECTRAL_VIEWS = ("all_tokens", "centred")
_MAX_MARKERS = 16


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table slopes: rows are metrics and views, columns models, lines patterns and controls.

    Raises:
        HomogenizationError: the table holds none of these models.
    """
    slopes = tables["slopes"].filter(pl.col("model").is_in(names_of(shown.models)), against="untouched")
    wanted = ", ".join(names_of(shown.models))
    require_rows(slopes, shown, f"models {wanted}", tables["slopes"]["model"])
    variants = slopes["variant"].unique().sort().to_list()
    table = slopes.filter(pl.col("block").is_not_null(), variant=ORIGINAL if ORIGINAL in variants else variants[0])
    models = [pair for pair in shown.models if pair[0] in set(table["model"])]
    rows = _rows(table)
    styles = pattern_styles(table["pattern"].unique().to_list())
    figure, panels = panel_grid(models, [(f"{m} {view}", view_label(view)) for m, view in rows], row_height=2.3)
    for metric, view in rows:
        for model, _ in models:
            _draw_panel(panels[f"{metric} {view}", model], table.filter(model=model, metric=metric, view=view), styles)
    labels = {f"{metric} {view}": f"d {shown.metric_titles.get(metric, metric)} / dλ" for metric, view in rows}
    label_outer(panels, "Block whose attention is changed", labels)
    for axes in panels.values():  # models differ in their number of blocks
        axes.tick_params(labelbottom=True)
    return finish(figure, shown.title, _note(table), pattern_handles(styles))


def _rows(table: pl.DataFrame) -> list[tuple[str, str]]:
    present = set(table.select("metric", "view").unique().rows())
    metrics = sorted({metric for metric, _ in present})
    wanted = [(metric, view) for metric in metrics for view in _VIEWS.get(metric, _SPECTRAL_VIEWS)]
    return [pair for pair in wanted if pair in present] or sorted(present)


def _draw_panel(axes: Axes, table: pl.DataFrame, styles: dict[str, PatternStyle]) -> None:
    axes.axhline(0, color=DARK, lw=0.9, label="zero")
    if not table["estimate"].is_finite().any():
        mark_empty(axes, "no values" if table.is_empty() else f"not tested:\n{counted(table['n_reviews'])}")
        return
    for pattern, style in styles.items():
        rows = table.filter(pattern=pattern).sort("block")
        block, estimate, low, high = (rows[name].to_numpy() for name in ("block", "estimate", "ci_low", "ci_high"))
        every = max(1, -(-len(rows) // _MAX_MARKERS))
        if not style.control:
            axes.fill_between(block, low, high, color=style.colour, alpha=0.15, lw=0)
        look = {"lw": 1.1, "ms": 4.5} if style.control else {"ms": 3.5}
        axes.plot(
            block,
            estimate,
            color=style.colour,
            ls=style.dashes,
            marker=style.marker,
            markevery=every,
            label=pattern,
            **look,
        )
    axes.set_ylim(range_with_zero(table.select("estimate", "ci_low", "ci_high").to_numpy(), 0.08))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))


def _note(table: pl.DataFrame) -> str:
    return (
        "Line: mean over reviews of the derivative of the metric after the last block by the share λ of one block's "
        "attention that goes to a pattern, at λ = 0; band: its 95 % interval, not drawn for controls. Slopes "
        f"of blocks add up to the slope of all. n = {counted(table['n_reviews'])}. Scales differ between panels."
    )
