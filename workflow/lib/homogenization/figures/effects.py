"""Figures of what acts on states: the components of a block, and changes of attention with what they cost."""

import textwrap
from itertools import product

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, Shown, Tables, draw_dots, draw_lines, named_in
from homogenization.figures.style import BLUE, DOT, GREY, STEPS, ZERO, LineStyle, pattern_styles
from homogenization.interventions.patterns import CONTROLS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
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
_QUARTERS = ["first quarter of the blocks", "second", "third", "last"]
_ALL, _WITH_FIRST = "all blocks", "all blocks, with the first token"


def components(tables: Tables, shown: Shown) -> Figure:
    """Change of two anisotropies by each component of a block, in quarters of the depth and in all blocks.

    The first token is left out; where it counts, the change in all blocks stands beside. A row is a model and variant.
    """
    table = tables["components"].with_columns(pl.col("change").fill_nan(None))
    bare, whole = (table.filter(view=view) for view in (WITHOUT_FIRST, ALL_TOKENS))
    # block 7 of 28 ends the first quarter: its depth is .25, or a rounding error more
    place = ((pl.col("depth") * 4 - 1e-9).ceil() - 1).clip(0, 3).cast(pl.Int32)
    quarter = place.replace_strict(dict(enumerate(_QUARTERS)), return_dtype=pl.String)
    parts = [bare.with_columns(part=part) for part in (quarter, pl.lit(_ALL))]
    parts = pl.concat([*parts, whole.with_columns(part=pl.lit(_WITH_FIRST))])
    keys = ["model", "variant", "metric", "component", "part"]
    of_reviews = parts.group_by(*keys, "review_id", maintain_order=True).agg(pl.col("change").mean())
    means = summarise(of_reviews, keys, "change")
    styles = {part: DOT._replace(colour=colour) for part, colour in zip(_QUARTERS, STEPS, strict=False)}
    styles |= {_ALL: DOT._replace(marker="D"), _WITH_FIRST: DOT._replace(marker="D", open=True)}
    names = product(shown.models.items(), shown.variants.items())
    rows = {(model, variant): f"{label}, {text}" for (model, label), (variant, text) in names}
    rows = named_in(rows, means.select("model", "variant").iter_rows())
    lanes = named_in(_COMPONENTS, means["component"])
    columns = {metric: metric.replace("_", " ") for metric in means["metric"].unique().sort()}
    panels = Panels(columns, rows, height=0.36 * len(lanes) + 0.6, share="r", lanes=lanes.values())
    for ((model, variant), metric), axes in panels.axes.items():
        of_panel = means.filter(model=model, variant=variant, metric=metric)
        draw_dots(axes, of_panel, lanes, styles, hue="part", lane="component")
        axes.axvline(0, **ZERO)
    return panels.finish(shown, means, styles, x="Change by the component", y="")


_CONDITION = ("model", "variant", "kind", "pattern", "blocks", "strength")
_NUMBERS = ("mean", "ci_low", "ci_high")
_STEERED = pl.col("kind") == "steering"


def dose(tables: Tables, shown: Shown) -> Figure:
    """Change of each metric by steering against the damage done; in a model without next tokens, against λ.

    Columns are models; rows are metrics and, where there are several, ranges of blocks. Lines are patterns.
    """
    table = _effects(tables).filter(_STEERED)
    styles = pattern_styles(table["pattern"], CONTROLS)
    rows = {(metric, blocks): f"{blocks} blocks" for metric, blocks in table.select("metric", "blocks").rows()}
    panels = Panels(named_in(shown.models, table["model"]), rows, share="r")
    for ((metric, blocks), model), axes in panels.axes.items():
        of_panel = table.filter(pl.col("mean").is_finite(), model=model, metric=metric, blocks=blocks)
        x = "kl" if of_panel["kl"].is_not_null().any() else "strength"
        untouched = of_panel.unique("pattern").with_columns(pl.lit(0.0).alias(name) for name in (x, *_NUMBERS))
        axes.axhline(0, **ZERO)
        draw_lines(axes, pl.concat([untouched, of_panel]), styles, x=x, hue="pattern")
        axes.set_xlabel("λ, share of attention moved")
        if x == "kl":
            _set_root_scale(axes, of_panel["kl"].max())
    legend = {f"{'control: ' * (name in CONTROLS)}{name.replace('_', ' ')}": look for name, look in styles.items()}
    return panels.finish(shown, table, legend, x="", y={row: f"Δ {describe_metric(row[0]).label}" for row in rows})


def _set_root_scale(axes: Axes, largest: float) -> None:
    """Damage on the scale of its root, on which the answer to small doses is a straight line."""
    axes.set_xscale("function", functions=(lambda kl: np.sqrt(np.clip(kl, 0, None)), np.square))
    step = float(f"{largest / 2:.0e}")
    axes.set(xlim=(0, 1.05 * largest), xticks=[0, step / 5, step, 2 * step], xlabel=_COSTS["kl"])


_COSTS = {"kl": "KL of the next token (nats)", "cross_entropy": "Δ cross-entropy (nats)"}
_COSTS |= {"probe_log_loss": "Δ log-loss of a probe (nats)"}
_ROLES = {"pattern": LineStyle(BLUE, "", "o"), "control": LineStyle(GREY, "", "s")}


def conditions(tables: Tables, shown: Shown) -> Figure:
    """What each condition does to the metrics of the originals, averaged over layers, and what it costs."""
    effects = _effects(tables)
    costs = tables.get("consequences")
    if costs is None:  # the dose alone tells the damage, without an interval
        read = {"metric": pl.lit("kl"), "n_reviews": pl.col("n_read")}
        costs = effects.unique(_CONDITION).with_columns(**read, **dict.fromkeys(_NUMBERS, pl.col("kl")))
    else:
        costs = costs.filter(pl.col("metric").is_in(list(_COSTS)), pl.col("kind") != "untouched", layers="all")
        none = {"kl": pl.lit(None, pl.Float64), "n_read": pl.lit(None, pl.Int64)}
        costs = costs.filter(minus="untouched").with_columns(**none).select(effects.columns)
    table = pl.concat([effects, costs]).filter(variant=ORIGINAL)
    role = pl.when(pl.col("pattern").is_in([*CONTROLS, "random"])).then(pl.lit("control")).otherwise(pl.lit("pattern"))
    of_blocks = pl.when(pl.col("blocks") == "all").then(pl.lit("")).otherwise(pl.format(", {} blocks", "blocks"))
    lane = pl.when(_STEERED).then(pl.format("{}, λ = {}{}", "pattern", "strength", of_blocks))
    lane = lane.otherwise(pl.format("{} {}", "kind", "pattern")).str.replace_all("_", " ")
    table = table.with_columns(lane=lane, role=role).sort(_STEERED, *_CONDITION[2:])
    lanes = {lane: lane for lane in table["lane"].unique(maintain_order=True)}
    labels = {metric: f"Δ {describe_metric(metric).label}" for metric in METRIC_NAMES} | _COSTS
    columns = named_in(labels, table["metric"])
    models, height = named_in(shown.models, table["model"]), 0.22 * len(lanes) + 0.6
    panels = Panels(dict.fromkeys(columns, ""), models, height=height, share="r", lanes=lanes)
    for (model, metric), axes in panels.axes.items():
        of_panel = table.filter(pl.col("mean").is_finite(), model=model, metric=metric)
        draw_dots(axes, of_panel, lanes, _ROLES, hue="role")
        if len(of_panel):
            axes.axvline(0, **ZERO)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(textwrap.fill(columns[metric], 26))
    return panels.finish(shown, table, _ROLES, x="", y="")


def _effects(tables: Tables) -> pl.DataFrame:
    """Changes from the untouched run, averaged over layers, without the first token, and the KL of the condition."""
    table = tables["interventions"].filter(layers="all", minus="untouched", view=WITHOUT_FIRST)
    kl = tables["doses"].select(*_CONDITION, "kl", n_read="n_reviews")
    table = table.select(*_CONDITION, "metric", "n_reviews", *_NUMBERS)
    return table.join(kl, on=_CONDITION, how="left", nulls_equal=True, maintain_order="left")
