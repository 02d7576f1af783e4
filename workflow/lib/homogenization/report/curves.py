"""The section of curves: a metric over depth in each variant, and below it what each variant adds to the original."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from markupsafe import Markup

from homogenization.figures.style import COLOURS, variant_styles
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED

Named = Sequence[Sequence[str]]  # ordered (name, label) pairs
# the views that can be chosen, by their names for spectra and for geometry
_VIEWS = dict.fromkeys(("raw_without_first", WITHOUT_FIRST), "without the first token")
_VIEWS |= dict.fromkeys(("raw", ALL_TOKENS), "all tokens")
_DIGITS = 4  # significant ones of a number
_WIDTH, _HEIGHT, _LINE = 320, 200, 1.6  # pixels of a chart, which the script of the page widens, and of its lines


def curves(
    summary: pl.DataFrame,
    contrasts: pl.DataFrame,
    *,
    models: Named,
    variants: Named,
    metrics: Named,
    margin: float,
    ladder: Sequence[str] = (),
) -> Markup | None:
    """The scripts that draw the charts into the element #charts; None where the tables have nothing of these metrics.

    Args:
        summary: the table, whose means are drawn.
        contrasts: the table; of it, the layers of differences from the original that are tested.
        models: (name, label) of each model that can be chosen.
        variants: (name, label) of each variant.
        metrics: (name, title) of each metric that can be chosen.
        margin: share of the yardstick that is negligible.
        ladder: variants with growing disorder, the least first.
    """
    levels = _named(summary, models, variants, metrics).select(*_KEYS, *_NUMBERS)
    if levels.is_empty():
        return None
    changes = contrasts.filter(
        pl.col("minus") == ORIGINAL, pl.col("group").is_null(), pl.col("verdict") != NOT_TESTED, ~_is_part()
    )
    changes = _named(changes, models, variants, metrics).with_columns(bound=margin * pl.col("yardstick"))
    charts = [_chart(levels, variants, ladder, "Mean over reviews, and its 95 % interval")]
    if not changes.is_empty():
        title = ["Variant minus original, review by review;", "filled: decided, grey: negligible"]
        charts.append(_chart(changes.select(*_KEYS, *_NUMBERS, "bound", "verdict"), variants, ladder, title))
    chosen = [_chosen(name, levels[name].unique(maintain_order=True).to_list()) for name in ("metric", "view", "model")]
    chart = alt.vconcat(*charts, params=[one.param for one in chosen]).resolve_legend(
        color="shared", strokeDash="shared"
    )
    return _scripts(chart.configure_legend(orient="bottom", columns=2, labelLimit=300).to_dict())


_KEYS = ("metric", "view", "model", "variant")
_NUMBERS = ("depth", "mean", "ci_low", "ci_high", "n_reviews")


def _is_part() -> pl.Expr:
    """Whether a row is of a part of the depth, or of no layer."""
    return pl.col("layers").is_not_null() | pl.col("layer").is_null()


def _named(table: pl.DataFrame, models: Named, variants: Named, metrics: Named) -> pl.DataFrame:
    """The rows of the residual stream that can be chosen, with labels for names, in the order of the labels."""
    labels = {"metric": dict(metrics), "view": _VIEWS, "model": dict(models), "variant": dict(variants)}
    rows = table.filter(point=RESIDUAL_STREAM).filter(
        pl.col("mean").is_finite(), *(pl.col(name).is_in(list(of)) for name, of in labels.items())
    )
    order = [pl.col(name).replace_strict({key: at for at, key in enumerate(of)}) for name, of in labels.items()]
    rows = rows.sort(*order, "depth").with_columns(pl.col(name).replace(of) for name, of in labels.items())
    return rows.with_columns(pl.col("depth", "mean", "ci_low", "ci_high").round_sig_figs(_DIGITS))


def _chosen(name: str, options: Sequence[str]) -> Any:
    return alt.param(
        name=name, value=options[0], bind=alt.binding_select(options=list(options), name=f"{name.capitalize()} ")
    )


def _chart(rows: pl.DataFrame, variants: Named, ladder: Sequence[str], title: Any) -> alt.LayerChart:
    """Lines with bands over depth, of the metric, view and model that are chosen; rows with a bound are differences."""
    labels, styles = [label for _, label in variants], list(variant_styles(dict(variants), ladder).values())
    dashes = [[1, 0] if style.dashes == "-" else [_LINE * length for length in style.dashes[1]] for style in styles]
    legend = alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=2)
    scale = alt.Scale(domain=labels, range=[one.colour for one in styles])
    colour = alt.Color("variant:N", title=None, scale=scale, legend=legend)
    dash = alt.StrokeDash("variant:N", title=None, scale=alt.Scale(domain=labels, range=dashes))
    x = alt.X(
        "depth:Q", title="Relative depth (layer / blocks)", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5)
    )
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False))
    told = [alt.Tooltip(f"{name}:N") for name in rows.columns if name not in ("metric", "view", "model", "bound")]
    decided = alt.FieldOneOfPredicate("verdict", list(DECIDED))
    fill = (
        alt.condition(decided, colour, alt.value(COLOURS["paper"]))
        if "bound" in rows.columns
        else alt.value(COLOURS["paper"])
    )
    layers = [
        alt.Chart().mark_area(opacity=0.18).encode(x=x, y=alt.Y("ci_low:Q", title=None), y2="ci_high:Q", color=colour),
        alt.Chart().mark_line(strokeWidth=_LINE).encode(x=x, y=y, color=colour, strokeDash=dash),
        alt.Chart().mark_point(opacity=1, size=25).encode(x=x, y=y, color=colour, fill=fill, tooltip=told),
    ]
    if "bound" in rows.columns:
        band = alt.Chart().mark_area(color=COLOURS["rule"], opacity=0.7).transform_calculate(low="-datum.bound")
        layers.insert(0, band.encode(x=x, y=alt.Y("low:Q", title=None), y2="bound:Q"))
    data = alt.Data(values=rows.write_csv(), format=alt.CsvDataFormat(type="csv"))
    chart = alt.layer(*layers, data=data, title=title).properties(width=_WIDTH, height=_HEIGHT)
    for name in ("metric", "view", "model"):
        chart = chart.transform_filter(f"datum.{name} === {name}")
    return chart


def _scripts(spec: Mapping[str, Any]) -> Markup:
    """The scripts of Vega, and the specification for them; no text in it ends the script."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    written = json.dumps(spec, ensure_ascii=False).replace("<", "\\u003c")
    bundle = vl_convert.javascript_bundle(vl_version=version)
    return Markup(f'<script>{bundle}</script>\n<script type="application/json" id="curves-spec">{written}</script>')
