"""Draw MAUVE between consecutive layers against depth, with its null."""

import polars as pl

from homogenization.figures.mauve import draw_mauve
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.files import read_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            mauve=snakemake.input.mauve,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
            models=snakemake.params.models,  # noqa: F821
        )
