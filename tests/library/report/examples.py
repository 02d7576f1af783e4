"""Tables for the page of curves, the page that is made of them, and what is read back from it."""

import json
from typing import Any

import polars as pl

from drawings import MODELS, VARIANTS
from homogenization.metrics.catalogue import describe_metric
from homogenization.report.curves import curves_page
from library.figures.example_tables import DEEPER, PAIRS, contrasts_table, summary_table

CELLS = [
    {"metric": metric, "view": view, "label": f"{metric} of {view}"}
    for metric, view in (
        ("max_explainable_variance", "raw"),
        ("max_explainable_variance", "raw_without_first"),
        ("cosine_anisotropy", "all_tokens"),
    )
]


def _views_of(metric: str) -> tuple[str, ...]:
    return describe_metric(metric).views or ("raw", "raw_without_first", "centred")


def summary_of() -> pl.DataFrame:
    """Each metric in all of its views."""
    metrics = ("effective_rank", "max_explainable_variance", "cosine_anisotropy")
    return pl.concat([summary_table(metric, _views_of(metric), DEEPER) for metric in metrics])


def contrasts_of() -> pl.DataFrame:
    """The yardstick of each metric is 3."""
    metrics = ("max_explainable_variance", "cosine_anisotropy")
    tables = [contrasts_table(metric=metric, views=_views_of(metric)) for metric in metrics]
    return pl.concat(tables).with_columns(yardstick=pl.lit(3.0))


def page_of(summary: pl.DataFrame | None = None, contrasts: pl.DataFrame | None = None, **changes: Any) -> str:
    """The page of the example tables, or of others, with other parameters where they are given."""
    shown = {"cells": CELLS, "models": MODELS, "variants": VARIANTS, "pairs": PAIRS}
    shown |= {"min_reviews": 10, "margin": 0.02}
    tables = summary_of() if summary is None else summary, contrasts_of() if contrasts is None else contrasts
    return curves_page(*tables, **shown | changes)


def spec_of(page: str) -> dict[str, Any]:
    """The specification that the page draws."""
    return json.JSONDecoder().raw_decode(page[page.rindex('vegaEmbed("#charts", ') + len('vegaEmbed("#charts", ') :])[0]
