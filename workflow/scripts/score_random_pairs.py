"""BERTScore of a shard's reviews against unrelated ones: the baseline."""

from typing import Any

from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged
from homogenization.variants.similarity import load_encoder, score_random_pairs


def main(
    original: str, similarity: str, encoder: dict[str, Any], layer: int, device: str, batch_size: int, seed: int
) -> None:
    """Write precision, recall and F1 of each review and its random partner."""
    loaded = load_encoder(encoder, layer, device, batch_size)
    scores = score_random_pairs(loaded, read_table(original), seed)
    write_table(scores, similarity, {"encoder": encoder, "layer": layer, "seed": seed})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.original,  # noqa: F821
            snakemake.output.similarity,  # noqa: F821
            snakemake.params.encoder,  # noqa: F821
            snakemake.params.layer,  # noqa: F821
            snakemake.params.device,  # noqa: F821
            snakemake.params.batch_size,  # noqa: F821
            snakemake.params.seed,  # noqa: F821
        )
