"""Draw what each component of a block does to the anisotropies."""

from homogenization.figures.components import draw_components
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


def main(
    components: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw tables/components.parquet; refuse if it holds none of these variants and models."""
    table = read_table(components)
    rows = rows_of(table, variants, models)
    wanted = ", ".join(name for name, _ in [*variants, *models])
    require_rows(rows, components, f"variants and models {wanted}", table["variant"].unique().to_list())
    save_figure(draw_components(rows, title, variants, models), svg, png)


if __name__ == "__main__":
    with job(snakemake):
        main(
            components=snakemake.input.components,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
