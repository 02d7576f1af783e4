"""Figures of lines, most of them over depth: a metric, MAUVE, the first token, probes, training."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from homogenization.figures.grammar import (
    ESTIMATE,
    MEAN,
    Panels,
    draw_final_norm,
    draw_lines,
    handle,
    handles_of,
    marker_handle,
    views_present,
)
from homogenization.figures.shown import (
    Shown,
    Tables,
    accepted,
    named_in,
    names_of,
    required,
    rows_of,
    spans_decades,
)
from homogenization.figures.style import (
    BLUE,
    FINE,
    GREY,
    HAIR,
    OPEN,
    REFERENCE,
    STRONG,
    THIN,
    LineStyle,
    variant_styles,
)
from homogenization.figures.view_labels import view_label
from homogenization.figures.words import DEPTH_LABEL, counted
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.tables.intervened import UNTOUCHED


def metric(tables: Tables, shown: Shown) -> Figure:
    """`shown.metric` against depth: the originals, with the other variants thin behind them; rows are views.

    The thin lines show how far variants lie apart compared with how far depth moves a metric; the figures of contrasts
    test differences. A metric with none of `shown.views` (metrics of the geometry have views of their own) is shown in
    all of its views.
    """
    table = required(tables["summary"], shown, f"metric '{shown.metric}'", told="metric", metric=shown.metric)
    reviews = accepted(table, shown.variants, shown.min_reviews)
    table = reviews.table
    views = views_present(table, shown.views)
    styles = variant_styles(shown.variants, dict(reviews.variants))
    behind = {name: style for name, style in styles.items() if name != ORIGINAL} if ORIGINAL in styles else {}
    front = {name: style for name, style in styles.items() if name not in behind}
    stream, final_norm = (table.filter(point=point) for point in (RESIDUAL_STREAM, FINAL_NORM))
    panels = Panels(("model", shown.models), ("view", [(view, view_label(view)) for view in views]))
    panels.lines(stream, behind, y=MEAN[:1], **THIN)
    panels.lines(stream, front)
    for _, axes, rows in panels.parts(final_norm):
        draw_final_norm(axes, rows, front)
    panels.depth_axis(0 if final_norm.is_empty() else len(front))
    panels.fit(table, logarithmic=[view for view in views if spans_decades(table.filter(view=view))])
    panels.label(DEPTH_LABEL, shown.label)
    handles = handles_of(reviews.variants, styles, thin=behind)
    if not final_norm.is_empty():
        handles.append(marker_handle("after the final norm", **OPEN, ms=5))
    return panels.finish(shown.title, reviews.counts, [*handles, *reviews.left_out])


_NULL_OF_MAUVE = {"color": GREY, "alpha": 0.3, "lw": 0}


def mauve(tables: Tables, shown: Shown) -> Figure:
    """MAUVE between consecutive layers, with its split-half null: a line for each variant."""
    wanted = "MAUVE between consecutive layers"
    consecutive = required(tables["mauve"], shown, wanted, kind="consecutive")
    styles = variant_styles(shown.variants, set(consecutive["variant"]))
    null = rows_of(tables["mauve"], shown, kind="null").filter(pl.col("mean").is_finite()).group_by("model", "depth")
    null = null.agg(pl.col("low").min(), pl.col("mean").mean(), pl.col("high").max()).sort("depth")
    panels = Panels(("model", shown.models), height=3.2, share_y=True)
    for _, axes, rows in panels.parts(null):
        if not rows.is_empty():
            axes.fill_between(rows["depth"], rows["low"], rows["high"], **_NULL_OF_MAUVE)
            axes.plot(rows["depth"], rows["mean"], color=GREY, ls=":", lw=STRONG, label="null")
    panels.lines(consecutive, styles, y=("mean", "low", "high"))
    panels.depth_axis()
    panels.fit(consecutive)
    for axes in panels.axes.values():
        axes.set_ylim(-0.02, 1.02)
    panels.label(DEPTH_LABEL, "MAUVE against the layer before")
    handles = handles_of(shown.variants, styles)
    if len(null):
        handles.append(Patch(**_NULL_OF_MAUVE, label="null: two halves of one layer"))
    note = f"{counted(consecutive['n_values'], 'value')} a point"
    missing = [label for name, label in shown.variants if name in shown.mauve_variants and name not in styles]
    if missing:
        note += f"; too few tokens: {', '.join(missing)}"
    return panels.finish(shown.title, note, handles)


_OTHER_NORM = "other_token_norm"
_ATTENTION, _ATTENTION_EXCESS = "first_token_attention_share", "first_token_attention_excess"
_OF_FIRST_TOKEN = {  # row -> metrics drawn in it, label of its vertical axis, label at its right
    "norm": (
        ("first_token_norm", _OTHER_NORM),
        "Norm of a token vector",
        "markers: first token, thin: median of others",
    ),
    "energy": (("first_token_energy_share",), "First token's share of squared norm", ""),
    "attention": ((_ATTENTION,), "First token's share of attention", "dashed: uniform attention"),
    "cosine": (("cosine_to_first_token",), "Mean cosine of others to first token", ""),
}
_ROW_OF = {metric: row for row, (metrics, _, _) in _OF_FIRST_TOKEN.items() for metric in metrics}
FIRST_TOKEN_METRICS = (*_ROW_OF, _ATTENTION_EXCESS)


def first_token(tables: Tables, shown: Shown) -> Figure:
    """The first token of the originals over depth: its norm and that of the others, its shares and cosine.

    Metrics that the table lacks have no row of panels.
    """
    # each of these metrics has one view; the metric figures show the state after the final norm, and other variants
    table = required(
        tables["summary"].filter(pl.col("metric").is_in(FIRST_TOKEN_METRICS)),
        shown,
        f"metrics {', '.join(FIRST_TOKEN_METRICS)}",
        told=tables["summary"]["metric"],
        variant=ORIGINAL,
        point=RESIDUAL_STREAM,
    )
    drawn = table.with_columns(row=pl.col("metric").replace_strict(_ROW_OF, default=None))
    rows = [(row, label) for row, (_, _, label) in _OF_FIRST_TOKEN.items() if (drawn["row"] == row).any()]
    styles = variant_styles(shown.variants, {ORIGINAL})
    panels = Panels(("model", shown.models), ("row", rows))
    panels.lines(drawn.filter(pl.col("metric") != _OTHER_NORM), styles)
    panels.lines(drawn.filter(metric=_OTHER_NORM), styles, **THIN)
    for _, axes, of_model in panels.parts(_uniform_share(table).with_columns(row=pl.lit("attention"))):
        if not of_model.is_empty():
            axes.plot(of_model["depth"], of_model["uniform"], **REFERENCE, label="uniform")
    panels.depth_axis()
    panels.fit(drawn, logarithmic=["norm"] * spans_decades(drawn.filter(row="norm")))
    panels.label(DEPTH_LABEL, {row: label for row, (_, label, _) in _OF_FIRST_TOKEN.items()})
    return panels.finish(shown.title, f"{dict(shown.variants)[ORIGINAL]}, n = {counted(table['n_reviews'])}")


def _uniform_share(table: pl.DataFrame) -> pl.DataFrame:
    """Model, depth, uniform: the first token's mean share under uniform attention, from its share and the excess."""
    keys = ["model", "variant", "depth"]
    both = table.filter(metric=_ATTENTION).join(table.filter(metric=_ATTENTION_EXCESS), on=keys, suffix="_excess")
    uniform = (pl.col("mean") - pl.col("mean_excess")).mean()
    by_depth = both.filter(pl.col("mean").is_finite()).group_by("model", "depth").agg(uniform=uniform)
    return by_depth.sort("model", "depth")


_QUANTITIES = {"log_loss": "log-loss of the label (nats)", "accuracy": "share of right guesses"}
_NULL = LineStyle(GREY, (0, (1, 1.5)))


def probes(tables: Tables, shown: Shown) -> Figure:
    """What a linear probe finds in pooled states by depth, and the same with permuted labels; lines are texts."""
    levels = tables["probes"].filter(pl.col("variant").is_in(names_of(shown.variants)), pl.col("minus").is_null())
    table = required(
        levels, shown, "probes of the untouched models", of=("model",), told=tables["probes"]["model"], kind=UNTOUCHED
    )
    models, styles = named_in(shown.models, table["model"]), variant_styles(shown.variants, set(table["variant"]))
    is_null = pl.col("quantity").str.starts_with("null_")
    null = table.filter(is_null).with_columns(pl.col("quantity").str.strip_prefix("null_"))
    rows = [(quantity, "") for quantity in _QUANTITIES]
    panels = Panels(("model", models), ("quantity", rows), height=2.4, share_y=True)
    panels.lines(null, {ORIGINAL: _NULL}, y=ESTIMATE[:1], label="null")
    panels.lines(table, {name: style for name, style in styles.items() if name == ORIGINAL}, y=ESTIMATE)
    panels.lines(table, {name: style for name, style in styles.items() if name != ORIGINAL}, y=ESTIMATE[:1])
    panels.depth_axis()
    panels.fit(table, "estimate")
    panels.label(DEPTH_LABEL, _QUANTITIES)
    original = dict(shown.variants).get(ORIGINAL, ORIGINAL)
    handles = [*handles_of(shown.variants, styles), handle(f"{original}, labels permuted", _NULL)]
    return panels.finish(shown.title, f"n = {counted(table['n_reviews'])}", handles)


_STEPS, _HELD_OUT = LineStyle(GREY), LineStyle(BLUE, "-", "o")


def training(tables: Tables, shown: Shown) -> Figure:
    """Losses while models are trained: a panel for each."""
    table = required(tables["training"], shown, "trained models", of=("model",), told="model")
    panels = Panels(("model", named_in(shown.models, table["model"])), height=2.6, share_y=True)
    for _, axes, rows in panels.parts(table):
        _draw_losses(axes, rows)
    panels.label("steps", "loss of the next token (nats)")
    handles = [handle("texts of the step", _STEPS, lw=FINE), handle("held-out texts", _HELD_OUT)]
    note = (
        f"{table['n_training'].max():,} texts to train on, {table['n_held_out'].max():,} held out. Number: the last "
        "held-out loss."
    )
    return panels.finish(shown.title, note, handles)


def _draw_losses(axes: Axes, table: pl.DataFrame) -> None:
    rows = table.sort("step")
    measured = rows.filter(pl.col("held_out_loss").is_finite())
    (model,) = rows["model"].unique()
    own = {"x": "step", "hue": "model", "markers": len(rows)}
    draw_lines(axes, rows, {model: _STEPS}, y=("loss",), **own, lw=HAIR, alpha=0.7, zorder=1)
    draw_lines(axes, measured, {model: _HELD_OUT}, y=("held_out_loss",), **own, ms=3, lw=STRONG, label="held-out")
    last, place = measured["held_out_loss"][-1], ("axes fraction", "data")
    axes.annotate(f"{last:.2f}", (1, last), (3, 0), place, "offset points", va="center", fontsize=9)
