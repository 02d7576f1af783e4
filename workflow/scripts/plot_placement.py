"""Draw where the key phrases stand in their sentences, before and after."""

import polars as pl

from homogenization.figures.placement import draw_placement
from homogenization.figures.style import Named, require_rows, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    placement: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
) -> None:
    """Draw tables/placement.parquet; refuse if it holds no key phrases of these variants."""
    table = read_table(placement)
    names = [name for name, _ in variants]
    rows = table.filter(pl.col("variant").is_in(names))
    require_rows(rows, placement, f"variants {', '.join(names)}", table["variant"].unique().to_list())
    save_figure(draw_placement(rows, title, variants), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            placement=snakemake.input.placement,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
        )
