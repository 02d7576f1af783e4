"""Draw one metric against depth."""

from collections.abc import Sequence

import polars as pl

from homogenization.figures.metric import draw_metric
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.files import read_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            summary=snakemake.input.summary,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            metric=snakemake.params.metric,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            label=snakemake.params.label,  # noqa: F821
            views=snakemake.params.views,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
            models=snakemake.params.models,  # noqa: F821
        )
