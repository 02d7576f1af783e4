"""BERTScore of a shard's variant against the originals."""

from typing import Any

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_against_originals


def main(
    original: str, variant: str, similarity: str, encoder: dict[str, Any], layer: int, device: str, batch_size: int
) -> None:
    """Write precision, recall and F1 of each review."""
    loaded = load_encoder(encoder, layer, device, batch_size)
    scores = score_against_originals(loaded, read_table(original), read_table(variant))
    write_table(scores, similarity, {"encoder": encoder, "layer": layer})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.original,
            snakemake.input.variant,
            snakemake.output.similarity,
            snakemake.params.encoder,
            snakemake.params.layer,
            snakemake.params.device,
            snakemake.params.batch_size,
        )
