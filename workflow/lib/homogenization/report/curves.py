"""The page of curves: each metric, view, model and variant to choose, against depth, and differences below.

The page is one HTML file. The scripts of Vega stand in it, and it asks for nothing outside.
"""

import logging
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
import vl_convert
from markupsafe import Markup

from homogenization.figures.shown import Named, accepted, names_of, spans_decades
from homogenization.figures.style import variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.names.prose import grouped, listed
from homogenization.names.variants import ORIGINAL
from homogenization.report.curve_charts import charts, dash_pattern, marker_path
from homogenization.report.curve_rows import KEYS, VERDICTS, Cell, as_json, headlines_first, rows_within, view_shown
from homogenization.report.page import packed, render
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table

MOST_BYTES = 6_000_000  # of the page before it is packed, which halves it; that of the embedded experiment has a third
_ROOM = 60_000  # for what stands on it beside scripts and numbers
_FIRST_MODELS = 3  # that are chosen when the page opens
_REASON_WIDTH = 40  # letters of a line


def make(inputs: Mapping[str, str], **shown: Any) -> str:
    """The page of the files of the tables `summary` and `contrasts`."""
    return packed(curves_page(read_table(inputs["summary"]), read_table(inputs["contrasts"]), **shown))


def curves_page(
    summary: pl.DataFrame,
    contrasts: pl.DataFrame,
    *,
    metrics: Sequence[Mapping[str, Any]],
    views: Sequence[str],
    models: Named,
    variants: Named,
    pairs: Sequence[Sequence[str]],
    min_reviews: int,
    margin: float,
    confidence: float,
    template: str,
    most_bytes: int = MOST_BYTES,
) -> str:
    """The page of the tables `summary` and `contrasts`, as HTML.

    Args:
        summary: the table.
        contrasts: the table.
        metrics: what is shown, each with the keys name, title, label (of its axis), definition and homogenization (the
            sign of its change when tokens grow alike).
        views: names of the computed views, in the order of the page.
        models: (name, label) pairs.
        variants: (name, label) pairs.
        pairs: (variant, minus) whose difference is shown.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
        margin: share of what depth does to a metric, or of how far reviews lie apart, that is negligible.
        confidence: level of the intervals of differences.
        template: of the page, in Jinja.
        most_bytes: size of the page before it is packed. Where numbers would exceed it, views of the less important
            metrics are left out, which page and log say.

    Raises:
        HomogenizationError: the table holds nothing of what is shown.
    """
    titles = {metric["name"]: metric["title"] for metric in metrics}
    there = pl.col("metric").is_in(list(titles)), pl.col("model").is_in(names_of(models))
    reviews = accepted(summary.filter(there, pl.col("variant").is_in(names_of(variants))), variants, min_reviews)
    if reviews.table.is_empty():
        raise HomogenizationError(
            "tables/summary.parquet: no rows for the models, variants and metrics of the configuration; delete the "
            "table and run the same command again."
        )
    wanted = pl.DataFrame(list(pairs), schema={"variant": pl.String, "minus": pl.String}, orient="row")
    compared = contrasts.filter(there, pl.col("layers").is_null()).join(
        wanted, ["variant", "minus"], "semi", maintain_order="left"
    )
    tested = compared.filter(pl.col("reason").is_null())
    of_tokens = [view for view in sorted(reviews.table["view"].unique()) if view not in views]
    bundle = vl_convert.javascript_bundle(vl_version=".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2]))
    rows = rows_within(
        reviews.table,
        tested,
        metrics=list(titles),
        views=[*views, *of_tokens],
        margin=margin,
        most_bytes=most_bytes - len(bundle.encode()) - _ROOM,
    )
    models = [(name, label) for name, label in models if name in rows.points]
    labels, drawn = dict(variants), dict(reviews.variants)
    differences = {tuple(pair): " minus ".join(labels[name] for name in pair) for pair in pairs}
    places = {
        code: {name: place for place, name in enumerate(names)}
        for code, names in {"c": rows.cells, "m": names_of(models), "v": labels, "p": differences}.items()
    }
    selects = {
        "metric": {name: titles[name] for name in headlines_first(titles)},
        "view": {view: view_label(view) for view in views},
        "pair": dict(enumerate(differences.values())),
    }
    opened = {ORIGINAL, pairs[0][0]} if pairs else drawn
    boxes = {f"m{place}": (label, place < _FIRST_MODELS) for place, (_, label) in enumerate(models)}
    boxes |= {f"v{places['v'][name]}": (label, name in opened) for name, label in drawn.items()}
    looks = variant_styles(variants)
    chart = charts(
        {
            "about": _about(metrics, rows.cells, views),
            "cells": _cells(reviews.table, rows.cells, set(compared["metric"])),
            "points": [rows.points[name] for name, _ in models],
            "models": [label for _, label in models],
            "variants": list(labels.values()),
            "pairs": [{"label": label, "place": places["v"][pair[0]]} for pair, label in differences.items()],
            "verdicts": list(VERDICTS),
        },
        list(looks.values()),
        _chosen(selects, boxes),
        confidence,
    )
    datasets = {
        "curves": [_coded(row, places) for row in rows.curves],
        "differences": [_coded(row, places) for row in rows.differences] + _not_tested(compared, places),
    }
    left_out = _in_words(rows.left_out, titles)
    html = render(
        template,
        scripts=_scripts(bundle, chart.to_dict(validate=False) | {"datasets": datasets}),
        models=models,
        variants=[
            (places["v"][name], looks[name].colour, dash_pattern(looks[name]), marker_path(looks[name]))
            for name in drawn
        ],
        pairs=pairs,
        not_drawn=reviews.left_out,
        counts=reviews.counts,
        left_out=left_out,
    )
    logging.info(
        f"{len(html.encode()):,} bytes unpacked, {len(rows.curves):,} curves, {len(rows.differences):,} differences"
    )
    if left_out:
        logging.warning(left_out)
    return html


def _scripts(bundle: str, spec: dict[str, Any]) -> Markup:
    """The scripts of Vega, and the call that draws `spec` into the element #charts; no text in it ends the script."""
    options = {"mode": "vega-lite", "renderer": "svg", "actions": False, "logLevel": 1}  # 1: errors alone
    written = as_json(spec).replace("</", r"<\/")
    call = f'vegaEmbed("#charts", {written}, {as_json(options)}).catch(console.error);'
    return Markup(f"<script>{bundle}</script>\n<script>\n{call}\n</script>")


def _coded(row: Mapping[str, Any], places: Mapping[str, Mapping[Any, int]]) -> dict[str, Any]:
    """A row of `curve_rows.Rows` with places for names."""
    names = {"c": (row["metric"], row["view"]), "m": row["model"]}
    names |= {"p": (row["variant"], row["minus"])} if "minus" in row else {"v": row["variant"]}
    numbers = {key: value for key, value in row.items() if key not in (*KEYS, "minus")}
    return {key: places[key][name] for key, name in names.items()} | numbers


def _not_tested(compared: pl.DataFrame, places: Mapping[str, Mapping[Any, int]]) -> list[dict[str, Any]]:
    """A row for each model and pair that is not tested, with its reason."""
    refused = compared.filter(pl.col("reason").is_not_null()).select("model", "variant", "minus", "reason")
    return [
        {
            "m": places["m"][model],
            "p": places["p"][variant, minus],
            "reason": textwrap.fill(f"not tested: {reason}", _REASON_WIDTH),
        }
        for model, variant, minus, reason in refused.unique(["model", "variant", "minus"]).sort(pl.all()).rows()
        if model in places["m"]
    ]


def _about(metrics: Sequence[Mapping[str, Any]], cells: Sequence[Cell], views: Sequence[str]) -> dict[str, Any]:
    """By metric: what a title says of it, and the place of its cell for each view that can be chosen."""
    present = grouped(cells, lambda cell: cell[0])
    return {
        metric["name"]: {
            "title": metric["title"],
            "label": metric["label"],
            "definition": metric["definition"],
            "sign": metric["homogenization"],
            "cells": {
                view: cells.index((metric["name"], shown))
                for view in views
                if (shown := view_shown(view, [of_metric for _, of_metric in present.get(metric["name"], ())]))
            },
        }
        for metric in metrics
    }


def _cells(table: pl.DataFrame, cells: Sequence[Cell], contrasted: set[str]) -> list[dict[str, Any]]:
    """The view of each cell in words, whether its axis is logarithmic, and whether variants are compared in it."""
    by_cell = table.partition_by("metric", "view", as_dict=True)
    return [
        {"view": view_label(view), "log": spans_decades(by_cell[metric, view]), "contrasted": metric in contrasted}
        for metric, view in cells
    ]


def _chosen(selects: Mapping[str, Mapping[Any, str]], boxes: Mapping[str, tuple[str, bool]]) -> list[alt.Parameter]:
    """The parameters that inputs of the page set: lists, of which the first label is chosen, and boxes to check."""
    lists = {
        name: alt.binding_select(
            options=list(labels), labels=list(labels.values()), name=name.capitalize(), element=f"#{name}"
        )
        for name, labels in selects.items()
        if labels
    }
    return [
        *(alt.param(name=name, value=bind.options[0], bind=bind) for name, bind in lists.items()),
        *(
            alt.param(name=name, value=checked, bind=alt.binding_checkbox(name=label, element=f"#{name}"))
            for name, (label, checked) in boxes.items()
        ),
    ]


def _in_words(left_out: Sequence[Cell], titles: Mapping[str, str]) -> str:
    """Which views of which metrics are not on the page; "" if all are."""
    if not left_out:
        return ""
    by_views = grouped(titles, lambda metric: tuple(view_label(view) for name, view in left_out if name == metric))
    parts = [
        f"{listed([titles[metric] for metric in metrics])} ({'; '.join(views)})"
        for views, metrics in by_views.items()
        if views
    ]
    return f"Left out, so that the page stays small: {'. '.join(parts)}."
