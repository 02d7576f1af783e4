"""What extraction takes: tokens, bytes of states, memory of the weights and jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.models.dtypes import BYTES
from homogenization.plan.architecture import Architecture
from homogenization.states.stream import chosen_layers

#: What extraction will take: a row for each model, and a total. `snakemake plan` makes it; it is not part of a run.
PLAN_SCHEMA = {
    "model": pl.String,  #: or `total`
    "parameters": pl.Int64,  #: parameters of the network without its head; null in the total
    "weights_gib": pl.Float64,  #: GiB of these, as they are run; in the total the largest
    "jobs": pl.Int64,  #: extractions
    "reviews": pl.Int64,  #: over all variants, that will be read
    "reviews_left_out": pl.Int64,  #: reviews that are too long and will not be read
    "tokens": pl.Int64,  #: that will be read
    "bytes_written": pl.Int64,  #: bytes of stores, which stay after the run
    "estimated": pl.Boolean,  #: whether some variants are not written yet and were counted by their originals
}
TOTAL = "total"

# Bytes of a number in a store. bfloat16 is compressed: 0.72 to 0.75 of its two bytes were measured in three models.
_STORED_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 1.5}
_TOKEN_BYTES = 8 + 4 + 8  # id, position, span of characters


def plan_row(
    model: Mapping[str, Any], architecture: Architecture, token_counts: pl.DataFrame, states: Mapping[str, Any]
) -> dict[str, Any]:
    """The row of one model in the table `plan` (`PLAN_SCHEMA`).

    Args:
        model: `name` and `dtype` of the model.
        architecture: the model's network.
        token_counts: token counts of the model's jobs (`homogenization.plan.token_counts.TOKEN_COUNTS_SCHEMA`).
        states: the section `states`: `dtype`, `layers`, `record_attention`, `keep`.

    Raises:
        HomogenizationError: `layers` names a layer that the model lacks.
    """
    lengths = token_counts["lengths"].explode()
    tokens = int(lengths.sum())
    points = len(chosen_layers(states["layers"], architecture.n_blocks, model["name"])) + architecture.final_norm
    number = _STORED_BYTES[model["dtype"] if states["dtype"] == "auto" else states["dtype"]]
    # attention received is a float32 for each token and block
    token = points * architecture.width * number + 4 * architecture.n_blocks * states["record_attention"] + _TOKEN_BYTES
    return {
        "model": model["name"],
        "parameters": architecture.n_parameters,
        "weights_gib": architecture.n_parameters * BYTES[model["dtype"]] / 2**30,
        "jobs": len(token_counts),
        "reviews": len(lengths),
        "reviews_left_out": token_counts["n_left_out"].sum(),
        "tokens": tokens,
        "bytes_written": round(tokens * token) if states["keep"] else 0,
        "estimated": bool((token_counts["counted_as"] != token_counts["variant"]).any()),
    }


def plan_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `plan`: the rows of models and their total."""
    models = pl.DataFrame(rows, schema=PLAN_SCHEMA)
    summed = [name for name in PLAN_SCHEMA if name not in ("model", "parameters", "weights_gib", "estimated")]
    total = models.select(
        pl.lit(TOTAL).alias("model"),
        pl.lit(None).alias("parameters"),
        pl.col("weights_gib").max(),
        pl.col(summed).sum(),
        pl.col("estimated").any(),
    )
    return pl.concat([models, total.select(list(PLAN_SCHEMA)).cast(PLAN_SCHEMA)])


def plan_text(plan: pl.DataFrame) -> str:
    """The table `plan` for readers: aligned, with units."""
    shown = plan.select(
        pl.col("model").alias(""),
        (pl.col("parameters") / 1e6).round(1).alias("million parameters"),
        pl.col("weights_gib").round(2).alias("weights (GiB)"),
        *("jobs", "reviews"),
        pl.col("reviews_left_out").alias("left out"),
        "tokens",
        (pl.col("bytes_written") / 1e9).round(3).alias("written (GB)"),
    )
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=200,
        tbl_formatting="NOTHING",
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        thousands_separator=True,
        tbl_cell_numeric_alignment="RIGHT",
    ):
        text = f"{shown}\n"
    if plan["estimated"].any():
        text += "with variants that are not written yet, counted by their originals\n"
    return text
