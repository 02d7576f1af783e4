"""Draw maximum explainable variance against the first token's share of the energy."""

import polars as pl

from homogenization.figures.first_token_scatter import SHARE, VARIANCE, draw_first_token_scatter, paired_values
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    metrics: str,
    first_token: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw the first of `variants` in tables/metrics.parquet; refuse if it lacks one of the two metrics."""
    table = read_table(metrics)
    name, label = next((pair for pair in variants if (table["variant"] == pair[0]).any()), variants[0])
    rows = rows_of(table, [(name, label)], models)
    wanted = f"{VARIANCE} (view raw or raw_without_first) and {SHARE} in variant '{name}'"
    require_rows(paired_values(rows), metrics, wanted, rows["metric"].unique().to_list())
    correlations = read_table(first_token).filter(pl.col("variant") == name)
    save_figure(draw_first_token_scatter(rows, correlations, title, label, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            metrics=snakemake.input.metrics,
            first_token=snakemake.input.first_token,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
