"""The table `interventions`: what changing attention does to metrics, beside controls of equal dose."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.names.columns import columns, condition_columns, table_of
from homogenization.names.verdicts import NOT_TESTED
from homogenization.statistics.doses import (
    CONTROLS,
    KL,
    STRENGTH,
    Condition,
    Runs,
    at_equal_kl,
    change,
    moved_at_equal_kl,
    no_control,
    runs_of,
    too_few,
)
from homogenization.statistics.estimates import (
    JUDGED_SCHEMA,
    VERDICT_SCHEMA,
    estimates,
    families_of,
    flip_tests,
    judged,
)
from homogenization.statistics.resampling import Resampling
from homogenization.tables.intervened import UNTOUCHED

_NUMBERS = {
    **columns("n_reviews"),
    **VERDICT_SCHEMA,
    **columns("estimate", "ci_low", "ci_high"),
    **JUDGED_SCHEMA,
    "p_value": pl.Float64,  #: sign flips of reviews, or of their pseudo-values at equal KL
    **columns("p_max_t"),
}
#: A row for each [estimand](causes.md#estimands) of each condition, part of the depth, metric and view. Reviews whose
#: sink moved, in the condition or in a control at equal strength, are left out and counted. One with fewer reviews than
#: `contrasts.min_reviews`, minus a control that is none in the model, or minus one whose KL does not reach that of the
#: condition, is not tested. `p_max_t` is corrected over the parts of the depth.
EFFECTS_SCHEMA = {
    **columns("model", "variant"),
    **condition_columns("kind", "pattern", "blocks", "strength", "against"),
    "at": pl.String,  #: `strength` or `kl`: what the condition and the control have in common
    **condition_columns("layers", "view"),
    **columns("metric"),
    **_NUMBERS,
    #: reviews left out since another token took over the sink, in the condition or in its control
    "n_sink_moved": pl.Int64,
    **condition_columns("reason"),
}
SCHEMAS = {"interventions": EFFECTS_SCHEMA}


class _Draws(NamedTuple):
    flips: np.ndarray
    confidence: float
    min_reviews: int
    families: list[np.ndarray]  # places of the cells that are corrected together


def effects_table(intervened: pl.DataFrame, resampling: Resampling, min_reviews: int) -> pl.DataFrame:
    """Every estimand of every condition: the table `interventions` (`EFFECTS_SCHEMA`), sorted by its keys.

    A review whose sink moved is left out, in the condition and in its control; n_sink_moved counts these.

    Args:
        intervened: the table `intervened`.
        resampling: sign flips, which all rows of a model and variant share, level and margin.
        min_reviews: fewest reviews with which an effect is tested.
    """
    parts = [pl.DataFrame(schema=EFFECTS_SCHEMA)]
    for (model, variant), of_run in sorted(intervened.partition_by("model", "variant", as_dict=True).items()):
        runs = runs_of(of_run)
        cells = pl.DataFrame(runs.cells, dict.fromkeys(("layers", "view", "metric"), pl.String), orient="row")
        flips, families = resampling.sign_flips(len(runs.review_ids)), families_of(cells, "view", "metric")
        drawn = _Draws(flips, resampling.confidence, min_reviews, families)
        names = {"model": model, "variant": variant}
        parts += [table_of(cells.to_dict() | names | of, EFFECTS_SCHEMA) for of in _estimands(runs, drawn)]
    told = (pl.col("n_reviews") > 0) | (pl.col("n_sink_moved") > 0) | (pl.col("at") == KL)
    return _tested(pl.concat(parts).filter(told), intervened, resampling)


def _estimands(runs: Runs, drawn: _Draws) -> Iterator[dict[str, Any]]:
    """The columns from kind on of every estimand, without what needs other models or `metrics`; arrays by cell."""
    for condition in runs.values:
        patterns = CONTROLS.get(condition.kind, ())
        controls = () if condition.pattern in patterns else patterns
        if condition.kind == UNTOUCHED:
            continue
        changes = change(runs, condition)
        yield _row(runs, condition, _of_mean(changes, drawn), UNTOUCHED)
        for control in controls:
            like = condition._replace(pattern=control)
            if like in runs.values:
                less = changes - change(runs, like)
                reason = no_control(control, runs.branch_norm)
                yield _row(runs, condition, _of_mean(less, drawn, reason), control)
        for control in controls if condition.strength is not None else ():
            if runs.curve(condition, control):
                pseudo, reason = at_equal_kl(runs, condition, control)
                numbers = _of_mean(pseudo, drawn, no_control(control, runs.branch_norm) or reason)
                moved = moved_at_equal_kl(runs, condition, control, pseudo).sum()
                about = {"against": control, "at": KL, "n_sink_moved": moved}
                yield condition._asdict() | about | numbers


def _row(runs: Runs, condition: Condition, numbers: dict[str, np.ndarray], against: str) -> dict[str, Any]:
    """An estimand at equal strength."""
    read = [condition] + ([condition._replace(pattern=against)] if against != UNTOUCHED else [])
    moved = np.logical_or.reduce([runs.moved[one] for one in read]).sum()
    return condition._asdict() | {"against": against, "at": STRENGTH, "n_sink_moved": moved} | numbers


def _of_mean(values: np.ndarray, drawn: _Draws, reason: str | None = None) -> dict[str, np.ndarray]:
    """Columns of the mean over reviews of `values` (reviews, cells), with the number of reviews and `reason`.

    NaN for what is not tested, for lack of reviews or for the `reason` that is given.
    """
    numbers = estimates(values, drawn.confidence)
    n_reviews = numbers.pop("n_reviews")
    numbers |= flip_tests(values, drawn.families, drawn.flips)
    untested = [reason or too_few(n, drawn.min_reviews) for n in n_reviews.tolist()]
    reasons = [why or dominated for why, dominated in zip(untested, numbers.pop("reason"), strict=True)]
    tested = [of_cell is None for of_cell in untested]
    of_tested = {name: np.where(tested, column, np.nan) for name, column in numbers.items()}
    return of_tested | {"n_reviews": n_reviews, "reason": reasons}


def _tested(table: pl.DataFrame, intervened: pl.DataFrame, resampling: Resampling) -> pl.DataFrame:
    """`table` without empty rows, sorted, with sizes and verdicts."""
    keys = list(EFFECTS_SCHEMA)[: list(EFFECTS_SCHEMA).index("n_reviews")]
    cell = ["model", "variant", "view", "metric"]
    sizes = intervened.select(*cell, "yardstick").unique(cell)
    table = table.filter(pl.col("estimate").is_not_nan() | pl.col("reason").is_not_null()).drop("yardstick")
    return judged(table.join(sizes, on=cell, how="left").sort(keys), resampling).select(*EFFECTS_SCHEMA)


def tabulate(
    intervened: pl.DataFrame,
    resampling: Mapping[str, Any],
    min_reviews: int,
) -> pl.DataFrame:
    """The table `interventions`.

    Args:
        intervened: the table `intervened`.
        resampling: fields of `Resampling`.
        min_reviews: fewest reviews with which an effect is tested.
    """
    effects = effects_table(intervened, Resampling(**resampling), min_reviews)
    for model, reason in effects.filter(verdict=NOT_TESTED).select("model", "reason").unique().sort(pl.all()).rows():
        logging.warning("interventions of %s: not tested: %s", model, reason)
    return effects
