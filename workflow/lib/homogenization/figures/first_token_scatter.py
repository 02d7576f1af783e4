"""The figure of maximum explainable variance against the first token's share of the energy, its lower bound."""

import math

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import Panels, colour_bar, handle, mark_empty
from homogenization.figures.shown import Shown, Tables, required, rows_of
from homogenization.figures.style import DARK, DEPTHS, GRID, STRONG
from homogenization.figures.words import DEPTH_LABEL, counted
from homogenization.names.points import RESIDUAL_STREAM

SHARE, VARIANCE = "first_token_energy_share", "max_explainable_variance"
VIEWS = {  # view of the maximum explainable variance -> label of its row
    "raw": "all tokens",
    "raw_without_first": "without the first token",
}
_SCOPE = "reviews_and_layers"  # the correlation over all points of a panel
_FORMULA = "σ₁²\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}Σσ²"  # stays in one piece where the label is wrapped
_SMALL_SHARE = 0.3
_SEED = 0  # seed of the order in which points are drawn


def first_token_scatter(tables: Tables, shown: Shown) -> Figure:
    """The figure from the tables metrics and first_token (its correlations), of the first variant that has values.

    A point is a review at a layer; columns are models, rows are with and without the first token.
    """
    metrics = tables["metrics"]
    variant, variant_label = next(
        (pair for pair in shown.variants if (metrics["variant"] == pair[0]).any()), shown.variants[0]
    )
    table = rows_of(metrics, shown).filter(variant=variant)
    points = paired_values(table)
    wanted = f"{VARIANCE} (view raw or raw_without_first) and {SHARE} in variant '{variant}'"
    required(points, shown, wanted, of=(), told=table["metric"])
    correlations = tables["first_token"].filter(variant=variant)
    rows = [(view, label) for view, label in VIEWS.items() if (points["view"] == view).any()]
    panels = Panels(("model", shown.models), ("view", rows), height=2.9, most_columns=3, share_y=True)
    coloured = None
    for (view, model), axes, of_panel in panels.parts(points):
        _set_scales(axes, points.filter(model=model))
        if of_panel.is_empty():
            mark_empty(axes)
            continue
        if view == "raw":
            ends = [0, axes.get_xlim()[1]]
            axes.fill_between(ends, 0, ends, color=GRID, lw=0, label="impossible")
            axes.plot(ends, ends, color=DARK, lw=STRONG, label="bound")
        size = float(np.clip(12000 / len(of_panel), 1.5, 12))  # smaller where they are many
        look = {"cmap": DEPTHS, "vmin": 0, "vmax": 1, "lw": 0, "alpha": 0.6, "rasterized": True}
        coloured = axes.scatter(
            of_panel["share"], of_panel["variance"], size, of_panel["depth"], label="points", **look
        )
        _write_correlation(axes, correlations.filter(view=view, model=model), bounded=view == "raw")
    panels.label("First token's share, ‖x₁‖² / ‖X‖²", f"Maximum explainable variance, {_FORMULA}")
    if coloured is not None:
        bar = colour_bar(coloured, list(panels.axes.values()), DEPTH_LABEL, pad=0.02, fraction=0.04, aspect=30)
        bar.solids.set_alpha(1)
    by_model = points.group_by("model").agg(pl.col("review_id").n_unique(), pl.col("layer").n_unique())
    note = (
        f"A point: one review at one layer; {variant_label}, n = {counted(by_model['review_id'])}, "
        f"{counted(by_model['layer'], 'layer')}, depth 0 after the embedding. r: Pearson correlation over all points "
        "of a panel, in brackets its interval over reviews. Grey: no value can lie there, for the direction of one "
        "token explains that token's share of the energy. Horizontal scales differ between models."
    )
    handles = []
    if "raw" in dict(rows):
        handles = [
            handle("lower bound: the first token's share", lw=STRONG),
            Patch(color=GRID, label="impossible"),
        ]
    return panels.finish(shown.title, note, handles)


def paired_values(table: pl.DataFrame) -> pl.DataFrame:
    """Both metrics of each review at each layer of the residual stream.

    Args:
        table: rows of one variant of tables/metrics.parquet.

    Returns:
        model, review_id, layer, depth, view (of `VIEWS`), variance, share; the rows in which both are finite, in an
        order that is random but always the same, so that no depth hides another.
    """
    table = table.filter(pl.col("point") == RESIDUAL_STREAM, pl.col("value").is_finite())
    keys = ["model", "review_id", "layer"]
    share = table.filter(pl.col("metric") == SHARE).select(*keys, share="value")
    variance = table.filter(pl.col("metric") == VARIANCE, pl.col("view").is_in(list(VIEWS)))
    both = variance.select(*keys, "depth", "view", variance="value").join(share, on=keys).sort(*keys, "view")
    return both[np.random.default_rng(_SEED).permutation(len(both))]


def _set_scales(axes: Axes, points: pl.DataFrame) -> None:
    """Set the vertical axis from 0 to 1; the horizontal one too, unless all shares are small."""
    ticks = [0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"]
    axes.set_ylim(-0.02, 1.02)
    axes.set_yticks(*ticks)
    largest = points["share"].max() or 1.0
    if largest > _SMALL_SHARE:
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks(*ticks)
    else:
        axes.set_xlim(-0.05 * largest, 1.1 * largest)
        axes.locator_params(axis="x", nbins=5)


def _write_correlation(axes: Axes, correlations: pl.DataFrame, bounded: bool) -> None:
    """Write r, its interval and how often the bound holds above the panel, where no point can lie."""
    wanted = correlations.filter(pl.col("predictor") == SHARE, pl.col("scope") == _SCOPE, pl.col("pearson").is_finite())
    for row in wanted.iter_rows(named=True):
        text = f"r = {row['pearson']:.2f}"
        if math.isfinite(row["pearson_low"]):
            text += f" [{row['pearson_low']:.2f}, {row['pearson_high']:.2f}]"
        if bounded and math.isfinite(row["bound_holds"]):
            text += f"\nbound holds: {percent(row['bound_holds'])}"
            axes.set_title(axes.get_title(), pad=30)  # points: above the two lines
        axes.text(1, 1.02, text.replace("-", "−"), transform=axes.transAxes, ha="right", va="bottom", fontsize=9)


def percent(share: float) -> str:
    """`100 %` for 1 alone: a smaller share is never rounded up to it."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.1f} %"
