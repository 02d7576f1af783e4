"""Draw MAUVE between consecutive layers against depth, with its null."""

import polars as pl

from homogenization.figures.mauve import draw_mauve
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    mauve: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw tables/mauve.parquet; refuse if it holds no MAUVE between consecutive layers."""
    table = read_table(mauve)
    rows = rows_of(table, variants, models)
    consecutive = rows.filter(pl.col("kind") == "consecutive")
    require_rows(consecutive, mauve, "MAUVE between consecutive layers", table["model"].unique().to_list())
    save_figure(draw_mauve(rows, title, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            mauve=snakemake.input.mauve,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
