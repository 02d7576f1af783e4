"""Draw what each component of a block does to the anisotropies."""

from homogenization.figures.components import draw_components
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.files import read_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            components=snakemake.input.components,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
            models=snakemake.params.models,  # noqa: F821
        )
