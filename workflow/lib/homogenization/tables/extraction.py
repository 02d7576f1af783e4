"""What each extraction read, and with what: the run records that it writes beside its stores."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from homogenization.names.columns import columns
from homogenization.run.files import read_json
from homogenization.run.log import announce

EXTRACTION_SCHEMA = {
    **columns("model", "variant", "shard"),
    "n_reviews": pl.Int64,  #: that were read
    "n_tokens": pl.Int64,  #: that were read
    "n_left_out": pl.Int64,  #: reviews that were not read, since they or their originals are longer than `max_tokens`
    "max_tokens": pl.Int64,  #: most tokens of a review
    "seconds_total": pl.Float64,  #: s, from tokenisation to the finished store
    "device": pl.String,  #: that the model ran on
    "dtype": pl.String,  #: of the forward pass
    "weights": pl.String,  #: where they come from
}


def records(runs: Sequence[str | Path]) -> pl.DataFrame:
    """A row (`EXTRACTION_SCHEMA`) for each run record, in their order; a field that one lacks is null.

    Texts that were too long for a model are announced.
    """
    rows = [{name: record.get(name) for name in EXTRACTION_SCHEMA} for record in map(read_json, runs)]
    extraction = pl.DataFrame(rows, schema=EXTRACTION_SCHEMA)
    for (model,), of_model in extraction.group_by("model", maintain_order=True):
        if n_left_out := of_model["n_left_out"].sum():
            n_texts, most = of_model["n_reviews"].sum() + n_left_out, of_model["max_tokens"][0]
            announce(
                f"models.{model}: of {n_texts} texts of all variants, {n_left_out} are left out, since they or their "
                f"originals have more than {most} tokens"
            )
    return extraction
