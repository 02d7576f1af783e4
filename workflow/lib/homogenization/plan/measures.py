"""What is measured of states on processor cores: operations and time, from the lengths of reviews and architectures.

A job of a measure runs on one core. Products of matrices are counted, and take their time at the rate of a core; what
is no product takes seconds that were measured once (docs/plan.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.views import VIEWS, look_of
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import TOTAL
from homogenization.plan.text import aligned, count, duration, three_digits
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

_DRAWS = 4  # of common tokens
_STARTUP = 3.0  # s: Python, libraries and the store
# times that a decomposition takes longer than products of as many operations
_SLOWER = 3
# seconds for each number of a review's states, its pairs of tokens, and the review at a point
_SPECTRA, _EIGENVALUES, _GEOMETRY, _PAIRS = 3e-9, 2e-8, 3e-9, 1.5e-8
_SPECTRA_CALL, _GEOMETRY_CALL = 1.2e-3, 5e-4
_POOLED, _POOLED_POINT = 6e-8, 0.08
# k-means: steps of all starts together, components in parts of the largest number, seconds of a pair of clouds
_STEPS, _COMPONENTS, _CLOUDS = 125, 4, 0.1
_TOKENS_PER_CLUSTER = 10
# operations in float64 of a GPU that takes MAUVE, in a second; times that factors of matrices take there, of products
_FAST_FLOAT64, _SLOWER_ON_GPU = 2e12, 10
# seconds of the process that runs the model: a review at a point that it hands on, then in a table; a pair of clouds
# (docs/plan.md says how the first and the last were measured)
_HANDED_ON, _TABLED, _PAIR = 1e-3, 2e-4, 6e-3
_NUMBER = 7.6  # bytes of a singular value in a compressed file
_VECTORS = 6  # times the cube of a matrix: its eigenvalues with their vectors


@dataclass(frozen=True)
class Work:
    """What a measure takes.

    Attributes:
        products: operations in products of matrices.
        decompositions: operations in decompositions.
        seconds: seconds of everything else.
        reading: seconds to read states from a store and to convert them.
        numbers: numbers written.
    """

    products: float = 0.0
    decompositions: float = 0.0
    seconds: float = 0.0
    reading: float = 0.0
    numbers: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    def times(self, number: float) -> "Work":
        """The same so many times."""
        return Work(*(part * number for part in astuple(self)))

    def seconds_on_a_core(self, gigaflops: float) -> float:
        """Seconds of one job, with the start of its process, at so many 10⁹ operations in a second."""
        return (
            _STARTUP + self.seconds + self.reading + (self.products + _SLOWER * self.decompositions) / gigaflops / 1e9
        )


def written_bytes(work: Work) -> int:
    """Bytes of the singular values in compressed files."""
    return round(_NUMBER * work.numbers)


def spectra_work(lengths: np.ndarray, width: int, views: Sequence[str]) -> Work:
    """Singular values of reviews at one point.

    Of a review with n tokens, no more than the width d: one product of n² d operations, since it is symmetric, for all
    looks, and 4/3 n³ for the tridiagonal form of each. With more tokens: for each look a product of n d², and 4/3 d³.

    Args:
        lengths: Tokens of each review.
        width: Width of the residual stream.
        views: Names of `homogenization.measures.views.VIEWS`.
    """
    looks = len({look_of(view)[0].name for view in views})
    n = lengths.astype(float)
    small = np.minimum(n, width)
    products = np.where(n <= width, n**2 * width, looks * n * width**2)
    return Work(
        products.sum(),
        looks * (4 / 3 * small**3).sum(),
        (_EIGENVALUES * len(views) * small**2).sum(),
        (_SPECTRA * n * width + _SPECTRA_CALL).sum(),
        len(views) * small.sum(),
    )


def geometry_work(lengths: np.ndarray, width: int) -> Work:
    """Cosines of reviews at one point: a symmetric product of n² d operations each, and passes over the pairs."""
    n = lengths.astype(float)
    reading = (_GEOMETRY * n * width + _GEOMETRY_CALL).sum()
    return Work((n**2 * width).sum(), 0.0, (_PAIRS * n**2).sum(), reading)


def common_length_work(lengths: np.ndarray, width: int, n_tokens: int, views: Sequence[str]) -> Work:
    """Singular values and geometry of draws of `n_tokens` tokens of each review that has so many, at one point."""
    drawn = np.full(_DRAWS * int((lengths >= n_tokens).sum()), n_tokens)
    return spectra_work(drawn, width, views) + geometry_work(drawn, width)


def pooled_work(n_reviews: int, n_tokens: int, width: int) -> Work:
    """Pooled tokens of a job at one point: symmetric products of the width, and eigenvalues of two of them.

    The tokens other than the first of a review make one product, the first ones another: n d² operations each. The
    eigenvalues of a matrix take 4/3 d³. The distribution of cosines takes passes over the pairs of 1,024 tokens, twice.
    """
    paired = np.array([min(1024, n_tokens)] * 2)
    cosines = geometry_work(paired, width)
    reading = _POOLED * n_tokens * width + _POOLED_POINT
    return Work(n_tokens * width**2, 8 / 3 * width**3, 2 * _EIGENVALUES * width**2, reading, 2 * width) + cosines


def mauve_work(n_tokens: int, width: int, most: int) -> Work:
    """MAUVE of two halves of the tokens of a job, once: components, and clusters. float32, which is twice as fast.

    Args:
        n_tokens: Tokens of the job.
        width: Width of the residual stream.
        most: Largest number of tokens in a half.
    """
    half = min(most, n_tokens // 2)
    rows, small = 2 * half, min(2 * half, width)
    components = small / _COMPONENTS
    # squared distances to the centres in each step
    products = rows * width * small + 2 * rows * max(2, round(half / _TOKENS_PER_CLUSTER)) * components * _STEPS
    # with vectors, half of the operations of a decomposition are products
    return Work((products + _VECTORS * small**3) / 2, 0.0, _CLOUDS)


def component_seconds(
    architecture: Architecture, lengths: np.ndarray, on_cpu: bool, hardware: Mapping[str, float]
) -> float:
    """Seconds of what is measured of components between passes: norms, cosines, and the largest eigenvalue of 4 views.

    On a GPU, products alone (`component_operations`). On the CPU, one core, about as long as for all singular values of
    six views.
    """
    points = architecture.n_blocks * architecture.n_points
    if not on_cpu:
        return points * component_operations(lengths, architecture.width) / hardware["gpu_float64_tflops"] / 1e12
    work = spectra_work(lengths, architecture.width, VIEWS).times(points)
    return work.seconds_on_a_core(hardware["core_gflops"]) - _STARTUP


def component_operations(lengths: np.ndarray, width: int) -> int:
    """Operations in float64 at one point on a GPU.

    For each of four views, the products of a review's n tokens, 2 n² d operations (of more tokens than d: 2 n d²), and
    40 squarings of that matrix. Reviews are filled up to the longest among those whose lengths round up to the same
    multiple of 32.
    """
    longest = {step: lengths[-(-lengths // 32) == step].max() for step in np.unique(-(-lengths // 32))}
    filled = np.array([longest[step] for step in -(-lengths // 32)], dtype=object)
    small = np.minimum(filled, width)
    return 4 * int((2 * filled * width * small + 40 * 2 * small**3).sum())


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


def mauve_on_gpu(n_tokens: int, width: int, most: int) -> tuple[Work, Work]:
    """MAUVE of two halves of the tokens of a job, once, in float64: on a GPU, and on a core beside it.

    The GPU finds half as many dimensions in four products with the scatter or the Gram matrix, whichever is smaller,
    makes them orthonormal five times, and clusters. The core decomposes the matrix of these dimensions.
    """
    half = min(most, n_tokens // 2)
    rows, small = 2 * half, min(2 * half, width)
    space, components = small // 2, small / _COMPONENTS
    # 4 products, and those in the space; 5 Gram matrices
    products = 2 * rows * width * small + 5 * 2 * small**2 * space + 6 * 2 * small * space**2
    # distances and centres of a step; all starts go on until the slowest has ended
    clusters = 2 * 2 * rows * max(2, round(half / _TOKENS_PER_CLUSTER)) * components * 2 * _STEPS
    factors = 5 * (space**3 / 3 + small * space**2)
    return Work(products + clusters, factors), Work(_VECTORS * space**3 / 2)


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
        twice: Whether pooled tokens are too many to be held, so that the model reads twice.
        on_cpu: Whether the model runs on the CPU.
        hardware: The section `hardware`.
    """
    passing *= 1 + twice
    gigaflops = hardware["core_gflops"]
    if on_cpu:
        return passing + sum(work.seconds_on_a_core(gigaflops) - _STARTUP for work in works.values())
    workers, operations = max(1, hardware["cores"] - 1), 1e12 * hardware["gpu_float64_tflops"]

    def shared(work: Work) -> float:
        """Seconds of the cores that measure, without reading."""
        return (replace(work, reading=0.0).seconds_on_a_core(gigaflops) - _STARTUP) / workers

    # spectra and geometry share their products
    on_gpu = sum(work.products for measure, work in works.items() if measure in ("spectra", "common_length", "pooled"))
    beside = Work()
    for measure in ("spectra", "geometry", "common_length"):
        beside += replace(works.get(measure, Work()), products=0.0)
    reading = max(passing + 2 * on_gpu / operations, shared(beside), _HANDED_ON * n_measured)
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
