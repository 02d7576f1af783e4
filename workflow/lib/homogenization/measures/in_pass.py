"""Measures of a model's states while it reads, layer by layer and review by review: no store is written.

Each measure gets what it would read from a store, rounded to the store's dtype. Measures of single reviews get every
review once at each point. Those of some tokens find their states held in main memory once the model has read all. On
CUDA, and where tokens are too many to be held, the model reads twice for a measure that has two walks: on a GPU, a
second reading takes less than their products would on a core. A pass that runs out of memory comes again in parts; what
was taken by then counts once.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.device_tokens import tokens_of
from homogenization.measures.reviews import Inline, ReviewMeasure, Reviews, class_of, provenance
from homogenization.measures.workers import Workers
from homogenization.run.parquet import write_tables
from homogenization.states.held import HeldStates
from homogenization.states.model import LanguageModel
from homogenization.states.reading import Reading
from homogenization.states.sample import Sample, sampled

HELD_BYTES = 4_000_000_000  # of the tokens of a measure; more than that, and the model reads twice on the CPU too


def measure_shard(
    model: LanguageModel, inputs: Any, params: Any, files: Mapping[str, Any], workers: Workers | Inline
) -> dict[str, Any]:
    """Write the files of a job, but for its run record, which is returned.

    Args:
        model: language model that reads.
        inputs: files: `variant` and `original`.
        params: parameters of the rule: `model`, the entry; `variant`; `shard`; `storage`, keyword arguments of
            `Reading`; `measures`, the parameters of what is measured of this variant, by name; `sample`, the fields of
            `Sample` after the first.
        files: files to write: `sample`, or nothing; and those of each measure, by its name. A measure that is not
            among `params.measures` has an empty table.
        workers: who measures reviews.

    Raises:
        HomogenizationError: as in `Reading` and in the measures; states that a store refuses.
    """
    states = HeldStates(Reading.of_job(model, inputs, params, **params.storage))
    sample = Sample(files["sample"], *params.sample) if files.get("sample") else None
    record, tables = measure_in_pass(states, params.measures, sample, workers)
    for name, paths in files.items():
        if name not in ("run", "sample"):
            schemas = class_of(name).schemas
            made = tables.get(name, [pl.DataFrame(schema=schema) for schema in schemas])
            write_tables(made, paths, schemas, {**params.measures.get(name, {}), "states": provenance(states)})
    return record


def measure_in_pass(
    states: HeldStates,
    measures: Mapping[str, Mapping[str, Any]],
    sample: Sample | None = None,
    workers: Workers | Inline | None = None,
) -> tuple[dict[str, Any], dict[str, Sequence[pl.DataFrame]]]:
    """Let a model read, and measure its states: what `extract` and then `measured` of each measure would give.

    On the CPU the numbers are those over a store, bit for bit, apart from pooled tokens that are too many to be held.
    On CUDA they are the same up to the rounding of float64.

    Args:
        states: states of the model that is about to read.
        measures: parameters of each measure, by its name in the catalogue.
        sample: the sample of states to write; None for none.
        workers: who measures reviews; None: the caller.

    Returns:
        The run record, and the tables of each measure.

    Raises:
        HomogenizationError: states that a store refuses, a review does not fit into memory; and as the measures do.
    """
    workers = workers or Inline()
    made = {name: class_of(name)(states, **params) for name, params in measures.items()}
    of_reviews = {name: measure for name, measure in made.items() if isinstance(measure, ReviewMeasure)}
    reviews = Reviews(states, of_reviews, tokens_of, workers)
    rows, walks = [np.empty(0, dtype=np.int64)], []
    for measure in (measure for name, measure in made.items() if name not in of_reviews):
        at_hand = states.device.type != "cuda" and len(measure.rows) * states.bytes_of_token <= HELD_BYTES
        if walk := () if at_hand else measure.walks():
            walks.append(walk)
        else:
            rows.append(measure.rows)
    *before, last = zip(*walks, strict=True) if walks else [()]
    for consumers in before:
        states.stream(consumers)
    with sampled(states.contents, sample) if sample else nullcontext() as sampler:
        # a walk comes last, since it can't take a block twice
        consumers = [reviews, *([sampler] if sampler else []), *last]
        states.stream(consumers, np.unique(np.concatenate(rows)))
        if sampler:
            sampler.write_attention(states.attention_received())
    reviews.wait()
    record = states.reading.record()
    return record, {
        name: reviews.tables(name) if name in of_reviews else measure.tables(workers.each)
        for name, measure in made.items()
    }
