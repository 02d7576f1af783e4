"""The tables `probes` and `harm`: what homogenization costs each model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.consequences.schemas import HARM_SCHEMA, OUTCOMES_OF_HARM
from homogenization.names.columns import ends_of
from homogenization.names.numbers import NO_HEAD
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.statistics.doses import CONTROLS, Condition, Runs, change, runs_of
from homogenization.statistics.pooled_states import PROBES_SCHEMA, probes_table, with_condition
from homogenization.statistics.resampling import Resampling, mean_interval, means
from homogenization.tables.intervened import CONDITION, UNTOUCHED, without_draw
from homogenization.tables.over_reviews import keep_accepted

SCHEMAS = {"probes": PROBES_SCHEMA, "harm": HARM_SCHEMA}


def tabulate(
    controls: Mapping[str, Mapping[str, str]],
    resampling: Mapping[str, Any],
    *,
    consequences: pl.DataFrame,
    similarity: pl.DataFrame,
    texts: Sequence[str],
    readings: Sequence[str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `probes` and `harm`.

    Args:
        controls: by variant and role, the name of its control.
        resampling: fields of `Resampling`.
        consequences: the table `consequences`.
        similarity: the table `similarity`.
        texts: files of doses of all jobs.
        readings: files of what probes found.
    """
    drawn = Resampling(**resampling)
    told = with_condition(read_tables(readings), read_tables(texts).with_columns(without_draw()))
    probes = probes_table(keep_accepted(told, similarity), similarity, controls, drawn)
    return probes, harm_table(consequences, drawn.confidence)


def harm_table(consequences: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """The change from the untouched run by each condition, review by review, on the originals: `HARM_SCHEMA`.

    All reviews count, those in which another token took over the sink too; `n_sink_moved` counts these. The KL is
    never negative.

    Args:
        consequences: tables/consequences.parquet.
        confidence: level of the intervals.
    """
    rows = []
    for (model,), of_model in sorted(consequences.partition_by("model", as_dict=True).items()):
        originals = of_model.filter(variant=ORIGINAL)
        runs = runs_of(originals.with_columns(sink_moved=pl.lit(False)))
        moved = originals.group_by(CONDITION).agg(pl.col("review_id").filter("sink_moved").n_unique().alias("n"))
        for condition in sorted((one for one in runs.values if one.kind != UNTOUCHED), key=str):
            own = [pl.col(name).eq_missing(value) for name, value in condition._asdict().items()]
            by_outcome = {name: _changes(runs, condition, cell) for name, cell in OUTCOMES_OF_HARM.items()}
            row = {
                "model": model,
                **condition._asdict(),
                "placebo": condition.pattern in CONTROLS.get(condition.kind, ()),
                "n_reviews": int(max((~np.isnan(values)).sum() for values in by_outcome.values())),
                "n_sink_moved": moved.filter(*own)["n"].sum(),
                "reason": NO_HEAD if np.isnan(by_outcome["kl"]).all() else None,
            }
            for name, values in by_outcome.items():
                interval = means(values[:, None]), *mean_interval(values[:, None], confidence)
                row |= ends_of(name, [end.item() for end in interval])
            rows.append(row)
    return pl.DataFrame(rows, schema=HARM_SCHEMA)


def _changes(runs: Runs, condition: Condition, cell: tuple[str, str, str]) -> np.ndarray:
    """(reviews,) change of one cell; NaN where a review, or the study, lacks it."""
    if cell not in runs.cells or condition not in runs.values:
        return np.full(max(len(runs.review_ids), 1), np.nan)
    return change(runs, condition)[:, list(runs.cells).index(cell)]
