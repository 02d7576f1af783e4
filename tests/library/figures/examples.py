"""What every figure is drawn of: tables with the columns of their schemas, and what the configuration says about it.

A figure without an example of its own is drawn of tables that their schemas alone describe.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl
import pytest
from matplotlib.figure import Figure

from dosed import COSINE
from drawings import VARIANTS, N, shown
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.drawing import draw_figure
from homogenization.figures.shown import Shown, names_of
from homogenization.run.errors import HomogenizationError
from library.figures.changed_tables import (
    N_CHANGED,
    READ,
    by_depth,
    conditions_tables,
    dose_tables,
    harm_table,
    losses_table,
)
from library.figures.example_tables import (
    CONTRASTED,
    MEV,
    NAMED,
    PAIRS,
    attention_table,
    balance_table,
    components_table,
    contrasts_table,
    example_table,
    extrema_tables,
    first_token_table,
    mauve_table,
    placement_table,
    similarity_table,
    summary_table,
)


class Example(NamedTuple):
    """What a figure is drawn of.

    Attributes:
        tables: makes its tables by name, or its only one.
        shown: fields of what the configuration says.
        size: what the figure says about its sample.
        refusal: what the message says where the first table is empty; None for a figure that is drawn nevertheless.
        absent: what stands in the place of a model that the tables lack; None where the model is left out, "" where the
            figure has no panels of models.
        labelled: whether axes have labels in both directions.
    """

    tables: Callable[[], pl.DataFrame | dict[str, pl.DataFrame]]
    shown: Mapping[str, Any] = {}
    size: str = f"n = {N} reviews"
    refusal: str | None = "no rows"
    absent: str | None = "no values"
    labelled: bool = True


_VIEWS = ["raw", "raw_without_first"]
_CHANGED = {"metric": COSINE, "label": "cosine", "homogenization": 1}
_OF_CHANGED = f"n = {N_CHANGED - 3} to {N_CHANGED} reviews"
EXAMPLES = {
    "metric": Example(summary_table, {"metric": "effective_rank", "label": "Effective rank", "views": _VIEWS}),
    "mauve": Example(mauve_table, size="6 values a point", refusal="MAUVE between consecutive layers"),
    "first_token": Example(first_token_table, refusal="first_token_norm"),
    "attention_profile": Example(attention_table, refusal="attention received", absent="no attention"),
    "attention_heatmap": Example(attention_table, refusal="attention received", absent="no attention"),
    "similarity": Example(
        similarity_table,
        {"rewritten": VARIANTS[1:], "threshold": 0.85},
        f"{N} rewritten reviews accepted",
        "variants front, end, scattered",
    ),
    "placement": Example(
        placement_table,
        {"placed": names_of(VARIANTS[1:])},
        "41 key phrases in 10 reviews",
        "variants original, front, end",
    ),
    "balance": Example(
        balance_table, {"variants": NAMED, "max_imbalance": 0.25}, refusal="variants original, front", absent=""
    ),
    "contrast": Example(
        contrasts_table,
        {
            "metric": CONTRASTED,
            "label": "variance",
            "view": "raw",
            "contrasts": PAIRS,
            "homogenization": 1,
            "margin": 0.02,
        },
        refusal=CONTRASTED,
    ),
    "components": Example(components_table, size="n = 6 reviews, Original", refusal=None, absent=None, labelled=False),
    "extrema": Example(
        extrema_tables, {"metric_titles": {MEV: "Maximum explainable variance"}}, refusal="no rows for models"
    ),
    "dose_response": Example(dose_tables, _CHANGED, _OF_CHANGED, "no rows for metric", None, labelled=False),
    "conditions": Example(conditions_tables, _CHANGED, f"n = {N_CHANGED} reviews", None, None, labelled=False),
    "harm": Example(harm_table, size=f"n = {READ} reviews", refusal="models alpha, beta", absent=None),
    "probes": Example(
        lambda: by_depth("probes.parquet", ("log_loss", "accuracy", "null_log_loss", "null_accuracy")),
        size=f"n = {READ} reviews",
        refusal="no rows for probes",
        absent=None,
    ),
    "training": Example(
        losses_table, size="1,800 texts to train on, 100 held out", refusal="trained models", absent=None
    ),
}


def example(name: str) -> Example:
    """What the figure `name` is drawn of; where nothing else is known, tables that their schemas alone describe."""

    def of_schemas():
        return {file.partition(".")[0]: example_table(file) for file in FIGURES[name].tables}

    return EXAMPLES.get(name) or Example(of_schemas, {"metric": "effective_rank", "label": "L", "views": _VIEWS})


@cache
def tables_of(name: str) -> dict[str, pl.DataFrame]:
    """The tables of the figure `name`, the one that messages name first."""
    made = example(name).tables()
    return made if isinstance(made, dict) else {FIGURES[name].tables[0].partition(".")[0]: made}


def shown_of(name: str, **fields: Any) -> Shown:
    """What the configuration says about the figure `name`, with other `fields`."""
    return shown(**example(name).shown | fields)


def function_of(name: str) -> Callable[..., Figure]:
    return getattr(import_module(f"homogenization.figures.{FIGURES[name].module}"), name)


def figure_of(
    name: str, other: pl.DataFrame | Mapping[str, pl.DataFrame] = MappingProxyType({}), **fields: Any
) -> Figure:
    """The figure `name` of its example, with `other` tables (one: the first) and other `fields` of what is shown."""
    own = tables_of(name)
    other = {next(iter(own)): other} if isinstance(other, pl.DataFrame) else other
    return draw_figure(function_of(name), own | dict(other), shown_of(name, **fields))


@cache
def drawn(name: str) -> Figure:
    """The figure `name` of its example; tests look at it and do not change it."""
    return _drawn_with_its_uses(name)[0]


def used_by(name: str) -> tuple[set[str], set[str]]:
    """The tables and the fields of what is shown that the figure `name` of its example uses."""
    return _drawn_with_its_uses(name)[1:]


@cache
def _drawn_with_its_uses(name: str) -> tuple[Figure, set[str], set[str]]:
    used, own = (set(), set()), shown_of(name)

    class Tables(dict):
        def __getitem__(self, table):
            used[0].add(table)
            return super().__getitem__(table)

    class Fields:
        def __getattr__(self, field):
            used[1].add(field)
            return getattr(own, field)

    return draw_figure(function_of(name), Tables(tables_of(name)), Fields()), *used


def require_refusal(name: str, said: str, *other: pl.DataFrame | Mapping[str, pl.DataFrame], **fields: Any) -> None:
    """Nothing is drawn of such tables (`figure_of`); the message says `said` and names the file."""
    with pytest.raises(HomogenizationError, match=said) as refused:
        figure_of(name, *other, **fields)
    assert shown_of(name, **fields).source in str(refused.value)
