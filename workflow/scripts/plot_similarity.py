"""Draw the similarity of the variants to the originals."""

import polars as pl

from homogenization.figures.similarity import RANDOM_PAIRS, draw_similarity
from homogenization.figures.style import Named, require_rows, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    similarity: str,
    svg: str,
    png: str,
    title: str,
    threshold: float,
    variants: Named,
) -> None:
    """Draw tables/similarity.parquet; refuse if it holds neither these variants nor random pairs."""
    table = read_table(similarity)
    names = [name for name, _ in variants]
    scored = table.filter(pl.col("variant").is_in([*names, RANDOM_PAIRS]), pl.col("f1").is_finite())
    require_rows(scored, similarity, f"variants {', '.join(names)}", table["variant"].unique().to_list())
    save_figure(draw_similarity(table, title, threshold, variants), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            similarity=snakemake.input.similarity,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            threshold=snakemake.params.threshold,
            variants=snakemake.params.variants,
        )
