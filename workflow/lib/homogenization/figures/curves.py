"""Figures of lines, most of them over depth: metrics, one token, MAUVE, the first token, extrema, probes, training."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.grammar import (
    AFTER_NORM,
    Panels,
    Shown,
    Tables,
    counted,
    draw_lines,
    draw_variants,
    legend_of,
    named_in,
)
from homogenization.figures.style import BLUE, DARK, DASHED, DEPTH, DOTTED, GREY, VERMILION, LineStyle, variant_styles
from homogenization.figures.view_labels import headline_first, view_label
from homogenization.metrics.catalogue import describe_metric
from homogenization.metrics.registry import view_without_first
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL

_ALL, _REST = "all tokens", "without the first token"
_BOUND = {"first_token_explained_variance": LineStyle(GREY, DOTTED)}  # no maximum explainable variance is lower
_OWN = LineStyle(DARK, "-", "o")


def one_token(tables: Tables, shown: Shown) -> Figure:
    """Normalised effective rank of the originals over depth, with all tokens and without the first."""
    metric = describe_metric("normalized_effective_rank")
    table = tables["summary"].filter(metric=metric.name, variant=ORIGINAL, point=RESIDUAL_STREAM)
    labels = {"raw": _ALL, "raw_without_first": _REST}
    styles = {"raw": LineStyle(VERMILION, DASHED, "o"), "raw_without_first": LineStyle(DARK, "-", "s")}
    panels = Panels(shown.models, height=2.7, share="xy")
    for (_, model), axes in panels.axes.items():
        draw_lines(axes, table.filter(model=model), styles, hue="view")
    top = max((axes.dataLim.y1 for axes in panels.axes.values() if axes.lines), default=1)
    axes.set_ylim(0, 1.06 * top)
    drawn = table.filter(pl.col("view").is_in(list(labels)))
    return panels.finish(shown, drawn, legend_of(labels, styles), x=DEPTH, y=metric.label)


def metric(tables: Tables, shown: Shown) -> Figure:
    """`shown.metric` over depth, a row for each model: the originals, with the other variants thin behind them."""
    table = tables["summary"].filter(metric=shown.metric)
    bound = tables["summary"].filter(pl.col("metric").is_in(list(_BOUND)), variant=ORIGINAL, point=RESIDUAL_STREAM)
    bounded = shown.metric == "max_explainable_variance" and not bound.is_empty()
    most = dict(table.group_by("variant").agg(pl.col("n_reviews").max()).iter_rows())
    needed = max(1, min(shown.min_reviews, most.get(ORIGINAL, 0)))
    few = {label: most.get(name, 0) for name, label in shown.variants.items() if most.get(name, 0) < needed}
    labels = {name: label for name, label in shown.variants.items() if label not in few}
    styles = named_in(variant_styles(shown.variants, shown.ladder), labels)
    table = table.filter(pl.col("variant").is_in(list(labels)))
    panels = Panels({view: view_label(view) for view in headline_first(table["view"])}, shown.models)
    for (model, view), axes in panels.axes.items():
        rows = table.filter(model=model, view=view)
        draw_variants(axes, rows.filter(point=RESIDUAL_STREAM), styles)
        if bounded and view == "raw":
            draw_lines(axes, bound.filter(model=model), _BOUND, hue="metric", band=False)
        for row in rows.filter(pl.col("mean").is_finite(), variant=ORIGINAL, point=FINAL_NORM).iter_rows(named=True):
            look = styles[ORIGINAL]._replace(dashes="", open=True).look()
            axes.vlines(AFTER_NORM, row["ci_low"], row["ci_high"], color=look["color"], lw=1)
            axes.plot(AFTER_NORM, row["mean"], label="after final norm", **look)
        means = rows.filter(pl.col("mean").is_finite())["mean"]
        if len(means) and means.max() > max(1, 100 * means.min()) and means.min() > 0:
            axes.set_yscale("log")
    note = "; not drawn: " + ", ".join(f"{label} ({count} accepted)" for label, count in few.items()) if few else ""
    legend = legend_of(labels, styles)
    if bounded:
        legend |= legend_of({"first_token_explained_variance": "explained by the first token alone"}, _BOUND)
    return panels.finish(shown, counted(table) + note, legend, x=DEPTH, y=shown.label)


_NULL = {"null": LineStyle(GREY, DOTTED)}


def mauve(tables: Tables, shown: Shown) -> Figure:
    """MAUVE between consecutive layers, a line for each variant, and its split-half null."""
    table = tables["mauve"].rename({"low": "ci_low", "high": "ci_high", "n_values": "n_reviews"})
    lines, null = (table.filter(kind=kind) for kind in ("consecutive", "null"))
    of_null = pl.col("ci_low").min(), pl.col("mean").mean(), pl.col("ci_high").max()
    null = null.group_by("model", "depth").agg(*of_null).with_columns(variant=pl.lit("null"))
    styles = variant_styles(shown.variants, shown.ladder) | _NULL
    panels = Panels(shown.models, height=2.9, share="xy")
    for (_, model), axes in panels.axes.items():
        draw_lines(axes, null.filter(model=model), _NULL)
        draw_lines(axes, lines.filter(model=model), styles)
    axes.set_ylim(-0.02, 1.02)
    legend = legend_of(named_in(shown.variants, lines["variant"]) | {"null": "two halves of a layer"}, styles)
    return panels.finish(shown, counted(lines, "value"), legend, x=DEPTH, y="MAUVE against the layer before")


_SHARE, _EXCESS, _UNIFORM = "first_token_attention_share", "first_token_attention_excess", "under uniform attention"
_ROWS = {  # metric -> what is drawn beside it, label
    "first_token_norm": ("other_token_norm", "norm of a token vector"),
    "first_token_energy_share": ("", "share of squared norm"),
    _SHARE: (_UNIFORM, "share of attention"),
    "cosine_to_first_token": ("", "mean cosine of others to first token"),
}
_BESIDE = {"other_token_norm": LineStyle(BLUE, DASHED), _UNIFORM: LineStyle(GREY, DOTTED)}


def first_token(tables: Tables, shown: Shown) -> Figure:
    """The first token of the originals over depth: its norm, its shares, and the cosine of the others to it.

    Metrics that the study lacks have no row of panels.
    """
    table = tables["summary"].filter(variant=ORIGINAL, point=RESIDUAL_STREAM)
    keys, shares = ["model", "depth"], table.filter(metric=_SHARE)
    uniform = shares.join(table.filter(metric=_EXCESS).select(*keys, excess="mean"), on=keys)
    uniform = uniform.with_columns(pl.col("mean") - pl.col("excess"), metric=pl.lit(_UNIFORM)).drop("excess")
    table = pl.concat([table, uniform])
    rows = {name: label for name, (_, label) in named_in(_ROWS, table["metric"]).items()}
    panels = Panels(shown.models, dict.fromkeys(rows, ""), height=1.9, share="xr")
    for (name, model), axes in panels.axes.items():
        of_model = table.filter(model=model)
        draw_lines(axes, of_model, named_in(_BESIDE, _ROWS[name]), hue="metric", band=False)
        draw_lines(axes, of_model, {name: _OWN}, hue="metric")
        if name == "first_token_norm":
            axes.set_yscale("log")
    labels = {name: name for name in _BESIDE} | {"other_token_norm": "median of the other tokens"}
    legend = {"first token": _OWN} | legend_of(named_in(labels, table["metric"]), _BESIDE)
    return panels.finish(shown, table.filter(pl.col("metric").is_in(list(rows))), legend, x=DEPTH, y=rows)


_CELLS = {"max_explainable_variance": "raw", "cosine_anisotropy": "all_tokens"}
_EXTREMA = {"peak": LineStyle(VERMILION, "", "^"), "trough": LineStyle(BLUE, "", "v")}


def extrema(tables: Tables, shown: Shown) -> Figure:
    """Peaks and troughs of the originals' curves over depth, a row for each metric; dashed, without the first token."""
    found = tables["extrema"].filter(variant=ORIGINAL).rename({"height": "mean"})
    curves = tables["summary"].filter(variant=ORIGINAL, point=RESIDUAL_STREAM)
    rows = {name: describe_metric(name).label for name in named_in(_CELLS, curves["metric"])}
    legend = {_ALL: LineStyle(DARK), _REST: LineStyle(GREY, DASHED)}
    panels = Panels(shown.models, dict.fromkeys(rows, ""), height=2.0, share="xr")
    for (name, model), axes in panels.axes.items():
        views = _CELLS[name], view_without_first(_CELLS[name])
        styles = dict(zip(views, legend.values(), strict=True))
        draw_lines(axes, curves.filter(model=model, metric=name), styles, hue="view", band=False)
        marked = found.filter(model=model, metric=name, view=_CELLS[name])
        draw_lines(axes, marked, _EXTREMA, hue="kind", band=False, ms=7, markevery=1)
    drawn = curves.filter(pl.col("metric").is_in(list(rows)))
    return panels.finish(shown, drawn, legend | named_in(_EXTREMA, found["kind"]), x=DEPTH, y=rows)


_QUANTITIES = {"log_loss": "log-loss of the label (nats)", "accuracy": "share of right guesses"}


def probes(tables: Tables, shown: Shown) -> Figure:
    """What a linear probe finds in pooled states by depth, a line for each text; dotted, with permuted labels."""
    table = tables["probes"].filter(kind="untouched")
    null = table.filter(pl.col("quantity").str.starts_with("null_"))
    null = null.with_columns(pl.col("quantity").str.strip_prefix("null_"), variant=pl.lit("null"))
    table = pl.concat([table, null])
    styles = _NULL | variant_styles(shown.variants, shown.ladder)
    panels = Panels(named_in(shown.models, table["model"]), dict.fromkeys(_QUANTITIES, ""), share="xr")
    for (quantity, model), axes in panels.axes.items():
        draw_variants(axes, table.filter(model=model, quantity=quantity), styles)
    legend = legend_of(named_in(shown.variants, table["variant"]) | {"null": "labels permuted"}, styles)
    return panels.finish(shown, table, legend, x=DEPTH, y=_QUANTITIES)


def training(tables: Tables, shown: Shown) -> Figure:
    """Losses while models are trained, a panel for each."""
    table = tables["training"]
    styles = {"loss": LineStyle(GREY), "held_out_loss": LineStyle(BLUE, "-", "o")}
    panels = Panels(named_in(shown.models, table["model"]), height=2.5, share="xy")
    for (_, model), axes in panels.axes.items():
        rows = table.filter(model=model).unpivot(list(styles), index="step", variable_name="of", value_name="mean")
        draw_lines(axes, rows, styles, x="step", hue="of", band=False)
    note = f"{table['n_training'].max():,} texts to train on, {table['n_held_out'].max():,} held out"
    legend = legend_of({"loss": "texts of the step", "held_out_loss": "held-out texts"}, styles)
    return panels.finish(shown, note, legend, x="Step", y="loss of the next token (nats)")
