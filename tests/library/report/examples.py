"""Tables for the page of curves, the page that is made of them, and what is read back from it."""

import json
from html.parser import HTMLParser
from typing import Any

import polars as pl

from conftest import ROOT
from drawings import MODELS, VARIANTS
from homogenization.metrics.catalogue import describe_metric
from homogenization.report.curves import curves_page
from library.figures.example_tables import DEEPER, PAIRS, contrasts_table, summary_table

METRICS = ("effective_rank", "first_token_norm", "max_explainable_variance", "cosine_anisotropy")
CONTRASTED = ("max_explainable_variance", "cosine_anisotropy")
VIEWS = ("raw", "raw_without_first", "centred")
TEMPLATE = (ROOT / "workflow/report/pages/curves.jinja").read_text()


def views_of(metric: str) -> tuple[str, ...]:
    return describe_metric(metric).views or VIEWS


def summary_of(metrics=METRICS, **columns: Any) -> pl.DataFrame:
    """Each metric in all of its views."""
    return pl.concat([summary_table(metric, views_of(metric), DEEPER, **columns) for metric in metrics])


def contrasts_of(metrics=CONTRASTED, **columns: Any) -> pl.DataFrame:
    """Depth moves a metric by 2, and reviews lie 3 apart."""
    tables = [contrasts_table(metric=metric, views=views_of(metric), **columns) for metric in metrics]
    return pl.concat(tables).with_columns(depth_range=pl.lit(2.0), review_sd=pl.lit(3.0))


def described(metrics=METRICS) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": describe_metric(name).title,
            "label": describe_metric(name).label,
            "definition": f"What {name} is.",
            "homogenization": describe_metric(name).homogenization,
        }
        for name in metrics
    ]


def page_of(summary: pl.DataFrame | None = None, contrasts: pl.DataFrame | None = None, **changes: Any) -> str:
    """The page of the example tables, or of others, with other parameters where they are given."""
    shown = {
        "metrics": described(),
        "views": list(VIEWS),
        "models": MODELS,
        "variants": VARIANTS,
        "pairs": PAIRS,
        "min_reviews": 10,
        "margin": 0.02,
        "confidence": 0.95,
        "template": TEMPLATE,
    }
    tables = summary_of() if summary is None else summary, contrasts_of() if contrasts is None else contrasts
    return curves_page(*tables, **shown | changes)


def spec_of(page: str) -> dict[str, Any]:
    """The specification that the page draws."""
    return json.JSONDecoder().raw_decode(page[page.rindex('vegaEmbed("#charts", ') + len('vegaEmbed("#charts", ') :])[0]


def param(spec: dict[str, Any], name: str) -> Any:
    """The value of a parameter of the specification."""
    return next(parameter["value"] for parameter in spec["params"] if parameter["name"] == name)


def inputs(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What can be chosen, by name."""
    return {parameter["name"]: parameter["bind"] for parameter in spec["params"] if "bind" in parameter}


class Elements(HTMLParser):
    """The elements of a page, each with its attributes, and the text outside of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements, self.text, self._inside = [], "", ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.text += data
