"""Apply the threshold of acceptance to the similarity of all rewritten reviews."""

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.tables.similarity import acceptance_table, similarity_table


def main(
    variant_scores: list[str],
    random_pairs: list[str],
    similarity: str,
    acceptance: str,
    jobs: list[list[str]],
    threshold: float,
    n_reviews: int,
) -> None:
    """Write the table of similarity and the acceptance by variant; `jobs` are (variant, shard) of `variant_scores`."""
    variants = [(variant, read_table(path)) for (variant, _), path in zip(jobs, variant_scores, strict=True)]
    table = similarity_table(variants, [read_table(path) for path in random_pairs], threshold, n_reviews)
    accepted = acceptance_table(table, threshold, n_reviews)
    print(accepted)
    write_table(table, similarity, {"threshold": threshold})
    with written_whole(acceptance) as partial:
        accepted.write_csv(partial)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.similarity,
            snakemake.input.random_pairs,
            snakemake.output.similarity,
            snakemake.output.acceptance,
            snakemake.params.jobs,
            snakemake.params.threshold,
            snakemake.params.n_reviews,
        )
