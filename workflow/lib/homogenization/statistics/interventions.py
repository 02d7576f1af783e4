"""The tables `interventions` and `slopes`: what changing attention does to metrics, beside controls of equal dose."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.interventions.schemas import SLOPES_SCHEMA
from homogenization.names.columns import columns, condition_columns, table_of
from homogenization.run.parquet import read_table
from homogenization.statistics.doses import (
    CONTROLS,
    EVEN,
    KL,
    ODD,
    STRENGTH,
    WHOLE,
    Condition,
    Runs,
    at_equal_kl,
    change,
    conditions_of,
    moved_at_equal_kl,
    no_control,
    opposite_of,
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
from homogenization.tables.over_reviews import as_array, keep_accepted

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
    "part": pl.String,  #: `whole`, `odd` or `even`; the parts stand at the positive strength
    **condition_columns("layers", "view"),
    **columns("metric"),
    **_NUMBERS,
    #: reviews left out since another token took over the sink, in the condition or in its control
    "n_sink_moved": pl.Int64,
    **condition_columns("reason"),
}
#: A row for each pattern, block, metric and view: the derivative at no dose, and the same minus that of a control.
#: `p_max_t` is corrected over the blocks.
SLOPE_MEANS_SCHEMA = {
    **columns("model", "variant"),
    "block": pl.Int32,  #: from 1; null for the sum over all blocks
    **condition_columns("pattern", "against", "layer", "view"),
    **columns("metric"),
    **_NUMBERS,
    **condition_columns("reason"),
}
SCHEMAS = EFFECTS_SCHEMA, SLOPE_MEANS_SCHEMA
_SLOPE_CELL = ("block", "layer", "view", "metric")


class _Draws(NamedTuple):
    flips: np.ndarray
    confidence: float
    min_reviews: int
    families: list[np.ndarray]  # places of the cells that are corrected together


def effects_table(intervened: pl.DataFrame, resampling: Resampling, min_reviews: int, dose: str = KL) -> pl.DataFrame:
    """Every estimand of every condition: the table `interventions` (`EFFECTS_SCHEMA`), sorted by its keys.

    A review whose sink moved is left out, in the condition and in its control; n_sink_moved counts these.

    Args:
        intervened: the table `intervened`.
        resampling: sign flips, which all rows of a model and variant share, level and margin.
        min_reviews: fewest reviews with which an effect is tested.
        dose: what stands in the column `kl`, in which a control is compared as well.
    """
    parts = [pl.DataFrame(schema=EFFECTS_SCHEMA)]
    for (model, variant), of_run in sorted(intervened.partition_by("model", "variant", as_dict=True).items()):
        runs = runs_of(of_run)
        cells = pl.DataFrame(runs.cells, dict.fromkeys(("layers", "view", "metric"), pl.String), orient="row")
        flips, families = resampling.sign_flips(len(runs.review_ids)), families_of(cells, "view", "metric")
        drawn = _Draws(flips, resampling.confidence, min_reviews, families)
        names = {"model": model, "variant": variant}
        parts += [table_of(cells.to_dict() | names | of, EFFECTS_SCHEMA) for of in _estimands(runs, drawn, dose)]
    told = (pl.col("n_reviews") > 0) | (pl.col("n_sink_moved") > 0) | (pl.col("at") == dose)
    return _tested(pl.concat(parts).filter(told), intervened, resampling, EFFECTS_SCHEMA)


def _estimands(runs: Runs, drawn: _Draws, dose: str) -> Iterator[dict[str, Any]]:
    """The columns from kind on of every estimand, without what needs other models or `metrics`; arrays by cell."""
    for condition in runs.values:
        patterns = CONTROLS.get(condition.kind, ())
        controls = () if condition.pattern in patterns else patterns
        signed = condition.strength is not None and condition.strength > 0 and opposite_of(condition) in runs.values
        for part in (WHOLE, ODD, EVEN) if signed else (WHOLE,) if condition.kind != UNTOUCHED else ():
            changes = change(runs, condition, part)
            yield _row(runs, condition, _of_mean(changes, drawn), UNTOUCHED, part)
            for control in controls:
                like = condition._replace(pattern=control)
                if set(conditions_of(like, part)) <= runs.values.keys():
                    less = changes - change(runs, like, part)
                    reason = no_control(control, runs.branch_norm)
                    yield _row(runs, condition, _of_mean(less, drawn, reason), control, part)
        for control in controls if condition.strength is not None else ():
            if runs.curve(condition, control):
                pseudo, reason = at_equal_kl(runs, condition, control, dose)
                numbers = _of_mean(pseudo, drawn, no_control(control, runs.branch_norm) or reason)
                moved = moved_at_equal_kl(runs, condition, control, pseudo).sum()
                about = {"against": control, "at": dose, "part": WHOLE, "n_sink_moved": moved}
                yield condition._asdict() | about | numbers


def _row(runs: Runs, condition: Condition, numbers: dict[str, np.ndarray], against: str, part: str) -> dict[str, Any]:
    """An estimand at equal strength."""
    read = conditions_of(condition, part)
    if against != UNTOUCHED:
        read += conditions_of(condition._replace(pattern=against), part)
    moved = np.logical_or.reduce([runs.moved[one] for one in read]).sum()
    return condition._asdict() | {"against": against, "at": STRENGTH, "part": part, "n_sink_moved": moved} | numbers


def _of_mean(values: np.ndarray, drawn: _Draws, reason: str | None = None) -> dict[str, np.ndarray]:
    """Columns of the mean over reviews of `values` (reviews, cells), with the number of reviews and `reason`.

    NaN for what is not tested, for lack of reviews or for the `reason` that is given.
    """
    numbers = estimates(values, drawn.confidence)
    n_reviews = numbers.pop("n_reviews")
    numbers |= flip_tests(values, drawn.families, drawn.flips)
    reasons = [reason or too_few(n, drawn.min_reviews) for n in n_reviews.tolist()]
    tested = [of_cell is None for of_cell in reasons]
    of_tested = {name: np.where(tested, column, np.nan) for name, column in numbers.items()}
    return of_tested | {"n_reviews": n_reviews, "reason": reasons}


def slopes_table(
    slopes: pl.DataFrame, intervened: pl.DataFrame, resampling: Resampling, min_reviews: int
) -> pl.DataFrame:
    """Mean slopes at a dose of 0, block by block and for all blocks: `SLOPE_MEANS_SCHEMA`, sorted by its keys.

    The slope of all blocks, whose `block` is null, is the sum of a review's slopes. `against` is `untouched` for a
    slope itself, and a control for the slope of a pattern minus that of the control.

    Args:
        slopes: slopes of all jobs (`SLOPES_SCHEMA`).
        intervened: the table `intervened`, which says what depth does to each metric, and whether a norm follows
            attention.
        resampling: sign flips, which all rows of a model and variant share, level and margin.
        min_reviews: fewest reviews with which a slope is tested.
    """
    normed = set(intervened.filter("branch_norm")["model"])
    parts = [pl.DataFrame(schema=SLOPE_MEANS_SCHEMA)]
    for (model, variant), of_run in sorted(slopes.partition_by("model", "variant", as_dict=True).items()):
        by_pattern, cells = slopes_by_pattern(of_run)
        of_blocks = pl.col("block").is_null().alias("sum")
        families = families_of(cells, "layer", "view", "metric", of_blocks)
        flips = resampling.sign_flips(of_run["review_id"].n_unique())
        drawn = _Draws(flips, resampling.confidence, min_reviews, families)
        for pattern, values in by_pattern.items():
            controls = [
                name for name in CONTROLS["steering"] if name in by_pattern and pattern not in CONTROLS["steering"]
            ]
            for against in (UNTOUCHED, *controls):
                less = values - by_pattern[against] if against in by_pattern else values
                names = {"model": model, "variant": variant, "pattern": pattern, "against": against}
                numbers = _of_mean(less, drawn, no_control(against, model in normed))
                parts.append(table_of(cells.to_dict() | names | numbers, SLOPE_MEANS_SCHEMA))
    return _tested(pl.concat(parts).filter(pl.col("n_reviews") > 0), intervened, resampling, SLOPE_MEANS_SCHEMA)


def slopes_by_pattern(slopes: pl.DataFrame) -> tuple[dict[str, np.ndarray], pl.DataFrame]:
    """By pattern, (reviews, cells) slopes of one model and variant, and the cells: block, layer, view, metric.

    The last cells are the sums over blocks, whose block is null; NaN where a review lacks a block.
    """
    single = slopes.select(_SLOPE_CELL).unique().sort(_SLOPE_CELL)
    n_blocks = single["block"].n_unique()
    keys = ["review_id", "pattern", "layer", "view", "metric"]
    sums = slopes.group_by(keys, maintain_order=True).agg(
        pl.when(pl.len() == n_blocks).then(pl.col("slope").sum()).otherwise(np.nan).alias("slope")
    )
    columns = ["review_id", "pattern", *_SLOPE_CELL, "slope"]
    both = pl.concat([slopes.select(columns), sums.with_columns(block=pl.lit(None, pl.Int32)).select(columns)])
    cells = pl.concat([single, single.with_columns(block=pl.lit(None, pl.Int32)).unique().sort(_SLOPE_CELL)])
    reviews = slopes.select("review_id").unique().sort("review_id")
    patterns = slopes.select("pattern").unique().sort("pattern")
    values = as_array(both, "slope", patterns, reviews, cells)
    return dict(zip(patterns["pattern"], values, strict=True)), cells


def _tested(
    table: pl.DataFrame, intervened: pl.DataFrame, resampling: Resampling, schema: dict[str, Any]
) -> pl.DataFrame:
    """`table` without empty rows, sorted, with sizes and verdicts."""
    keys = list(schema)[: list(schema).index("n_reviews")]
    cell = ["model", "variant", "view", "metric"]
    sizes = intervened.select(*cell, "depth_range", "review_sd").unique(cell)
    table = table.filter(pl.col("estimate").is_not_nan() | pl.col("reason").is_not_null()).drop(
        "depth_range", "review_sd"
    )
    return judged(table.join(sizes, on=cell, how="left").sort(keys), resampling).select(*schema)


def tabulate(
    intervened: pl.DataFrame,
    similarity: pl.DataFrame,
    slopes: Sequence[str] | None,
    resampling: Mapping[str, Any],
    min_reviews: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `interventions` and `slopes`.

    Args:
        intervened: the table `intervened`.
        similarity: the table `similarity`, which says which reviews are accepted.
        slopes: files of slopes of all jobs; None where the study computes no slopes.
        resampling: fields of `Resampling`.
        min_reviews: fewest reviews with which an effect or a slope is tested.
    """
    of_jobs = pl.concat([pl.DataFrame(schema=SLOPES_SCHEMA), *map(read_table, slopes or ())])
    drawn = Resampling(**resampling)
    effects = effects_table(intervened, drawn, min_reviews)
    slope_means = slopes_table(keep_accepted(of_jobs, similarity), intervened, drawn, min_reviews)
    for name, table in (("interventions", effects), ("slopes", slope_means)):
        for model, reason in table.drop_nulls("reason").select("model", "reason").unique().sort(pl.all()).rows():
            logging.warning("%s of %s: not tested: %s", name, model, reason)
    return effects, slope_means
