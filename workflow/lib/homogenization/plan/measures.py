"""What is measured of the states of a study: operations, and time on processor cores or beside a GPU.

A job of a measure over a store runs on one core (`plan.works` says what it takes).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import TOTAL
from homogenization.plan.text import aligned, count, duration, three_digits
from homogenization.plan.works import (
    HANDED_ON,
    STARTUP,
    Work,
    common_length_work,
    geometry_work,
    mauve_work,
    pooled_work,
    spectra_work,
    written_bytes,
)
from homogenization.states.extraction import chosen_layers

#: What the measures of states will take on processor cores: a row for each model and measure, and a total.
MEASURES_SCHEMA = {
    "measure": pl.String,  #: `spectra`, `geometry`, `common_length`, `pooled`, `mauve` or `total`
    "model": pl.String,  #: null in the total
    "jobs": pl.Int64,  #: each on one core
    "petaflops": pl.Float64,  #: 10¹⁵ operations of products and decompositions of matrices
    "core_hours": pl.Float64,  #: h, over all jobs
    "longest_seconds": pl.Float64,  #: s, of the job that takes longest
    "bytes_written": pl.Int64,  #: bytes of singular values; other files of measures are small
}

# operations in float64 of a GPU that takes MAUVE, in a second; times that factors of matrices take there, of products
_FAST_FLOAT64, _SLOWER_ON_GPU = 2e12, 10
# seconds of the process that runs the model: a review at a point in a table; a pair of clouds (docs/plan.md says how it
# was measured)
_TABLED, _PAIR = 2e-4, 6e-3


def measures_of_model(
    model: Mapping[str, Any],
    architecture: Architecture,
    token_counts: pl.DataFrame,
    states: Mapping[str, Any],
    measured: Mapping[str, Any],
    hardware: Mapping[str, float],
) -> list[dict[str, Any]]:
    """The rows of a model in the table `measures` (`MEASURES_SCHEMA`).

    Profiles of attention, sinks and samples are left out: they read few numbers.

    Args:
        model: `name` of the model.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`: `layers`.
        measured: `views`; `common_tokens`, or None; `pooled`, the variants whose tokens are pooled; `mauve`:
            `variants`, `n_tokens` and `seeds`.
        hardware: The section `hardware`.

    Raises:
        HomogenizationError: `layers` names a layer that the model lacks.
    """
    jobs: dict[str, list[Work]] = {}
    for variant, of_job in token_counts.select("variant", "lengths").iter_rows():
        works = works_of_job(model["name"], architecture, variant, np.array(of_job), states, measured)
        for measure, work in works.items():
            jobs.setdefault(measure, []).append(work)
    return [_row(measure, model["name"], works, hardware) for measure, works in jobs.items()]


def works_of_job(
    model: str,
    architecture: Architecture,
    variant: str,
    lengths: np.ndarray,
    states: Mapping[str, Any],
    measured: Mapping[str, Any],
) -> dict[str, Work]:
    """By measure, what it takes of the states of one variant and shard; arguments as in `measures_of_model`."""
    layers = chosen_layers(states["layers"], architecture.n_blocks, model)
    width, points = architecture.width, len(layers) + architecture.final_norm
    of_mauve, n_tokens = measured["mauve"], int(lengths.sum())
    works = {
        "spectra": spectra_work(lengths, width, measured["views"]).times(points),
        "geometry": geometry_work(lengths, width).times(points),
    }
    if measured["common_tokens"]:
        common = common_length_work(lengths, width, measured["common_tokens"], measured["views"])
        works["common_length"] = common.times(points)
    if variant in measured["pooled"]:
        works["pooled"] = pooled_work(len(lengths), n_tokens, width).times(points)
    if variant in of_mauve["variants"]:
        works["mauve"] = mauve_work(n_tokens, width, of_mauve["n_tokens"]).times(pairs_of_clouds(layers, of_mauve))
    return works


def pairs_of_clouds(layers: Sequence[int], of_mauve: Mapping[str, Any]) -> int:
    """How many pairs of clouds MAUVE compares: each layer with itself and with the next one, for each seed."""
    return (len(layers) + sum(layer + 1 in layers for layer in layers)) * of_mauve["seeds"]


def seconds_in_pass(
    works: Mapping[str, Work],
    n_measured: int,
    n_points: int,
    mauve: tuple[Work, Work, int],
    passing: float,
    twice: bool,
    on_cpu: bool,
    hardware: Mapping[str, float],
) -> float:
    """Seconds of a job that measures states while its model reads (`states.keep: false`), without start and loading.

    On the CPU, one core does everything. A GPU computes the products of reviews and of pooled tokens, with twice as
    many operations since their symmetry is not used. All cores but one, which hands the reviews on, decompose them
    meanwhile. Once all is read, tables are made, and the GPU computes MAUVE where it is fast in float64. Beside it,
    a part of the cores decompose matrices for it, and the others those of pooled tokens, two of each point, whole.
    Elsewhere the cores share MAUVE out too.

    Args:
        works: What the measures take (`works_of_job`).
        n_measured: Reviews, times the points.
        n_points: The points.
        mauve: What MAUVE takes of a pair of clouds on a GPU and beside it (`mauve_on_gpu`), and how many there are.
        passing: Seconds of the forward passes over the reviews.
        twice: Whether the model reads twice for pooled tokens.
        on_cpu: Whether the model runs on the CPU.
        hardware: The section `hardware`.
    """
    passing *= 1 + twice
    gigaflops = hardware["core_gflops"]
    if on_cpu:
        return passing + sum(work.seconds_on_a_core(gigaflops) - STARTUP for work in works.values())
    workers, operations = max(1, hardware["cores"] - 1), 1e12 * hardware["gpu_float64_tflops"]

    def shared(work: Work) -> float:
        """Seconds of the cores that measure, without reading."""
        return (replace(work, reading=0.0).seconds_on_a_core(gigaflops) - STARTUP) / workers

    # spectra and geometry share their products
    on_gpu = sum(work.products for measure, work in works.items() if measure in ("spectra", "common_length", "pooled"))
    beside = Work()
    for measure in ("spectra", "geometry", "common_length"):
        beside += replace(works.get(measure, Work()), products=0.0)
    reading = max(passing + 2 * on_gpu / operations, shared(beside), HANDED_ON * n_measured)
    clouds, at_the_end = 2 * n_points, 0.0
    if "pooled" in works:
        of_pooled = shared(replace(works["pooled"], products=0.0, seconds=0.0))
        at_the_end = of_pooled * math.ceil(clouds / workers) * workers / clouds
    pair, beside_it, n_pairs = mauve
    if operations >= _FAST_FLOAT64:
        seconds_of_pair = (pair.products + _SLOWER_ON_GPU * pair.decompositions) / operations + _PAIR
        left = max(1, workers // 4) if "pooled" in works else workers
        of_mauve = n_pairs * max(seconds_of_pair, shared(beside_it) * workers / left)  # of the next pairs meanwhile
        at_the_end = max(of_mauve, at_the_end + n_pairs * shared(beside_it))
    else:
        at_the_end += shared(works.get("mauve", Work()))
    return reading + at_the_end + _TABLED * n_measured


def _row(measure: str, model: str, works: Sequence[Work], hardware: Mapping[str, float]) -> dict[str, Any]:
    seconds = [work.seconds_on_a_core(hardware["core_gflops"]) for work in works]
    return {
        "measure": measure,
        "model": model,
        "jobs": len(works),
        "petaflops": sum(work.products + work.decompositions for work in works) / 1e15,
        "core_hours": sum(seconds) / 3600,
        "longest_seconds": max(seconds),
        "bytes_written": sum(map(written_bytes, works)),
    }


def measures_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `measures`: `rows` and their total."""
    works = pl.DataFrame(rows, schema=MEASURES_SCHEMA)
    total = works.select(
        pl.lit(TOTAL).alias("measure"),
        pl.lit(None).alias("model"),
        pl.col("jobs", "petaflops", "core_hours", "bytes_written").sum(),
        pl.col("longest_seconds").max(),
    )
    return pl.concat([works, total.select(list(MEASURES_SCHEMA)).cast(MEASURES_SCHEMA)])


def measures_text(measures: pl.DataFrame, hardware: Mapping[str, float]) -> str:
    """The table `measures` for readers."""
    columns = {
        "": lambda row: f"{row['measure']}, {row['model']}" if row["model"] else row["measure"],
        "jobs": count("jobs"),
        "PFLOP": lambda row: three_digits(row["petaflops"]),
        "on a core": lambda row: duration(3600 * row["core_hours"]),
        "written": lambda row: f"{three_digits(row['bytes_written'] / 1e9)} GB",
        "longest job": lambda row: duration(row["longest_seconds"]),
    }
    rate = f"at {hardware['core_gflops']:g} GFLOP/s on a core in float64\n"
    return aligned(measures.iter_rows(named=True), columns) + rate
