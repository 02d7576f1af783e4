"""Write one variant of a shard's reviews."""

from homogenization.run.files import read_table, write_table
from homogenization.run.job import logged
from homogenization.variants.rules import rewrite_reviews


def main(shard: str, keyphrases: str, variant: str, rewriter: str, position: str | None, seed: int) -> None:
    """Write the rewritten reviews and where their key phrases went."""
    rewritten = rewrite_reviews(read_table(shard), read_table(keyphrases), rewriter, position, seed)
    write_table(rewritten, variant, {"rewriter": rewriter, "position": position, "seed": seed})


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            snakemake.input.shard,  # noqa: F821
            snakemake.input.keyphrases,  # noqa: F821
            snakemake.output.variant,  # noqa: F821
            snakemake.params.rewriter,  # noqa: F821
            snakemake.params.position,  # noqa: F821
            snakemake.params.seed,  # noqa: F821
        )
