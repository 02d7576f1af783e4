"""Draw the attention that tokens receive, by their position in the review."""

from homogenization.figures.attention_profile import draw_attention_profile
from homogenization.figures.style import Named, require_rows, rows_of, save_figure
from homogenization.run.job import job
from homogenization.run.parquet import read_table


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
    with job(snakemake):
        main(
            attention=snakemake.input.attention,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            variants=snakemake.params.variants,
            models=snakemake.params.models,
        )
