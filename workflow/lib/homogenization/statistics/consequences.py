"""The tables `probes`, `shifts`, `predictability`, `harm`, and what homogenization costs each model in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.consequences.schemas import HARM_SCHEMA, OUTCOMES_OF_HARM
from homogenization.names.columns import columns, ends_of
from homogenization.names.consequences import SHIFT
from homogenization.names.numbers import NO_HEAD
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.statistics.doses import CONTROLS, Condition, Runs, change, runs_of
from homogenization.statistics.pooled_states import (
    PROBES_SCHEMA,
    SHIFTS_SCHEMA,
    probes_table,
    shifts_table,
    with_condition,
)
from homogenization.statistics.predictability import PREDICTABILITY_SCHEMA, predictability_table
from homogenization.statistics.resampling import Resampling, mean_interval, means
from homogenization.tables.consequences import keep_read, shifts_of_changed
from homogenization.tables.intervened import CONDITION, UNTOUCHED, without_draw

#: A row for each model: the answer under *Consequences* on the first page of the report.
ANSWERS_SCHEMA = {
    **columns("model"),
    "answer": pl.String,  #: what homogenization costs, in words
}
_LIKENESS = ("all_tokens", "cosine_anisotropy")
SCHEMAS = PROBES_SCHEMA, SHIFTS_SCHEMA, PREDICTABILITY_SCHEMA, HARM_SCHEMA, ANSWERS_SCHEMA


def tabulate(
    models: Sequence[str],
    perturbations: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    words: str,
    resampling: Mapping[str, Any],
    *,
    consequences: pl.DataFrame,
    similarity: pl.DataFrame,
    **files: Sequence[str],
) -> tuple[pl.DataFrame, ...]:
    """The tables `probes`, `shifts`, `predictability`, `harm` and `consequences` (the answers), in this order.

    Args:
        models: names of the models, in the order of the answers.
        perturbations: names of the perturbed texts.
        controls: by variant and role, the name of its control.
        words: the template of an answer.
        resampling: fields of `Resampling`.
        consequences: the table `consequences`.
        similarity: the table `similarity`.
        **files: files `readings`, `metrics` and `texts` of all jobs.
    """
    drawn = Resampling(**resampling)
    texts = read_tables(files["texts"]).with_columns(without_draw())
    readings = keep_read(with_condition(read_tables(files["readings"]), texts), similarity)
    metrics = with_condition(read_tables(files["metrics"]).filter(variant=ORIGINAL), texts)
    originals = texts.filter(variant=ORIGINAL)
    probes = probes_table(readings, similarity, controls, drawn)
    changed = shifts_of_changed(readings, similarity)
    shifts = shifts_table(changed, similarity, controls, drawn)
    predictability = predictability_table(metrics, originals, drawn)
    harm = harm_table(consequences, perturbations, drawn.confidence)
    answers = answers_table(probes, predictability, shifts, harm, models=models, words=words)
    return probes, shifts, predictability, harm, answers


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
                "placebo": condition.pattern in CONTROLS.get(condition.kind, ()),
                "n_reviews": int(max((~np.isnan(values)).sum() for values in by_outcome.values())),
                "n_sink_moved": moved.filter(*own)["n"].sum(),
                "perturbation": perturbation,
                "reason": NO_HEAD if np.isnan(by_outcome["kl"]).all() else None,
            }
            for name, values in by_outcome.items():
                interval = means(values[:, None]), *mean_interval(values[:, None], confidence)
                row |= ends_of(name, [end.item() for end in interval])
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


def answers_table(
    probes: pl.DataFrame,
    predictability: pl.DataFrame,
    shifts: pl.DataFrame,
    harm: pl.DataFrame,
    *,
    models: Sequence[str],
    words: str,
) -> pl.DataFrame:
    """A row for each of `models`: what its probes find, what is predictable, how texts move, what conditions cost.

    `words` is the template of an answer; the others are the tables of these names.
    """
    rows = []
    for model in models:
        of_model = shifts.filter(pl.col("minus").is_null(), model=model, kind=UNTOUCHED)
        numbers = {
            "probes": _of_probes(
                probes.filter(pl.col("minus").is_null(), model=model, kind=UNTOUCHED, variant=ORIGINAL)
            ),
            **_of_predictability(predictability.filter(model=model)),
            "shifts": list(_of_shifts(of_model)),
            **_of_harm(harm.filter(model=model)),
        }
        rows.append((model, write(words, **numbers)))
    return pl.DataFrame(rows, schema=ANSWERS_SCHEMA, orient="row")


def _of_probes(levels: pl.DataFrame) -> dict[str, Any]:
    """The log-loss of probes at their best layer and at the output with its accuracy, and that of permuted labels."""
    losses = levels.filter(quantity="log_loss").sort("layer")
    if losses.is_empty():
        return {}
    accuracies = levels.filter(quantity="accuracy").select("layer", accuracy="estimate")
    losses = losses.join(accuracies, on="layer", how="left", maintain_order="left")
    best, last = losses.sort("estimate").row(0, named=True), losses.row(-1, named=True)
    permuted = levels.filter(quantity="null_log_loss", layer=last["layer"])["estimate"][0]
    return {"best": best, "last": last, "permuted": permuted}


def _of_predictability(rows: pl.DataFrame) -> dict[str, Any]:
    """How likeness goes with predictable texts at the output, raw and given the confounds; None where not measured."""
    view, metric = _LIKENESS
    of_cell = rows.filter(kind=UNTOUCHED, view=view, metric=metric).sort("layer")
    last = of_cell.filter(layer=of_cell["layer"][-1]) if len(of_cell) else of_cell
    by_given = {row["given"]: row for row in last.iter_rows(named=True)}
    reason = rows["reason"][0] if len(rows) else None
    return {"reason": reason, "raw": by_given.get("nothing"), "given": by_given.get("confounds")}


def _of_shifts(rows: pl.DataFrame) -> Iterator[tuple[str, float, float]]:
    """How far each text moves at the first and at the last layer."""
    for (text,), of_text in rows.group_by("variant", maintain_order=True):
        estimates = of_text.filter(pl.col("estimate").is_finite()).sort("layer")["estimate"]
        if len(estimates):
            yield text, estimates[0], estimates[-1]


def _of_harm(rows: pl.DataFrame) -> dict[str, Any]:
    """The condition that makes tokens most alike, and the placebo that is nearest to it; None where there is none."""
    alike = rows.filter(pl.col("cosine_low") > 0)
    strongest = _first(alike.filter(~pl.col("placebo")).sort("cosine", descending=True))
    placebo = strongest and _first(alike.filter("placebo").sort((pl.col("cosine") - strongest["cosine"]).abs()))
    return {"n_conditions": len(rows), "n_alike": len(alike), "strongest": strongest, "placebo": placebo}


def _first(conditions: pl.DataFrame) -> dict[str, Any] | None:
    return next(({**row, "name": named(row)} for row in conditions.iter_rows(named=True)), None)
