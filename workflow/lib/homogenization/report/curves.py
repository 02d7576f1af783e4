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

from homogenization.figures.accepted import accepted
from homogenization.figures.curves import spans_decades
from homogenization.figures.shown import Named, names_of
from homogenization.figures.style import variant_styles
from homogenization.figures.view_labels import view_label
from homogenization.report.curve_charts import charts, dash_pattern, marker_path
from homogenization.report.curve_rows import KEYS, VERDICTS, Cell, as_json, headlines_first, rows_within, view_shown
from homogenization.report.page import packed, render
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table
from homogenization.vocabulary.prose import listed
from homogenization.vocabulary.variants import ORIGINAL

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
    room = most_bytes - len(bundle.encode()) - _ROOM
    rows = rows_within(reviews.table, tested, list(titles), [*views, *of_tokens], margin, room)

    models = [(name, label) for name, label in models if name in rows.points]
    places = {
        "c": {cell: place for place, cell in enumerate(rows.cells)},
        "m": {name: place for place, (name, _) in enumerate(models)},
        "v": {name: place for place, (name, _) in enumerate(variants)},
        "p": {tuple(pair): place for place, pair in enumerate(pairs)},
    }
    looks = variant_styles(variants)
    drawn = dict(reviews.variants)
    chart = charts(
        {
            "about": _about(metrics, rows.cells, views),
            "cells": _cells(reviews.table, rows.cells, set(compared["metric"])),
            "points": [_points(rows.points[name]) for name, _ in models],
            "models": [label for _, label in models],
            "variants": [label for _, label in variants],
            "pairs": [
                {"label": _pair_label(pair, dict(variants)), "place": places["v"][pair[0]]}
                for pair in map(tuple, pairs)
            ],
            "verdicts": list(VERDICTS),
        },
        list(looks.values()),
        _chosen(headlines_first(titles), titles, views, models, variants, drawn, pairs),
        confidence,
    )
    datasets = {
        "curves": [_coded(row, places) for row in rows.curves],
        "differences": [_coded(row, places) for row in rows.differences] + _not_tested(compared, places),
    }
    left_out = _in_words(rows.left_out, titles)
    html = render(
        template,
        scripts=_scripts(bundle, chart.to_dict() | {"datasets": datasets}),
        models=models,
        variants=[
            (places["v"][name], looks[name].colour, dash_pattern(looks[name]), marker_path(looks[name]))
            for name in drawn
        ],
        pairs=pairs,
        not_drawn=[str(entry.get_label()) for entry in reviews.left_out],
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
    present: dict[str, list[str]] = {}
    for metric, view in cells:
        present.setdefault(metric, []).append(view)
    return {
        metric["name"]: {
            "title": metric["title"],
            "label": metric["label"],
            "definition": metric["definition"],
            "sign": metric["homogenization"],
            "cells": {
                view: cells.index((metric["name"], shown))
                for view in views
                if (shown := view_shown(view, present.get(metric["name"], [])))
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


def _points(points: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    return {key: [point[key] for point in points] for key in ("layer", "depth")}


def _pair_label(pair: Sequence[str], labels: Mapping[str, str]) -> str:
    return " minus ".join(labels[name] for name in pair)


def _chosen(
    metrics: Sequence[str],
    titles: Mapping[str, str],
    views: Sequence[str],
    models: Named,
    variants: Named,
    drawn: Mapping[str, str],
    pairs: Sequence[Sequence[str]],
) -> list[alt.Parameter]:
    """The parameters that inputs set; the page opens with the first metric, view and pair, and that pair's variant."""
    opened = {ORIGINAL, pairs[0][0]} if pairs else set(drawn)
    options = {
        "metric": (list(metrics), [titles[name] for name in metrics]),
        "view": (list(views), [view_label(view) for view in views]),
    }
    if pairs:
        options["pair"] = list(range(len(pairs))), [_pair_label(pair, dict(variants)) for pair in pairs]
    selects = [
        alt.param(
            name=name,
            value=values[0],
            bind=alt.binding_select(options=values, labels=labels, name=name.capitalize(), element=f"#{name}"),
        )
        for name, (values, labels) in options.items()
    ]
    boxes = [(f"m{place}", label, place < _FIRST_MODELS) for place, (_, label) in enumerate(models)]
    boxes += [(f"v{place}", drawn[name], name in opened) for place, (name, _) in enumerate(variants) if name in drawn]
    return selects + [
        alt.param(name=name, value=checked, bind=alt.binding_checkbox(name=label, element=f"#{name}"))
        for name, label, checked in boxes
    ]


def _in_words(left_out: Sequence[Cell], titles: Mapping[str, str]) -> str:
    """Which views of which metrics are not on the page; "" if all are."""
    if not left_out:
        return ""
    metrics_of: dict[tuple[str, ...], list[str]] = {}
    for metric in titles:
        if views := tuple(view_label(view) for name, view in left_out if name == metric):
            metrics_of.setdefault(views, []).append(titles[metric])
    parts = [f"{listed(metrics)} ({'; '.join(views)})" for views, metrics in metrics_of.items()]
    return f"Left out, so that the page stays small: {'. '.join(parts)}."
