"""The first page of the report: what was run, how alike tokens are over depth, and every claim with its verdict."""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.figures.grammar import draw_lines, set_depth_axis
from homogenization.figures.shown import Named
from homogenization.figures.style import VERDICTS, house_style, variant_styles
from homogenization.figures.words import DEPTH_LABEL
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.report.claims_table import claims_told
from homogenization.report.page import grouped, render
from homogenization.run.parquet import read_input, table_metadata
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from homogenization.tables.extraction import EXTRACTION_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA
from homogenization.tables.summary import SUMMARY_SCHEMA

_SCHEMAS = {
    **{"claims": CLAIMS_SCHEMA, "comparisons": COMPARISONS_SCHEMA, "summary": SUMMARY_SCHEMA},
    **{"acceptance": ACCEPTANCE_SCHEMA, "extraction": EXTRACTION_SCHEMA},
}
_TEMPLATE = Path(__file__).with_suffix(".jinja").read_text("utf-8")
_INCHES = (5.2, 3.0)  # of the curve
_LEGEND_INCHES = 0.2  # for each model


def make(inputs: Mapping[str, Any], shown: Mapping[str, Any]) -> str:
    """The page from a rule's files of its tables, by name; empty for those that the study does not make."""
    tables = {name: read_input(inputs.get(name), schema) for name, schema in _SCHEMAS.items()}
    clean = pl.scan_parquet(inputs["clean"]).select(pl.len()).collect().item()
    raw = table_metadata(inputs["clean"])["rows_of_source"]
    return first_page(tables, **shown, cleaned=(raw, raw - clean))


def first_page(
    tables: Mapping[str, pl.DataFrame],
    *,
    models: Named,
    variants: Named,
    placed: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    n_texts: int,
    min_texts: int,
    cleaned: tuple[int, int] = (0, 0),
) -> str:
    """The page as HTML.

    Args:
        tables: `claims`, `comparisons`, `summary`, `acceptance` and `extraction`, without rows where the study does not
            make them.
        models: (name, label) of each model.
        variants: (name, label) of each variant.
        placed: names of the variants in which phrases have other places in their sentences.
        controls: by variant and role, the name of its control.
        n_texts: texts of the sample.
        min_texts: fewest texts of a comparison.
        cleaned: rows of the source, and how many of them cleaning left out.
    """
    labels, comparisons = dict(variants), tables["comparisons"]
    compared = [name for name in comparisons.filter(minus=ORIGINAL)["variant"] if name in placed]
    return render(
        _TEMPLATE,
        models=models,
        labels=labels,
        looks=VERDICTS,
        n_texts=n_texts,
        min_texts=min_texts,
        cleaned=cleaned,
        accepted={row["variant"]: row for row in tables["acceptance"].iter_rows(named=True)},
        left_out=_left_out(tables["extraction"], dict(models)),
        uncontrolled=[labels.get(name, name) for name in _uncontrolled(compared, controls)],
        refused=grouped(
            comparisons.filter(~pl.col("tested")).iter_rows(named=True),
            lambda row: row["reason"],
            lambda row: " against ".join(labels.get(row[end], row[end]) for end in ("variant", "minus")),
        ),
        curve=depth_curve(tables["summary"], models),
        counts=Counter(tables["claims"]["verdict"]),
        **claims_told(tables["claims"], comparisons, models),
    )


def _left_out(extraction: pl.DataFrame, models: Mapping[str, str]) -> list[tuple[str, int]]:
    """(model, texts that were left out) of each model that has any."""
    found = dict(extraction.group_by("model").agg(pl.col("n_left_out").sum()).rows())
    return [(label, found[name]) for name, label in models.items() if found.get(name)]


def _uncontrolled(compared: Sequence[str], controls: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The variants that are compared with the original alone: no control tells position from rewriting."""
    in_controls = {control for named in controls.values() for control in named.values()}
    return [name for name in compared if name not in controls and name not in in_controls]


@house_style()
def depth_curve(summary: pl.DataFrame, models: Named) -> str:
    """An SVG element with a line for each model, of the first headline metric that the table `summary` has, or ""."""
    stream = summary.filter(variant=ORIGINAL, point=RESIDUAL_STREAM)
    name = next((name for name in HEADLINE_METRICS if name in set(stream["metric"])), None)
    if name is None:
        return ""
    metric = describe_metric(name)
    rows = stream.filter(metric=name, view=(metric.views or tuple(VIEWS))[0]).drop("variant")
    width, height = _INCHES
    figure = Figure(figsize=(width, height + _LEGEND_INCHES * len(models)), layout="constrained")
    axes = figure.add_subplot()
    draw_lines(axes, rows.rename({"model": "variant"}), variant_styles(models))
    set_depth_axis(axes)
    axes.set(xlabel=DEPTH_LABEL, ylabel=metric.label)
    labels = dict(models)
    lines = [line for line in axes.lines if line.get_label() in labels]
    figure.legend(lines, [labels[line.get_label()] for line in lines], loc="outside lower left", frameon=False)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    svg = drawn.getvalue()
    title = f"{metric.title} of the originals over depth, a line for each of {len(models)} models"
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
