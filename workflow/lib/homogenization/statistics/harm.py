"""The table `harm`: for each condition, how much more alike tokens are, and what that costs."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from homogenization.consequences.schemas import ENDS, HARM_SCHEMA, OUTCOMES_OF_HARM
from homogenization.names.consequences import SHIFT
from homogenization.names.numbers import NO_HEAD
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.doses import CONTROLS, Condition, Runs, change, runs_of
from homogenization.statistics.resampling import mean_interval, means
from homogenization.tables.intervened import CONDITION, UNTOUCHED


def is_placebo(kind: str, pattern: str | None) -> bool:
    """Whether a condition is a control: it changes attention as much, without what a pattern is about."""
    return pattern in CONTROLS.get(kind, ())


def harm_table(consequences: pl.DataFrame, perturbations: Sequence[str], confidence: float) -> pl.DataFrame:
    """The change from the untouched run by each condition, review by review, on the originals: `HARM_SCHEMA`.

    All reviews count, those in which another token took over the sink too; `n_sink_moved` counts these. KL and shift
    are never negative; the change of the shift is that of the first of `perturbations`.

    Args:
        consequences: tables/consequences.parquet.
        perturbations: names of the perturbed texts.
        confidence: level of the intervals.
    """
    rows = []
    perturbation = perturbations[0] if perturbations else None
    for (model,), of_model in sorted(consequences.partition_by("model", as_dict=True).items()):
        runs = _runs(of_model.filter(variant=ORIGINAL))
        shifted = _runs(of_model.filter(variant=perturbation or ORIGINAL))
        moved = (
            of_model.filter(variant=ORIGINAL)
            .group_by(CONDITION)
            .agg(pl.col("review_id").filter("sink_moved").n_unique().alias("n"))
        )
        for condition in sorted((one for one in runs.values if one.kind != UNTOUCHED), key=str):
            own = [pl.col(name).eq_missing(value) for name, value in condition._asdict().items()]
            by_outcome = {
                name: _changes(shifted if name.startswith(SHIFT) else runs, condition, cell)
                for name, cell in OUTCOMES_OF_HARM.items()
            }
            row = {
                "model": model,
                **condition._asdict(),
                "placebo": is_placebo(condition.kind, condition.pattern),
                "n_reviews": int(max((~np.isnan(values)).sum() for values in by_outcome.values())),
                "n_sink_moved": moved.filter(*own)["n"].sum(),
                "perturbation": perturbation,
                "reason": NO_HEAD if np.isnan(by_outcome["kl"]).all() else None,
            }
            for name, values in by_outcome.items():
                low, high = mean_interval(values[:, None], confidence)
                numbers = (float(means(values[:, None])[0]), float(low[0]), float(high[0]))
                row |= {f"{name}{end}": number for end, number in zip(ENDS, numbers, strict=True)}
            rows.append(row)
    return pl.DataFrame(rows, schema=HARM_SCHEMA)


def _runs(rows: pl.DataFrame) -> Runs:
    return runs_of(rows.with_columns(sink_moved=pl.lit(False)))


def _changes(runs: Runs, condition: Condition, cell: tuple[str, str, str]) -> np.ndarray:
    """(reviews,) change of one cell; NaN where a review, or the study, lacks it."""
    if cell not in runs.cells or condition not in runs.values:
        return np.full(max(len(runs.review_ids), 1), np.nan)
    return change(runs, condition)[:, list(runs.cells).index(cell)]


def named(row: Mapping) -> str:
    """A condition as a sentence names it: `first .4 (steering, blocks: all)`."""
    parts = [row["pattern"] or "", "" if row["strength"] is None else f"{row['strength']:g}"]
    blocks = f", blocks: {row['blocks']}" if row["kind"] == "steering" else ""
    return f"`{' '.join(filter(None, parts))}` ({row['kind']}{blocks})"
