"""The figure of the change of an anisotropy by each component of a block: bars by component and depth."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import MEAN, Panels, handle, mark_empty, marker_handle, range_with_zero
from homogenization.figures.shown import Shown, Tables, count_in_words, named_in, names_of, required
from homogenization.figures.style import ALIKE, DARK, FINE, GREY, QUARTERS, STRONG, ZERO
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import counted
from homogenization.metrics.registry import ALL_TOKENS, view_without_first
from homogenization.names.numbers import signed, significant
from homogenization.names.variants import ORIGINAL
from homogenization.tables.over_reviews import summarise

_COMPONENTS = {  # in the order of a block
    "norm_1": "first norm",
    "attention": "attention",
    "post_norm_1": "norm behind attention",
    "attention_addition": "addition of attention",
    "norm_2": "second norm",
    "feed_forward": "feed-forward",
    "post_norm_2": "norm behind feed-forward",
    "feed_forward_addition": "addition of feed-forward",
    "addition": "addition of both",
}
_LOOKS = {ALL_TOKENS: "", "centred": "centred"}  # a panel has both all tokens and all but the first
_QUARTERS = ("first quarter of the blocks", "second", "third", "last")
_LANES = len(_QUARTERS) + 1  # lanes of a component: its quarters, and the mean of all blocks
_PITCH = _LANES + 1.2  # lanes from one component to the next
_LANE_HEIGHT = 0.07  # inches
_OPEN = {"mfc": "none", "ms": 7}  # the mean without the first token


def components(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table components: rows are metrics and views, columns are models and variants.

    A panel has a view with all tokens; of the same view without the first, it has the mean over all blocks alone.
    Models and variants that the table lacks are left out.
    """
    if tables["components"].is_empty():
        return _without_reviews(shown)
    wanted = ", ".join([*names_of(shown.variants), *names_of(shown.models)])
    table = required(tables["components"], shown, f"variants and models {wanted}", told="variant")
    n_reviews = dict(table.group_by("variant").agg(pl.col("review_id").n_unique()).iter_rows())
    needed = min(shown.min_reviews, n_reviews.get(ORIGINAL, shown.min_reviews))
    variants = named_in(shown.variants, table["variant"])
    present = set(table.select("model", "variant").iter_rows())
    columns = [
        ((model, variant), model_label if len(variants) == 1 else f"{model_label}: {variant_label}")
        for model, model_label in shown.models
        for variant, variant_label in variants
        if (model, variant) in present
    ]
    named = set(table["component"])
    components = [name for name in _COMPONENTS if name in named] + sorted(named - set(_COMPONENTS))
    enough = [name for name, count in n_reviews.items() if count >= needed]
    by_quarter, overall = mean_changes(table.filter(pl.col("variant").is_in(enough)))
    rows = [(row, "") for row in _panel_rows(table)]  # the axis names them: at the right of a panel stand its numbers
    height = _LANE_HEIGHT * _PITCH * len(components) + 0.6
    panels = Panels((("model", "variant"), columns), (("metric", "view"), rows), height=height, most_columns=3)
    for ((metric, view), (model, variant)), axes in panels.axes.items():
        of_panel = {"metric": metric, "view": view, "model": model, "variant": variant}
        others = overall.filter(**of_panel | {"view": view_without_first(view)})
        _draw_panel(axes, by_quarter.filter(**of_panel), overall.filter(**of_panel), others, components)
        if variant not in enough:
            mark_empty(axes, f"{count_in_words(n_reviews[variant])},\nat least {needed} are needed")
        look = _LOOKS.get(view, view_label(view))
        axes.set_xlabel(", ".join(filter(None, [f"Change of {metric.replace('_', ' ')}", look])))
        if axes.get_subplotspec().colspan.start:
            axes.tick_params(labelleft=False)
    note = f"n = {counted(overall.filter(pl.col('mean').is_finite())['n_reviews'])}"
    note += f", {variants[0][1]}" if len(variants) == 1 else ""
    handles = [Patch(color=QUARTERS[index], label=_QUARTERS[index]) for index in sorted(set(by_quarter["quarter"]))]
    handles.append(handle("mean of all blocks", lw=STRONG, marker="D", ms=4))
    handles.append(marker_handle("without the first token", "D", **_OPEN))
    return panels.finish(shown.title, note, handles)


def _without_reviews(shown: Shown) -> Figure:
    """A figure that says that no review of the chosen variants is accepted."""
    panels = Panels(("model", shown.models))
    for axes in panels.axes.values():
        mark_empty(axes, count_in_words(0), ticks=False)
    return panels.finish(shown.title, "The variants whose blocks are taken apart have no accepted review.")


def _panel_rows(table: pl.DataFrame) -> list[tuple[str, str]]:
    """(metric, view) of each row of panels: tokens as they are above centred.

    A view without the first token has a row where the table lacks the same view with all tokens. Centred tokens point
    away from each other by construction: the mean of their cosines is not drawn.
    """
    pairs = table.select("metric", "view").unique().rows()
    beside = {(metric, view_without_first(view)) for metric, view in pairs}
    drawn = [(metric, view) for metric, view in pairs if metric != "cosine_anisotropy" or "centred" not in view]
    return sorted(set(drawn) - beside, key=lambda row: (row[0], "centred" in row[1], row[1]))


def mean_changes(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Mean change over reviews by quarter of the depth, and over all blocks.

    The changes of a review are averaged over the blocks first: intervals are over reviews.

    Args:
        table: rows of tables/components.parquet.

    Returns:
        Two tables as `summarise` makes them, by model, variant, metric, view and component; the first also by quarter
        (0 to 3).
    """
    keys = ["model", "variant", "metric", "view", "component"]
    # block 7 of 28 ends the first quarter: its depth is .25, or a rounding error more
    quarter = ((pl.col("depth") * len(_QUARTERS) - 1e-9).ceil() - 1).clip(0, len(_QUARTERS) - 1).cast(pl.Int32)
    table = table.with_columns(quarter=quarter, change=pl.col("change").fill_nan(None)).sort(
        *keys, "review_id", "layer"
    )
    parts = []
    for by in ([*keys, "quarter"], keys):
        by_review = table.group_by(*by, "review_id", maintain_order=True).agg(pl.col("change").mean())
        parts.append(summarise(by_review, by, "change"))
    return parts[0], parts[1]


def _draw_panel(
    axes: Axes,
    by_quarter: pl.DataFrame,
    overall: pl.DataFrame,
    without_first: pl.DataFrame,
    components: Sequence[str],
) -> None:
    """Bars, whiskers and numbers of one model; lane 0 of a component is its uppermost."""
    for index, component in enumerate(components):
        top = index * _PITCH
        if index % 2:
            axes.axhspan(top - 1.1, top + _PITCH - 1.1, color=ALIKE, lw=0, zorder=0)
        bars = by_quarter.filter(pl.col("component") == component, pl.col("mean").is_finite())
        for bar in bars.iter_rows(named=True):
            lane = top + bar["quarter"]
            axes.barh(lane, bar["mean"], 0.86, color=QUARTERS[bar["quarter"]], lw=0, label=component)
            axes.hlines(lane, bar["ci_low"], bar["ci_high"], color=DARK, lw=FINE)
        mean = overall.filter(pl.col("component") == component, pl.col("mean").is_finite())
        for row in mean.iter_rows(named=True):
            lane = top + _LANES - 1
            axes.hlines(lane, row["ci_low"], row["ci_high"], color=DARK, lw=STRONG)
            axes.plot(row["mean"], lane, "D", color=DARK, ms=4, label=f"{component}, all blocks")
            _write(axes, top, signed(significant(row["mean"], 2)), DARK)
        for row in without_first.filter(pl.col("component") == component).iter_rows(named=True):
            lane = top + _LANES - 1
            axes.plot(row["mean"], lane, "D", **_OPEN, mec=DARK, label=f"{component}, without the first token")
        if mean.is_empty() and not overall.is_empty():
            _write(axes, top, "none", GREY)
    drawn = pl.concat(part.select(MEAN) for part in (by_quarter, overall, without_first))
    axes.set_xlim(range_with_zero(drawn.to_numpy(), 0.04))
    axes.set_ylim(_PITCH * len(components) - 1.1, -1.1)
    centres = np.arange(len(components)) * _PITCH + (_LANES - 1) / 2
    axes.set_yticks(centres, [_COMPONENTS.get(name, name.replace("_", " ")) for name in components])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.locator_params(axis="x", nbins=5)
    if overall["mean"].is_finite().any():
        axes.axvline(0, **ZERO)
    else:
        axes.set_xticks([])
        if not overall.is_empty():
            mark_empty(axes)


def _write(axes: Axes, top: float, text: str, colour: str) -> None:
    """Write right of the panel, in the middle of the component whose first lane is `top`."""
    place = {"transform": axes.get_yaxis_transform(), "ha": "left", "va": "center"}
    axes.text(1.015, top + (_LANES - 1) / 2, text, color=colour, fontsize=9, **place)
