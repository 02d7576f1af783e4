"""Draw the differences of one metric between variants against depth."""

from collections.abc import Sequence

import polars as pl

from homogenization.figures.contrast import draw_contrast
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.metrics.catalogue import describe_metric
from homogenization.run.files import read_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            contrasts=snakemake.input.contrasts,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            metric=snakemake.params.metric,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            label=snakemake.params.label,  # noqa: F821
            views=snakemake.params.views,  # noqa: F821
            pairs=snakemake.params.contrasts,  # noqa: F821
            alpha=snakemake.params.alpha,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
            models=snakemake.params.models,  # noqa: F821
        )
