"""The page of curves: metrics against depth, and below them differences between variants; a reader chooses which.

The page is one HTML file. The scripts of Vega stand in it, and it asks for nothing outside.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from markupsafe import Markup

from homogenization.figures.shown import Named, accepted, names_of
from homogenization.figures.style import FULL, MARGIN, WHITE, variant_styles
from homogenization.figures.words import DEPTH_LABEL
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.verdicts import DECIDED, NOT_TESTED
from homogenization.report.page import render
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table

_DIGITS = 5  # significant ones of a number
_COLUMNS, _WIDTH, _HEIGHT = 3, 300, 200  # panels side by side, and pixels of one
_NUMBERS = ["depth", "mean", "ci_low", "ci_high"]

_TEMPLATE = Path(__file__).with_suffix(".jinja").read_text("utf-8")


def make(inputs: Mapping[str, str], shown: Mapping[str, Any]) -> str:
    """The page of the files of the tables `summary` and `contrasts`."""
    return curves_page(read_table(inputs["summary"]), read_table(inputs["contrasts"]), **shown)


def curves_page(
    summary: pl.DataFrame,
    contrasts: pl.DataFrame,
    *,
    cells: Sequence[Mapping[str, str]],
    models: Named,
    variants: Named,
    pairs: Sequence[Sequence[str]],
    min_reviews: int,
    margin: float,
) -> str:
    """The page of the tables `summary` and `contrasts`, as HTML.

    Args:
        summary: the table.
        contrasts: the table.
        cells: what can be chosen: `metric`, `view`, and its `label`, each once.
        models: (name, label) pairs.
        variants: (name, label) pairs.
        pairs: (variant, minus) whose difference is shown.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
        margin: share of the yardstick that is negligible.

    Raises:
        HomogenizationError: the table holds nothing of what is shown.
    """
    there = summary.filter(pl.col("variant").is_in(names_of(variants)))
    reviews = accepted(_of_cells(there, cells, models), variants, min_reviews)
    if reviews.table.is_empty():
        raise HomogenizationError(
            "tables/summary.parquet: no rows for the models, variants and metrics of the configuration; delete the "
            "table and run the same command again."
        )
    labels = dict(variants)
    curves = reviews.table.with_columns(pl.col("variant").replace(labels))
    of_pairs = {(variant, minus): f"{labels[variant]} minus {labels[minus]}" for variant, minus in pairs}
    named = pl.DataFrame([(*pair, label) for pair, label in of_pairs.items()], _PAIRS, orient="row")
    tested = contrasts.filter(pl.col("layers").is_null(), pl.col("verdict") != NOT_TESTED)
    differences = _of_cells(tested, cells, models).join(named, ["variant", "minus"], maintain_order="left")
    differences = differences.with_columns(
        bound=margin * pl.col("yardstick"), variant=pl.col("variant").replace(labels)
    )
    cell = _chosen("Metric", [one["label"] for one in cells])
    pair = _chosen("Difference", list(of_pairs.values()))
    charts = [_levels(curves, variants, cell)]
    if not differences.is_empty():
        charts.append(_differences(differences, variants, cell, pair))
    chart = alt.vconcat(*charts, params=[cell.param, *([pair.param] if len(charts) > 1 else [])])
    return render(_TEMPLATE, scripts=_scripts(chart.to_dict()), counts=reviews.counts, not_drawn=reviews.left_out)


_PAIRS = dict.fromkeys(("variant", "minus", "pair"), pl.String)


def _of_cells(table: pl.DataFrame, cells: Sequence[Mapping[str, str]], models: Named) -> pl.DataFrame:
    """The rows of the cells and models in the residual stream that have a value, with the labels of both."""
    told = pl.DataFrame(cells, {"metric": pl.String, "view": pl.String, "label": pl.String}).rename({"label": "cell"})
    rows = table.filter(
        pl.col("model").is_in(names_of(models)), pl.col("mean").is_finite(), pl.col("point") == RESIDUAL_STREAM
    )
    rows = rows.join(told, ["metric", "view"], maintain_order="left")
    return rows.with_columns(pl.col("model").replace(dict(models)))


def _chosen(name: str, labels: list[str]) -> alt.Parameter:
    return alt.param(
        name=name.lower(), value=next(iter(labels), ""), bind=alt.binding_select(options=labels, name=f"{name} ")
    )


def _data(table: pl.DataFrame, *columns: str) -> alt.Data:
    """The rows as CSV, which repeats no name of a column."""
    rows = table.select("cell", "model", "variant", pl.col(_NUMBERS).round_sig_figs(_DIGITS), "n_reviews", *columns)
    return alt.Data(values=rows.write_csv(), format=alt.CsvDataFormat(type="csv"))


def _encoded(variants: Named) -> dict[str, Any]:
    """Depth, and the look of a variant, as in figures."""
    labels, styles = [label for _, label in variants], list(variant_styles(variants).values())
    dashes = [[1, 0] if style.dashes == "-" else [FULL * length for length in style.dashes[1]] for style in styles]
    return {
        "x": alt.X("depth:Q", title=DEPTH_LABEL, scale=alt.Scale(domain=[0, 1])),
        "color": alt.Color(
            "variant:N", title=None, scale=alt.Scale(domain=labels, range=[style.colour for style in styles])
        ),
        "strokeDash": alt.StrokeDash("variant:N", title=None, scale=alt.Scale(domain=labels, range=dashes)),
        "tooltip": [
            *(f"{name}:N" for name in ("model", "variant")),
            *(f"{name}:Q" for name in (*_NUMBERS, "n_reviews")),
        ],
    }


def _curves(look: Mapping[str, Any], **points: Any) -> list[alt.Chart]:
    """Band, line and points of the mean."""
    y = alt.Y("mean:Q", title=None, scale=alt.Scale(zero=False))
    band = {channel: look[channel] for channel in ("x", "color")}
    solid = {channel: encoded for channel, encoded in look.items() if channel != "strokeDash"}
    return [
        alt.Chart().mark_area(opacity=0.18).encode(**band, y=alt.Y("ci_low:Q", title=None), y2="ci_high:Q"),
        alt.Chart().mark_line(strokeWidth=FULL).encode(**look, y=y),
        alt.Chart().mark_point(filled=False, opacity=1, size=25).encode(**solid, y=y, **points),
    ]


def _panels(layers: Sequence[alt.Chart], data: alt.Data, conditions: Sequence[Any], title: str) -> alt.FacetChart:
    """A panel for each model, of the rows that hold."""
    chart = alt.layer(*layers, data=data).properties(width=_WIDTH, height=_HEIGHT)
    for condition in conditions:
        chart = chart.transform_filter(condition)
    panels = chart.facet(facet=alt.Facet("model:N", title=None, sort=None), columns=_COLUMNS, title=title)
    return panels.resolve_scale(y="independent")


def _levels(table: pl.DataFrame, variants: Named, cell: alt.Parameter) -> alt.FacetChart:
    layers = _curves(_encoded(variants))
    return _panels(layers, _data(table), [alt.datum.cell == cell], "Mean over reviews, with its 95 % interval")


def _differences(table: pl.DataFrame, variants: Named, cell: alt.Parameter, pair: alt.Parameter) -> alt.FacetChart:
    """The chosen difference; a point is filled where it is decided, and grey is negligible."""
    look = _encoded(variants)
    band = alt.Chart().mark_area(color=MARGIN, opacity=0.7).transform_calculate(low="-datum.bound")
    decided = alt.FieldOneOfPredicate("verdict", list(DECIDED))
    layers = [
        band.encode(x=look["x"], y=alt.Y("low:Q", title=None), y2="bound:Q"),
        *_curves(
            look | {"tooltip": [*look["tooltip"], "verdict:N"]},
            fill=alt.condition(decided, look["color"], alt.value(WHITE)),
        ),
    ]
    data = _data(table, "pair", "verdict", pl.col("bound").round_sig_figs(_DIGITS))
    title = "Difference between variants, review by review; filled: decided, grey band: negligible"
    return _panels(layers, data, [alt.datum.cell == cell, alt.datum.pair == pair], title)


def _scripts(spec: dict[str, Any]) -> Markup:
    """The scripts of Vega, and the call that draws `spec` into the element #charts; no text in it ends the script."""
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle = vl_convert.javascript_bundle(vl_version=version)
    written = json.dumps(spec, ensure_ascii=False).replace("</", r"<\/")
    call = f'vegaEmbed("#charts", {written}, {{"mode": "vega-lite", "actions": false}}).catch(console.error);'
    return Markup(f"<script>{bundle}</script>\n<script>\n{call}\n</script>")
