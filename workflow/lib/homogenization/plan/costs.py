"""What extraction takes: tokens, bytes of states, memory of the weights and jobs, without a pass through a model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import torch

from homogenization.models.blocks import blocks_of
from homogenization.models.loading import context_of, load_config, skeleton
from homogenization.models.tokens import load_tokenizer
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_table
from homogenization.states.texts import Texts, tokens_read

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
# Bytes of a number in a store. bfloat16 is compressed: 0.72 to 0.75 of its two bytes were measured in three models.
_STORED_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 1.5}
_TOKEN_BYTES = 8 + 4 + 8  # id, position, span of characters


def plan_row(
    folder: Path,
    entry: Mapping[str, Any],
    states: Mapping[str, Any],
    texts: Sequence[str],
    estimated: bool,
) -> dict[str, Any]:
    """The row of one model in the table `plan` (`PLAN_SCHEMA`), by its configuration and tokenizer.

    `entry` is that of the model, `states` the section; `texts` are the files of variants, with those of the original,
    one for each job. They are `estimated` where that of the original stands for one that is not written yet.
    """
    config, tokenizer = load_config(folder), load_tokenizer(folder, entry["bos"])
    reader = SimpleNamespace(tokenizer=tokenizer, max_tokens=context_of(config, tokenizer), bos=entry["bos"])
    reviews = {path: dict(read_table(path).select("review_id", "text").iter_rows()) for path in set(texts)}
    row = {"model": entry["name"], "jobs": len(texts), "reviews": 0, "reviews_left_out": 0, "tokens": 0}
    for path in texts:
        of_job, originals = reviews[path], reviews[str(Path(path).parents[1] / ORIGINAL / Path(path).name)]
        read, tokens = tokens_read(reader, Texts([*of_job], [*of_job.values()], [originals[name] for name in of_job]))
        row["reviews"] += len(read)
        row["reviews_left_out"] += len(of_job) - len(read)
        row["tokens"] += len(tokens.token_ids)
    network = skeleton(config)
    n_blocks = len(blocks_of(network))
    points = len(states["layers"] or range(n_blocks + 1)) + _ends_with_norm(network)
    number = _STORED_BYTES[entry["dtype"] if states["dtype"] == "auto" else states["dtype"]]
    # of each token and block, attention received is a float32, and what uniform attention would give a float64
    token = points * config.get_text_config().hidden_size * number + 12 * n_blocks
    parameters = sum(parameter.numel() for parameter in network.parameters())
    return row | {
        "parameters": parameters,
        "weights_gib": parameters * getattr(torch, entry["dtype"]).itemsize / 2**30,
        "bytes_written": round(row["tokens"] * (token + _TOKEN_BYTES)) if states["keep"] else 0,
        "estimated": estimated,
    }


def _ends_with_norm(network: Any) -> bool:
    """Whether a norm is registered after the blocks: architectures list their modules in the order of their use."""
    modules = list(network.modules())
    last = modules.index(list(blocks_of(network).modules())[-1])
    return any("norm" in type(module).__name__.lower() for module in modules[last + 1 :])


def plan_table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The table `plan`: the rows of models and their total."""
    models = pl.DataFrame(rows, schema=PLAN_SCHEMA)
    summed = pl.col("jobs", "reviews", "reviews_left_out", "tokens", "bytes_written").sum()
    total = models.select(
        pl.lit("total").alias("model"), summed, pl.col("weights_gib").max(), pl.col("estimated").any()
    )
    return pl.concat([models, total], how="diagonal")


def plan_text(plan: pl.DataFrame) -> str:
    """The table `plan` for readers: aligned."""
    look = {"tbl_formatting": "NOTHING", "tbl_hide_column_data_types": True, "tbl_hide_dataframe_shape": True}
    with pl.Config(**look, tbl_rows=-1, tbl_cols=-1, tbl_width_chars=250, thousands_separator=True, float_precision=2):
        return f"{plan}\n"
