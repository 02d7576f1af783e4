"""What every figure is drawn of: tables with the columns of their schemas, and what the configuration says about it.

A figure without an example of its own is drawn of tables that their schemas alone describe.
"""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from dosed import COSINE
from drawings import VARIANTS, N, shown
from homogenization.figures.catalogue import FIGURES
from homogenization.figures.claims import COLUMNS
from homogenization.figures.drawing import draw_figure
from homogenization.figures.shown import Shown
from homogenization.measures.views import VIEWS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.run.errors import HomogenizationError
from homogenization.statistics.causes import CAUSES
from library.figures.changed_tables import (
    ARMS,
    N_CHANGED,
    READ,
    by_depth,
    conditions_tables,
    dose_tables,
    harm_table,
    losses_table,
    over_seeds,
    slopes_table,
)
from library.figures.example_tables import (
    CONTRASTED,
    MEV,
    NAMED,
    PAIRS,
    SCHEMAS,
    attention_table,
    balance_table,
    components_table,
    contrasts_table,
    correlations_table,
    cosine_table,
    example_table,
    extrema_tables,
    first_token_table,
    mauve_table,
    metrics_table,
    placement_table,
    positional_table,
    similarity_table,
    summary_table,
    templates_table,
)

TOKENS = {None: 30, "the": 20, " ": 10, "$5": 8, **{f"word{index}": 2 for index in range(12)}}


def sinks_table():
    """In the second variant, each token is a sink in one review more."""
    return example_table(
        "sinks.parquet",
        model="alpha",
        variant=["original", "front"],
        kind="attention",
        token=list(TOKENS),
        n_reviews=lambda row: TOKENS[row["token"]] + (row["variant"] == "front"),
        position=12.0,
        first_block=3.0,
        last_block=9.0,
    )


TITLES = {name: metric.title for name, metric in (SPECTRAL_METRICS | GEOMETRY_METRICS).items()}
SPECIAL = {  # what stands apart among responses of .1
    ("max_explainable_variance", "raw"): {"cone": 0.834, "compression": 0.499},
    ("schatten_inf", "raw"): {"massive_first_token": -56.4},
    ("stable_rank", "unit"): {"antipodal_pairs": 0.5, "cone": -0.7, "matrix_shape": -0.001},
    # a collapse does not move it
    ("cosine_modes", "all_tokens"): dict.fromkeys(CAUSES, np.nan) | {"answers_to": "antipodal_pairs"},
}


def responses():
    """Every metric and view in the order of the registries."""
    views = dict.fromkeys(SPECTRAL_METRICS, VIEWS) | {name: metric.views for name, metric in GEOMETRY_METRICS.items()}
    usual = dict.fromkeys(CAUSES, 0.1) | {"collapse": 1.0, "answers_to": "collapse", "confuses": ""}
    rows = [
        {"metric": metric, "view": view} | usual | SPECIAL.get((metric, view), {})
        for metric, of_metric in views.items()
        for view in of_metric
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["sensitivity.csv"])


FINDINGS = ["supported", "contradicted", "undecided", "not tested", "negligible"]
COMPARISONS = pl.DataFrame({"variant": ["front", "end"], "minus": ["original"] * 2, "imbalance": [None, "length"]})


def claims_table(models=("alpha", "beta"), n_claims=10, **changes):
    rows = []
    for index in range(n_claims):
        statement = "Something long enough to take more than one line of the board holds. " * (1 + index % 3)
        for place, model in enumerate([None] if index == 4 else models):
            verdict = FINDINGS[(index + place) % 5]
            estimate = float("nan") if verdict == "not tested" else -0.01234 * 10.0 ** (-index)
            reason = "the study has no metric first_token_attention_share " * index if verdict == "not tested" else None
            rows.append(
                {
                    "claim": f"claim-{index}", "statement": statement.strip(),
                    "source": "paper", "convention": "raw", "model": model,
                    "statistic": "similarity" if index == 4 else "contrast",
                    "variant": "front", "minus": "original", "verdict": verdict, "measured": "mean difference",
                    "criterion": "< 0", "unit": "reviews", "published": None, "reason": reason,
                    "depends_on_length": False, "fragile": False, "p_decides": False, "estimate": estimate,
                    "ci_low": estimate * 1.5, "ci_high": float("nan") if index == 5 else estimate / 2,
                    "depth_range": float("nan"), "relative_effect": float("nan"),
                    "without_first": float("nan"), "p_max_t": 0.123, "n_reviews": N,
                }
            )  # fmt: skip
            if model == "alpha" and index == 0:
                rows[-1] |= changes
    return pl.DataFrame(rows, schema=COLUMNS["claims"])


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
_TRAINED = {"arms": ARMS, "arm_pairs": [["diverse", "tuned", "Diverse minus Tuned"]], "metric": "cosine_anisotropy"}
_OF_CHANGED = f"n = {N_CHANGED - 3} to {N_CHANGED} reviews"
EXAMPLES = {
    "metric": Example(summary_table, {"metric": "effective_rank", "label": "Effective rank", "views": _VIEWS}),
    "mauve": Example(mauve_table, size="6 values a point", refusal="MAUVE between consecutive layers"),
    "cosine_histogram": Example(cosine_table, refusal="cosines between tokens"),
    "first_token": Example(first_token_table, refusal="first_token_norm"),
    "attention_profile": Example(attention_table, refusal="attention received", absent="no attention"),
    "attention_heatmap": Example(attention_table, refusal="attention received", absent="no attention"),
    "similarity": Example(
        similarity_table,
        {"rewritten": VARIANTS[1:], "threshold": 0.85},
        f"{N} rewritten reviews accepted",
        "variants front, end, scattered",
    ),
    "placement": Example(placement_table, {}, "41 key phrases in 10 reviews", "variants original, front, end"),
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
    "first_token_scatter": Example(
        lambda: {"metrics": metrics_table(), "first_token": correlations_table()}, refusal="first_token_energy_share"
    ),
    "components": Example(components_table, size="n = 6 reviews, Original", refusal=None, absent=None, labelled=False),
    "extrema": Example(
        extrema_tables, {"metric_titles": {MEV: "Maximum explainable variance"}}, refusal="no rows for models"
    ),
    "dose_response": Example(dose_tables, _CHANGED, _OF_CHANGED, "no rows for metric", None, labelled=False),
    "conditions": Example(conditions_tables, _CHANGED, f"n = {N_CHANGED} reviews", None, None, labelled=False),
    "susceptibility": Example(
        slopes_table,
        {"metric_titles": {"cosine_anisotropy": "Cosine anisotropy"}},
        "n = 9 reviews",
        "no rows for models",
        None,
    ),
    "harm": Example(harm_table, size=f"n = {READ} reviews", refusal="models alpha, beta", absent=None),
    "probes": Example(
        lambda: by_depth("probes.parquet", ("log_loss", "accuracy", "null_log_loss", "null_accuracy")),
        size=f"n = {READ} reviews",
        refusal="no rows for probes",
        absent=None,
    ),
    "training": Example(losses_table, _TRAINED, "3 seeds; 1,800 texts to train on, 100 held out", "arms"),
    "arms": Example(
        over_seeds, _TRAINED | {"views": ["all_tokens"], "label": "cosine"}, "3 seeds", "metric 'cosine_anisotropy'"
    ),
    "positional_heads": Example(positional_table, refusal="positional attention", absent=None),
    "positional_templates": Example(
        lambda: {"templates": templates_table(), "positional": positional_table(), "attention": attention_table()},
        refusal="templates of attention",
        absent=None,
    ),
    "sinks": Example(sinks_table, refusal=None, absent="none", labelled=False),
    "sensitivity": Example(
        responses,
        {"metric_titles": TITLES},
        "Bold: at least 0.5",
        "with a row for each metric and view",
        labelled=False,
    ),
    "claims": Example(
        lambda: {"claims": claims_table(), "comparisons": COMPARISONS},
        {"claims_of": "paper"},
        refusal="claims of 'paper'",
        absent="",
        labelled=False,
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
