"""BERTScore of a shard's variant against the originals."""

from typing import Any

from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged
from homogenization.variants.similarity import load_encoder, score_against_originals


def main(
    original: str, variant: str, similarity: str, encoder: dict[str, Any], layer: int, device: str, batch_size: int
) -> None:
    """Write precision, recall and F1 of each review."""
    loaded = load_encoder(encoder, layer, device, batch_size)
    scores = score_against_originals(loaded, read_table(original), read_table(variant))
    write_table(scores, similarity, {"encoder": encoder, "layer": layer})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.original,  # noqa: F821
            snakemake.input.variant,  # noqa: F821
            snakemake.output.similarity,  # noqa: F821
            snakemake.params.encoder,  # noqa: F821
            snakemake.params.layer,  # noqa: F821
            snakemake.params.device,  # noqa: F821
            snakemake.params.batch_size,  # noqa: F821
        )
