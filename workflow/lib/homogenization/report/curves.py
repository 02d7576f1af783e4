"""The section of curves: a metric over depth in each variant, and below it what each variant adds to the original."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from markupsafe import Markup

from homogenization.figures.style import DEPTH, MARGIN, WHITE, variant_styles
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
) -> dict[str, Any] | None:
    """The charts as Vega-Lite specifies them; None where the tables have nothing of these metrics.

    Args:
        summary: the table, whose means are drawn.
        contrasts: the table; of it, the layers of differences from the original that are tested.
        models: (name, label) of each model that can be chosen.
        variants: (name, label) of each variant.
        metrics: (name, title) of each metric that can be chosen.
        margin: share of the yardstick that is negligible.
        ladder: variants with growing disorder, the least first.
    """
    choices = {"metric": dict(metrics), "view": _VIEWS, "model": dict(models)}
    levels = _rows(summary, choices, variants).select(*_COLUMNS)
    if levels.is_empty():
        return None
    layers = contrasts.filter(pl.col("layers").is_null(), pl.col("layer").is_not_null(), pl.col("group").is_null())
    tested = layers.filter(pl.col("minus") == ORIGINAL, pl.col("verdict") != NOT_TESTED)
    changes = _rows(tested.with_columns(bound=margin * pl.col("yardstick")), choices, variants)
    charts = [_chart(levels, variants, ladder, "Mean over reviews, and its 95 % interval")]
    if not changes.is_empty():
        title = ["Variant minus original, review by review;", "filled: decided, grey: negligible"]
        charts.append(_chart(changes.select(*_COLUMNS, "bound", "verdict"), variants, ladder, title))
    chosen = [_chosen(name, list(dict.fromkeys(of.values())), set(levels[name])) for name, of in choices.items()]
    chart = alt.vconcat(*charts, params=chosen).resolve_legend(color="shared", strokeDash="shared")
    return chart.configure_legend(orient="bottom", columns=2, labelLimit=300).to_dict()


_NUMBERS = ("depth", "mean", "ci_low", "ci_high")
_COLUMNS = ("metric", "view", "model", "variant", *_NUMBERS, "n_reviews")


def _rows(table: pl.DataFrame, choices: Mapping[str, Mapping[str, str]], variants: Named) -> pl.DataFrame:
    """The rows of the residual stream that can be chosen: numbers of the choices, and labels of the variants."""
    codes = {name: {key: list(dict.fromkeys(of.values())).index(of[key]) for key in of} for name, of in choices.items()}
    rows = table.filter(point=RESIDUAL_STREAM).filter(
        pl.col("mean").is_finite(),
        pl.col("variant").is_in([name for name, _ in variants]),
        *(pl.col(name).is_in(list(of)) for name, of in codes.items()),
    )
    return rows.sort("variant", "depth").with_columns(
        pl.col(_NUMBERS).round_sig_figs(_DIGITS),
        pl.col("variant").replace(dict(variants)),
        *(pl.col(name).replace_strict(of) for name, of in codes.items()),
    )


def _chosen(name: str, labels: list[str], present: Collection[int]) -> Any:
    """A list to choose from, whose values are numbers of those labels that rows have."""
    options = sorted(present)
    shown = alt.binding_select(options=options, labels=[labels[place] for place in options], name=f"{name.title()} ")
    return alt.param(name=name, value=options[0], bind=shown).param


def _chart(rows: pl.DataFrame, variants: Named, ladder: Sequence[str], title: Any) -> alt.LayerChart:
    """Lines with bands over depth, of the metric, view and model that are chosen; rows with a bound are differences."""
    labels, styles = [label for _, label in variants], list(variant_styles(dict(variants), ladder).values())
    dashes = [[1, 0] if style.dashes == "-" else [_LINE * length for length in style.dashes[1]] for style in styles]
    legend = alt.Legend(symbolOpacity=1, symbolType="stroke", symbolStrokeWidth=2)
    scale = alt.Scale(domain=labels, range=[one.colour for one in styles])
    colour = alt.Color("variant:N", title=None, scale=scale, legend=legend)
    dash = alt.StrokeDash("variant:N", title=None, scale=alt.Scale(domain=labels, range=dashes))
    x = alt.X("depth:Q", title=DEPTH, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5))
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False))
    tooltips = [alt.Tooltip(f"{name}:N") for name in rows.columns[3:] if name != "bound"]
    fill = alt.value(WHITE)
    if "verdict" in rows.columns:
        fill = alt.condition(alt.FieldOneOfPredicate("verdict", list(DECIDED)), colour, fill)
    layers = [
        alt.Chart().mark_area(opacity=0.18).encode(x=x, y=alt.Y("ci_low:Q", title=None), y2="ci_high:Q", color=colour),
        alt.Chart().mark_line(strokeWidth=_LINE).encode(x=x, y=y, color=colour, strokeDash=dash),
        alt.Chart().mark_point(opacity=1, size=25).encode(x=x, y=y, color=colour, fill=fill, tooltip=tooltips),
    ]
    if "bound" in rows.columns:
        band = alt.Chart().mark_area(color=MARGIN, opacity=0.7).transform_calculate(low="-datum.bound")
        layers.insert(0, band.encode(x=x, y=alt.Y("low:Q", title=None), y2="bound:Q"))
    data = alt.Data(values=rows.write_csv(), format=alt.CsvDataFormat(type="csv"))
    chart = alt.layer(*layers, data=data, title=title).properties(width=_WIDTH, height=_HEIGHT)
    return chart.transform_filter("datum.metric == metric && datum.view == view && datum.model == model")


def scripts() -> Markup:
    """The scripts of Vega, which draw charts in a browser."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return Markup(vl_convert.javascript_bundle(vl_version=version))
