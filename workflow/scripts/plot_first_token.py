"""Draw the first token's norm, its shares and the others' cosine to it, against depth."""

import polars as pl

from homogenization.figures.first_token import METRICS, draw_first_token
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    summary: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw the metrics of the first token in tables/summary.parquet; refuse if none is there."""
    table = read_table(summary)
    rows = rows_of(table, variants, models).filter(pl.col("metric").is_in(METRICS))
    require_rows(rows, summary, f"metrics {', '.join(METRICS)}", table["metric"].unique().to_list())
    save_figure(draw_first_token(rows, title, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            summary=snakemake.input.summary,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
