"""Draw the differences of one metric between variants against depth."""

from collections.abc import Sequence

import polars as pl

from homogenization.figures.contrast import draw_contrast
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.metrics.catalogue import describe_metric
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    contrasts: str,
    svg: str,
    png: str,
    metric: str,
    title: str,
    label: str,
    views: Sequence[str],
    pairs: Sequence[Sequence[str]],
    alpha: float,
    variants: Named,
    models: Named,
) -> None:
    """Draw `metric` of tables/contrasts.parquet; refuse if it is not there."""
    table = read_table(contrasts)
    wanted = pl.DataFrame(pairs, schema={"variant": pl.String, "minus": pl.String}, orient="row")
    rows = (
        rows_of(table, variants, models).filter(pl.col("metric") == metric).join(wanted, ["variant", "minus"], "semi")
    )
    require_rows(rows, contrasts, f"metric '{metric}'", table["metric"].unique().to_list())
    homogenization = describe_metric(metric).homogenization
    save_figure(draw_contrast(rows, title, label, views, homogenization, pairs, alpha, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            contrasts=snakemake.input.contrasts,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            metric=snakemake.params.metric,
            title=snakemake.params.title,
            label=snakemake.params.label,
            views=snakemake.params.views,
            pairs=snakemake.params.contrasts,
            alpha=snakemake.params.alpha,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
