"""The report's page on consequences: what homogenization costs each model, in words made from the tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from homogenization.names.columns import columns
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.harm import named
from homogenization.tables.intervened import UNTOUCHED

#: A row for each model: the answer under *Consequences* on the first page of the report.
ANSWERS_SCHEMA = {
    **columns("model"),
    "answer": pl.String,  #: what homogenization costs, in words
}
_LIKENESS = ("all_tokens", "cosine_anisotropy")


def answers_table(
    probes: pl.DataFrame,
    predictability: pl.DataFrame,
    shifts: pl.DataFrame,
    harm: pl.DataFrame,
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
