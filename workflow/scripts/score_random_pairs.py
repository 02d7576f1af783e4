"""BERTScore of a shard's reviews against unrelated ones: the baseline."""

from typing import Any

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.similarity import load_encoder, score_random_pairs


def main(
    original: str, similarity: str, encoder: dict[str, Any], layer: int, device: str, batch_size: int, seed: int
) -> None:
    """Write precision, recall and F1 of each review and its random partner."""
    loaded = load_encoder(encoder, layer, device, batch_size)
    scores = score_random_pairs(loaded, read_table(original), seed)
    write_table(scores, similarity, {"encoder": encoder, "layer": layer, "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.original,
            snakemake.output.similarity,
            snakemake.params.encoder,
            snakemake.params.layer,
            snakemake.params.device,
            snakemake.params.batch_size,
            snakemake.params.seed,
        )
