"""The tables `probes`, `shifts`, `predictability`, `harm` and the answers on consequences."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.consequences.schemas import HARM_SCHEMA
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_table, read_tables
from homogenization.statistics.consequence_answers import ANSWERS_SCHEMA, answers_table
from homogenization.statistics.harm import harm_table
from homogenization.statistics.pooled_states import (
    PROBES_SCHEMA,
    SHIFTS_SCHEMA,
    probes_table,
    shifts_table,
    with_condition,
)
from homogenization.statistics.predictability import PREDICTABILITY_SCHEMA, predictability_table
from homogenization.statistics.resampling import Resampling
from homogenization.tables.consequences import keep_read, shifts_of_changed

SCHEMAS = PROBES_SCHEMA, SHIFTS_SCHEMA, PREDICTABILITY_SCHEMA, HARM_SCHEMA, ANSWERS_SCHEMA


def tabulate(
    inputs: Any,
    models: Sequence[str],
    perturbations: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    words: str,
    resampling: Mapping[str, Any],
) -> tuple[pl.DataFrame, ...]:
    """The tables `probes`, `shifts`, `predictability`, `harm` and `consequences` (the answers), in this order.

    Args:
        inputs: files of the tables `consequences` and `similarity`, and of all jobs `readings`, `metrics` and `texts`.
        models: names of the models, in the order of the answers.
        perturbations: names of the perturbed texts.
        controls: by variant and role, the name of its control.
        words: the template of an answer.
        resampling: fields of `Resampling`.
    """
    drawn = Resampling(**resampling)
    texts = read_tables(list(inputs.texts))
    similarity = read_table(inputs.similarity)
    readings = keep_read(with_condition(read_tables(list(inputs.readings)), texts), similarity)
    metrics = with_condition(read_tables(list(inputs.metrics)).filter(variant=ORIGINAL), texts)
    originals = texts.filter(variant=ORIGINAL)
    originals = originals.with_columns(pl.col("pattern").str.replace(r"^random_\d+$", "random"))
    probes = probes_table(readings, similarity, controls, drawn)
    changed = shifts_of_changed(readings, similarity)
    shifts = shifts_table(changed, similarity, controls, drawn)
    predictability = predictability_table(metrics, originals, drawn)
    harm = harm_table(read_table(inputs.consequences), perturbations, drawn.confidence)
    answers = answers_table(probes, predictability, shifts, harm, models, words)
    return probes, shifts, predictability, harm, answers
