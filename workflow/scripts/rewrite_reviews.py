"""Write one variant of a shard's reviews."""

from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.rules import rewrite_reviews


def main(shard: str, keyphrases: str, variant: str, rewriter: str, position: str | None, seed: int) -> None:
    """Write the rewritten reviews and where their key phrases went."""
    rewritten = rewrite_reviews(read_table(shard), read_table(keyphrases), rewriter, position, seed)
    write_table(rewritten, variant, {"rewriter": rewriter, "position": position, "seed": seed})


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.shard,
            snakemake.input.keyphrases,
            snakemake.output.variant,
            snakemake.params.rewriter,
            snakemake.params.position,
            snakemake.params.seed,
        )
