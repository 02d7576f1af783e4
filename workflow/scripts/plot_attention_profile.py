"""Draw the attention that tokens receive, by their position in the review."""

from homogenization.figures.attention_profile import draw_attention_profile
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.files import read_table
from homogenization.run.job import logged


def main(
    attention: str,
    svg: str,
    png: str,
    title: str,
    variants: Named,
    models: Named,
) -> None:
    """Draw tables/attention.parquet; refuse if it holds nothing of these variants and models."""
    table = read_table(attention)
    rows = rows_of(table, variants, models)
    require_rows(rows, attention, "attention received", table["model"].unique().to_list())
    save_figure(draw_attention_profile(rows, title, variants, models), svg, png)


if __name__ == "__main__":
    with logged(snakemake):  # noqa: F821
        main(
            attention=snakemake.input.attention,  # noqa: F821
            svg=snakemake.output.svg,  # noqa: F821
            png=snakemake.output.png,  # noqa: F821
            title=snakemake.params.title,  # noqa: F821
            variants=snakemake.params.variants,  # noqa: F821
            models=snakemake.params.models,  # noqa: F821
        )
