"""Draw one metric against depth."""

from collections.abc import Sequence

import polars as pl

from homogenization.figures.metric import draw_metric
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    summary: str,
    svg: str,
    png: str,
    metric: str,
    title: str,
    label: str,
    views: Sequence[str],
    variants: Named,
    models: Named,
) -> None:
    """Draw `metric` of tables/summary.parquet; refuse if it is not there."""
    table = read_table(summary)
    rows = rows_of(table, variants, models).filter(pl.col("metric") == metric)
    require_rows(rows, summary, f"metric '{metric}'", table["metric"].unique().to_list())
    save_figure(draw_metric(rows, title, label, views, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            summary=snakemake.input.summary,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            metric=snakemake.params.metric,
            title=snakemake.params.title,
            label=snakemake.params.label,
            views=snakemake.params.views,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
