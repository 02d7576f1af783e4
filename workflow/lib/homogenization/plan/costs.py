"""The costs of a study: bytes, memory of GPUs and operations, from token counts and architectures.

All formulas are for extraction, which takes nearly all of a study's GPU time and disk. `architecture` is the model's
network, `dtype` the type of its weights as they are run.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.states.attention import QUERY_CHUNK
from homogenization.states.stream import chosen_layers

#: What extraction will take: a row for each model, and a total. `snakemake plan` makes it ([plan](plan.md)); it is not
#: part of a run. `plan.txt` is the same for readers, with the next table.
PLAN_SCHEMA = {
    "model": pl.String,  #: or `total`
    "parameters": pl.Int64,  #: parameters of the network without its head; null in the total
    "jobs": pl.Int64,  #: extractions
    "gpus_per_job": pl.Int64,  #: 0 on the CPU; in the total the largest
    "reviews": pl.Int64,  #: over all variants, that will be read
    "reviews_cut": pl.Int64,  #: reviews that are too long and will be cut
    "reviews_left_out": pl.Int64,  #: reviews that are too long and will not be read
    "tokens": pl.Int64,  #: that will be read
    "tokens_cut_off": pl.Int64,  #: tokens behind the cuts
    "bytes_written": pl.Int64,  #: bytes of stores and samples, which stay after the run
    "gpu_memory_gib": pl.Float64,  #: GiB of one job; null on the CPU; in the total the largest
    "petaflops": pl.Float64,  #: 10¹⁵ floating-point operations of matrix products
    "estimated": pl.Boolean,  #: whether some variants are not written yet and were counted by their originals
}
TOTAL = "total"

# Bytes of a number in a store. bfloat16 is compressed: 0.72 to 0.75 of its two bytes were measured in three models.
_STORED_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 1.5}
_TOKEN_BYTES = 8 + 4 + 8  # id, position, span of characters
_REVIEW_BYTES = 8 + 8  # offset, tokens before truncation
_CUDA_BYTES = 0.6 * 2**30  # the CUDA context and the kernels of torch
_FLOAT64_BYTES = 8


class Stored(NamedTuple):
    """What is stored: the type of the states, layers of the residual stream, and whether attention received is too."""

    dtype: str
    n_layers: int
    attention: bool


def matrix_operations(architecture: Architecture, lengths: np.ndarray, record_attention: bool) -> int:
    """Floating-point operations of the matrix products of forward passes over reviews of these lengths, int64.

    Each token takes a multiplication and an addition for each matrix entry that it meets. Each pair of a query and a
    key that a block computes takes both twice: for the score, and for the weighted value. Causal attention
    computes about half of the pairs: torch's kernels stop at the query itself, and where attention is recorded, a chunk
    of 128 queries stops at its own end. Recording adds no product: it sums weights that are there. Norms, activations
    and the softmax are left out.
    """
    pairs = int(computed_pairs(lengths, architecture.causal, record_attention).sum())
    attention = 4 * architecture.heads * architecture.head_width * architecture.n_blocks * pairs
    return 2 * architecture.n_multiplied * int(lengths.sum()) + attention


def computed_pairs(lengths: np.ndarray, causal: bool, record_attention: bool) -> np.ndarray:
    """Pairs of a query and a key that a block computes in each review."""
    if not causal:
        return lengths**2
    if not record_attention:
        return lengths * (lengths + 1) // 2
    chunks, rest = np.divmod(lengths, QUERY_CHUNK)
    return QUERY_CHUNK**2 * chunks * (chunks + 1) // 2 + rest * lengths


def store_bytes(architecture: Architecture, stored: Stored, n_tokens: int, n_reviews: int) -> int:
    """Size of the stores of so many tokens and reviews; attention received is a float32 for each token and block."""
    states = (stored.n_layers + architecture.final_norm) * architecture.width * _STORED_BYTES[stored.dtype]
    attention = 4 * architecture.n_blocks if stored.attention else 0
    return round(n_tokens * (states + attention + _TOKEN_BYTES) + n_reviews * _REVIEW_BYTES)


def gpu_bytes(architecture: Architecture, dtype: str, stored: Stored, pass_tokens: int, longest: int) -> int:
    """Memory that a forward pass takes on all GPUs of a job together.

    The sum of: the weights; five tensors of the widest inner width and four of the residual stream's, which a
    feed-forward network, its activation and the norms hold at once; the states to store, as if none had reached main
    memory yet; where attention is recorded, the scores of a chunk of queries, twice in the model's type and once in
    float32; and the memory of CUDA itself.

    Args:
        architecture: The model's network.
        dtype: Type of the weights as they are run.
        stored: What is stored of the states.
        pass_tokens: Tokens of the largest pass.
        longest: Tokens of the longest review.
    """
    size = BYTES[dtype]
    weights = architecture.n_parameters * size
    activations = pass_tokens * size * (5 * architecture.widest + 4 * architecture.width)
    points = stored.n_layers + architecture.final_norm
    states = pass_tokens * architecture.width * points * BYTES[stored.dtype]
    scores = architecture.heads * QUERY_CHUNK * longest * (2 * size + 4) if stored.attention else 0
    return round(weights + activations + states + scores + _CUDA_BYTES)


def plan_row(
    model: Mapping[str, Any], architecture: Architecture, token_counts: pl.DataFrame, states: Mapping[str, Any]
) -> dict[str, Any]:
    """The row of one model in the table `plan` (`PLAN_SCHEMA`).

    Args:
        model: `name`, `dtype` and `device` of the model, and `gpus` of its jobs, 0 on the CPU.
        architecture: The model's network.
        token_counts: Token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: The section `states`: `dtype`, `layers`, `record_attention`, `keep`.

    Raises:
        HomogenizationError: `layers` names a layer that the model lacks.
    """
    lengths = token_counts["lengths"].explode().to_numpy()
    tokens, reviews, longest = int(lengths.sum()), len(lengths), int(lengths.max())
    layers = len(chosen_layers(states["layers"], architecture.n_blocks, model["name"]))
    dtype = model["dtype"] if states["dtype"] == "auto" else states["dtype"]
    stored = Stored(dtype, layers, states["record_attention"])
    written = store_bytes(architecture, stored, tokens, reviews) if states["keep"] else 0
    memory = gpu_bytes(architecture, model["dtype"], stored, longest, longest)
    return {
        "model": model["name"],
        "parameters": architecture.n_parameters,
        "jobs": len(token_counts),
        "gpus_per_job": model["gpus"],
        "reviews": reviews,
        "reviews_cut": token_counts["n_cut"].sum(),
        "reviews_left_out": token_counts["n_left_out"].sum(),
        "tokens": tokens,
        "tokens_cut_off": int(token_counts["lengths_before_truncation"].explode().sum()) - tokens,
        "bytes_written": written,
        "gpu_memory_gib": None if model["device"] == "cpu" else memory / 2**30,
        "petaflops": matrix_operations(architecture, lengths, stored.attention) / 1e15,
        "estimated": bool((token_counts["counted_as"] != token_counts["variant"]).any()),
    }


def plan_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `plan`: the rows of models and their total, whose GPUs and memory are of the job that needs most."""
    models = pl.DataFrame(rows, schema=PLAN_SCHEMA)
    not_summed = ("model", "parameters", "gpus_per_job", "gpu_memory_gib", "estimated")
    summed = [name for name in PLAN_SCHEMA if name not in not_summed]
    total = models.select(
        pl.lit(TOTAL).alias("model"),
        pl.lit(None).alias("parameters"),
        pl.col("gpus_per_job", "gpu_memory_gib").max(),
        pl.col(summed).sum(),
        pl.col("estimated").any(),
    )
    return pl.concat([models, total.select(list(PLAN_SCHEMA)).cast(PLAN_SCHEMA)])


def plan_text(plan: pl.DataFrame) -> str:
    """The table `plan` for readers: aligned, with units."""
    columns = {
        "": lambda row: row["model"],
        "parameters": lambda row: "" if row["parameters"] is None else f"{three_digits(row['parameters'] / 1e6)} M",
        "jobs": count("jobs"),
        "reviews": count("reviews"),
        "cut": count("reviews_cut"),
        "left out": count("reviews_left_out"),
        "tokens": lambda row: f"{row['tokens']:,}{' *' if row['estimated'] else ''}",
        "cut off": count("tokens_cut_off"),
        "written": lambda row: f"{three_digits(row['bytes_written'] / 1e9)} GB",
        "GPU memory": lambda row: "-" if row["gpu_memory_gib"] is None else f"{row['gpu_memory_gib']:.1f} GiB",
        "PFLOP": lambda row: three_digits(row["petaflops"]),
    }
    notes = []
    if plan["estimated"].any():
        notes.append("* with variants that are not written yet, counted by their originals\n")
    if plan.select(pl.any_horizontal(pl.col("reviews_cut", "reviews_left_out") > 0).any()).item():
        notes.append("cut, left out: reviews longer than the model's max_tokens, as its long_texts says\n")
    return aligned(plan.iter_rows(named=True), columns) + "".join(notes)


def aligned(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Callable[[Mapping[str, Any]], str]]) -> str:
    """Rows as text below the names of `columns`, which give the cells: the first to the left, others to the right."""
    lines = [list(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        + "\n"
        for name, *cells in lines
    )


def count(column: str) -> Callable[[Mapping[str, Any]], str]:
    """The cell of a whole number: 7,505."""
    return lambda row: f"{row[column]:,}"


def three_digits(number: float) -> str:
    """At least three digits, no fraction beyond them: 0.0227, 16.3, 7,505."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
