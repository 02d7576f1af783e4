"""Time, memory and tokens of the forward passes, from the run records that extraction writes beside its stores."""

from collections.abc import Sequence

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.files import read_json
from homogenization.run.log import announce

#: A row for each extraction, from its run record.
EXTRACTION_SCHEMA = {
    **columns("model", "variant", "shard"),
    "n_reviews": pl.Int64,  #: that were read
    "n_tokens": pl.Int64,  #: that were read
    "n_left_out": pl.Int64,  #: reviews that were not read, since they or their originals are longer than `max_tokens`
    "max_tokens": pl.Int64,  #: most tokens of a review
    "seconds_loading": pl.Float64,  #: s, checking the files of weights and loading the model
    "seconds_total": pl.Float64,  #: s, after that: from tokenisation to the finished store
    "seconds_forward": pl.Float64,  #: s, forward passes and received attention
    "seconds_write": pl.Float64,  #: s, writing the store
    "tokens_per_second": pl.Float64,  #: 1/s, over the total
    "peak_memory_mb": pl.Float64,  #: MiB, largest resident memory of the process
    "peak_device_memory_mb": pl.Float64,  #: MiB, allocated on the GPU; null without one
    "device": pl.String,  #: that the model ran on
    "dtype": pl.String,  #: of the forward pass
    "weights": pl.String,  #: where they come from
}
SCHEMAS = {"extraction": EXTRACTION_SCHEMA}


def tabulate(runs: Sequence[str]) -> pl.DataFrame:
    """A row for each extraction, in the order of its run records; a field that one lacks is null."""
    records = [read_json(path) for path in runs]
    rows = [{name: record.get(name) for name in EXTRACTION_SCHEMA} for record in records]
    extraction = pl.DataFrame(rows, schema=EXTRACTION_SCHEMA)
    for (model,), of_model in extraction.group_by("model", maintain_order=True):
        n_left_out = of_model["n_left_out"].sum()
        if n_left_out:
            n_texts, most = of_model["n_reviews"].sum() + n_left_out, of_model["max_tokens"][0]
            announce(
                f"models.{model}: of {n_texts} texts of all variants, {n_left_out} are left out, since they or their "
                f"originals have more than {most} tokens"
            )
    return extraction
