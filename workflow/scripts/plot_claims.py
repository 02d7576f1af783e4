"""Draw the board of claims."""

import polars as pl

from homogenization.figures.claims import COLUMNS, draw_claims
from homogenization.figures.style import Named, require_rows, save_figure
from homogenization.run.files import damage, gone
from homogenization.run.job import job


def main(
    claims: str,
    svg: str,
    png: str,
    title: str,
    models: Named,
) -> None:
    """Draw tables/claims.csv; refuse if it holds no claim."""
    table = read_claims(claims)
    require_rows(table, claims, "any claim", table["claim"].unique().to_list())
    save_figure(draw_claims(table, title, models), svg, png)


def read_claims(path: str) -> pl.DataFrame:
    """The columns of tables/claims.csv that the board shows.

    Raises:
        HomogenizationError: the file is damaged or cut short, and was moved aside; or it is gone.
    """
    try:
        return pl.read_csv(path, columns=list(COLUMNS), schema_overrides=COLUMNS).select(list(COLUMNS))
    except FileNotFoundError as error:
        raise gone(path) from error
    except pl.exceptions.PolarsError as error:
        raise damage(path, f"not a readable table of claims: {error}") from error


if __name__ == "__main__":
    with job(snakemake):
        main(
            claims=snakemake.input.claims,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
            models=snakemake.params.models,
        )
