"""Draw where the key phrases stand in their sentences, before and after."""

import polars as pl

from homogenization.figures.placement import draw_placement
from homogenization.figures.style import Named, require_rows, save_figure
from homogenization.run.files import read_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            placement=snakemake.input.placement,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
        )
