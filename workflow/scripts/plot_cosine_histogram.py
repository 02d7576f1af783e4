"""Draw the histograms of the cosines between tokens, by layer."""

import polars as pl

from homogenization.figures.cosine_histogram import TOKENS, draw_cosine_histogram
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    cosines: str,
    summary: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw tables/cosines.parquet; tables/summary.parquet tells the number of reviews."""
    table = read_table(cosines)
    rows = rows_of(table, variants, models).filter(pl.col("tokens") == TOKENS)
    require_rows(rows, cosines, "cosines between tokens", table["model"].unique().to_list())
    n_reviews = rows_of(read_table(summary), variants, models)["n_reviews"]
    save_figure(draw_cosine_histogram(rows, n_reviews, title, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            cosines=snakemake.input.cosines,
            summary=snakemake.input.summary,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
