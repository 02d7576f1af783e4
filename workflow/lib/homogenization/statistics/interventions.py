"""The tables `interventions` and `slopes`: what changing attention does to metrics, beside controls of equal dose."""

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.inference.doses import (
    CONTROLS,
    EVEN,
    KL,
    ODD,
    STRENGTH,
    WHOLE,
    Condition,
    Runs,
    change,
    conditions_of,
    control_of,
    no_control,
    opposite_of,
    runs_of,
    too_few,
)
from homogenization.inference.equal_kl import curve_of, less_by_review, moved_at_equal_kl
from homogenization.inference.resampling import (
    benjamini_hochberg,
    mean_interval,
    means,
    sign_flip_p,
    sign_flips,
)
from homogenization.interventions.schemas import SLOPES_SCHEMA
from homogenization.run.parquet import read_table
from homogenization.tables.intervened import UNTOUCHED
from homogenization.tables.over_reviews import keep_accepted
from homogenization.vocabulary.columns import columns, condition_columns

LAYERS = ("all", "middle", "output")
_NUMBERS = {
    **columns("estimate", "ci_low", "ci_high"),
    "depth_range": pl.Float64,  #: what depth does to the metric in the untouched run; NaN where it does not move it
    **columns("share_of_depth", "n_reviews"),
    "p_value": pl.Float64,  #: sign flips of reviews, or of their pseudo-values at equal KL
    **columns("q_value"),
}
#: A row for each [estimand](causes.md#estimands) of each condition, part of the depth (`all`, `middle`, `output`),
#: metric and view. Reviews whose sink moved, in the condition or in a control at equal strength, are left out and
#: counted. One with fewer reviews than `contrasts.min_reviews`, or minus a control that is none in the model, is not
#: tested.
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


def effects_table(intervened: pl.DataFrame, draws: int, confidence: float, seed: int, min_reviews: int) -> pl.DataFrame:
    """Every estimand of every condition: the table `interventions` (`EFFECTS_SCHEMA`), sorted by its keys.

    A row whose control has no curve that reaches the KL is left out. A review whose sink moved is left out, in the
    condition and in its control; n_sink_moved counts these.

    Args:
        intervened: the table `intervened`.
        draws: number of sign flips, which all rows of a model and variant share.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the flips.
        min_reviews: fewest reviews with which an effect is tested.
    """
    parts = [pl.DataFrame(schema=EFFECTS_SCHEMA)]
    rows = intervened.filter(pl.col("layers").is_in(LAYERS))
    for (model, variant), of_run in sorted(rows.partition_by("model", "variant", as_dict=True).items()):
        runs = runs_of(of_run)
        cells = pl.DataFrame(runs.cells, dict.fromkeys(("layers", "view", "metric"), pl.String), orient="row")
        drawn = _draws(len(runs.review_ids), draws, confidence, seed, min_reviews)
        names = {"model": model, "variant": variant}
        parts += [_rows(cells, names | found, EFFECTS_SCHEMA) for found in _estimands(runs, drawn)]
    return _tested(pl.concat(parts), intervened, EFFECTS_SCHEMA)


def _draws(n: int, draws: int, confidence: float, seed: int, min_reviews: int) -> _Draws:
    return _Draws(sign_flips(n, draws, seed), confidence, min_reviews)


def _estimands(runs: Runs, drawn: _Draws) -> Iterator[dict[str, Any]]:
    """The columns from kind on of every estimand, without what needs other models or `metrics`; arrays by cell."""
    for condition in runs.values:
        patterns = CONTROLS.get(condition.kind, ())
        controls = () if condition.pattern in patterns else patterns
        signed = condition.strength is not None and condition.strength > 0 and opposite_of(condition) in runs.values
        for part in (WHOLE, ODD, EVEN) if signed else (WHOLE,) if condition.kind != UNTOUCHED else ():
            changes = change(runs, condition, part)
            yield _row(runs, condition, part, UNTOUCHED, _of_mean(changes, drawn))
            for control in controls:
                like = control_of(condition, control)
                if set(conditions_of(like, part)) <= runs.values.keys():
                    less = changes - change(runs, like, part)
                    reason = no_control(control, runs.branch_norm)
                    yield _row(runs, condition, part, control, _of_mean(less, drawn, reason))
        for control in controls if condition.strength is not None else ():
            if no_control(control, runs.branch_norm):
                continue
            numbers = _at_equal_kl(runs, condition, control, drawn)
            if numbers["n_reviews"].any():
                yield _row(runs, condition, WHOLE, control, numbers, KL)


def _row(
    runs: Runs, condition: Condition, part: str, against: str, numbers: dict[str, np.ndarray], at: str = STRENGTH
) -> dict[str, Any]:
    read = conditions_of(condition, part)
    if against != UNTOUCHED and at == STRENGTH:
        read += conditions_of(control_of(condition, against), part)
    moved = np.logical_or.reduce([runs.moved[one] for one in read])
    told = {"against": against, "at": at, "part": part, "n_sink_moved": moved.sum()}
    return condition._asdict() | told | numbers


def _of_mean(values: np.ndarray, drawn: _Draws, reason: str | None = None) -> dict[str, np.ndarray]:
    """Mean over reviews of `values` (reviews, cells), its interval, p, number of reviews, and why it is not tested.

    NaN for what is not tested, for lack of reviews or for the `reason` that is given.
    """
    n_reviews = (~np.isnan(values)).sum(axis=0)
    reasons = np.array([reason or too_few(n, drawn.min_reviews) for n in n_reviews.tolist()], dtype=object)
    numbers = means(values), *mean_interval(values, drawn.confidence), sign_flip_p(values, drawn.flips)
    tested = [np.where(np.equal(reasons, None), column, np.nan) for column in numbers]
    named = dict(zip(("estimate", "ci_low", "ci_high", "p_value"), tested, strict=True))
    return named | {"n_reviews": n_reviews, "reason": reasons}


def _at_equal_kl(runs: Runs, condition: Condition, control: str, drawn: _Draws) -> dict[str, np.ndarray]:
    pseudo = less_by_review(change(runs, condition), runs.kl[condition], curve_of(runs, condition, control))
    moved = moved_at_equal_kl(runs, condition, control, pseudo)
    return _of_mean(pseudo, drawn) | {"n_sink_moved": moved.sum()}


def slopes_table(
    slopes: pl.DataFrame, intervened: pl.DataFrame, draws: int, confidence: float, seed: int, min_reviews: int
) -> pl.DataFrame:
    """Mean slopes at a dose of 0, block by block and for all blocks: `SLOPE_MEANS_SCHEMA`, sorted by its keys.

    The slope of all blocks, whose `block` is null, is the sum of a review's slopes. `against` is `untouched` for a
    slope itself, and a control for the slope of a pattern minus that of the control.

    Args:
        slopes: slopes of all jobs (`SLOPES_SCHEMA`).
        intervened: the table `intervened`, which says what depth does to each metric, and whether a norm follows
            attention.
        draws: number of sign flips, which all rows of a model and variant share.
        confidence: level of the intervals, between 0 and 1.
        seed: seed of the flips.
        min_reviews: fewest reviews with which a slope is tested.
    """
    normed = set(intervened.filter("branch_norm")["model"])
    parts = [pl.DataFrame(schema=SLOPE_MEANS_SCHEMA)]
    for (model, variant), of_run in sorted(slopes.partition_by("model", "variant", as_dict=True).items()):
        by_pattern, cells = slopes_by_pattern(of_run)
        drawn = _draws(len(next(iter(by_pattern.values()))), draws, confidence, seed, min_reviews)
        for pattern, values in by_pattern.items():
            controls = [name for name in CONTROLS["dial"] if name in by_pattern and pattern not in CONTROLS["dial"]]
            for against in (UNTOUCHED, *controls):
                less = values - by_pattern[against] if against in by_pattern else values
                names = {"model": model, "variant": variant, "pattern": pattern, "against": against}
                numbers = _of_mean(less, drawn, no_control(against, model in normed))
                parts.append(_rows(cells, names | numbers, SLOPE_MEANS_SCHEMA))
    return _tested(pl.concat(parts), intervened, SLOPE_MEANS_SCHEMA)


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
    placed = both.join(reviews.with_row_index("row"), on="review_id").join(
        cells.with_row_index("cell"), on=_SLOPE_CELL, nulls_equal=True
    )
    by_pattern = {}
    for (pattern,), rows in sorted(placed.partition_by("pattern", as_dict=True).items()):
        by_pattern[pattern] = np.full((len(reviews), len(cells)), np.nan)
        by_pattern[pattern][rows["row"].to_numpy(), rows["cell"].to_numpy()] = rows["slope"].to_numpy()
    return by_pattern, cells


def _rows(cells: pl.DataFrame, columns: dict[str, Any], schema: dict[str, Any]) -> pl.DataFrame:
    """The rows of `cells` with `columns`, which hold an array by cell or one value for all."""
    n = len(cells)
    given = {name: list(value) if isinstance(value, np.ndarray) else [value] * n for name, value in columns.items()}
    lacking = {name: [np.nan] * n for name in schema if name not in (*cells.columns, *given)}
    return cells.with_columns(
        pl.Series(name, value, schema[name], strict=False) for name, value in {**given, **lacking}.items()
    ).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _tested(table: pl.DataFrame, intervened: pl.DataFrame, schema: dict[str, Any]) -> pl.DataFrame:
    """`table` without empty rows, sorted, with sizes and, for all tests of a model, corrected p."""
    told = pl.col("estimate").is_not_nan() | pl.col("reason").is_not_null()
    table = table.filter(pl.col("n_reviews") > 0, told)
    keys = list(schema)[: list(schema).index("estimate")]
    cell = ["model", "variant", "view", "metric"]
    table = (
        table.drop("depth_range")
        .join(intervened.select(*cell, "depth_range").unique(cell), on=cell, how="left")
        .sort(keys)
    )
    table = table.with_columns(pl.col("depth_range").fill_null(np.nan))
    share = pl.col("estimate") / pl.col("depth_range")
    of_models = [
        of_model.with_columns(q_value=pl.Series(benjamini_hochberg(of_model["p_value"].to_numpy())))
        for of_model in table.with_columns(share_of_depth=share).partition_by("model", maintain_order=True)
    ]
    return pl.concat([pl.DataFrame(schema=schema), *(of_model.select(*schema) for of_model in of_models)])


def tabulate(
    inputs: Any, draws: int, confidence: float, seed: int, min_reviews: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `interventions` and `slopes`.

    Args:
        inputs: files of the tables `intervened` and `similarity`, and `slopes`, the files of slopes of all
            jobs, none where the study computes no slopes.
        draws: number of sign flips.
        confidence: level of the intervals.
        seed: seed of the flips.
        min_reviews: fewest reviews with which an effect or a slope is tested.
    """
    of_jobs = [pl.DataFrame(schema=SLOPES_SCHEMA), *map(read_table, inputs.slopes)]
    slopes = keep_accepted(pl.concat(of_jobs), read_table(inputs.similarity))
    intervened = read_table(inputs.intervened)
    effects = effects_table(intervened, draws, confidence, seed, min_reviews)
    slope_means = slopes_table(slopes, intervened, draws, confidence, seed, min_reviews)
    for name, table in (("interventions", effects), ("slopes", slope_means)):
        for model, reason in table.drop_nulls("reason").select("model", "reason").unique().sort(pl.all()).rows():
            logging.warning("%s of %s: not tested: %s", name, model, reason)
    return effects, slope_means
