"""Draw what the metrics answer to."""

import polars as pl

from homogenization.figures.sensitivity import draw_sensitivity
from homogenization.figures.style import save_figure
from homogenization.run.files import damage, gone
from homogenization.run.job import job
from homogenization.statistics.causes import RESPONSE_SCHEMA


def main(responses: str, svg: str, png: str, title: str) -> None:
    """Draw tables/sensitivity.csv; refuse if it is not what `probe_metrics` writes."""
    save_figure(draw_sensitivity(_read(responses), title), svg, png)


def _read(path: str) -> pl.DataFrame:
    try:
        table = pl.read_csv(path, schema_overrides=RESPONSE_SCHEMA, empty_string_is_null=False)
    except FileNotFoundError as error:
        raise gone(path) from error
    except pl.exceptions.PolarsError as error:
        raise damage(path, f"not readable as CSV: {error}") from error
    if dict(table.schema) != RESPONSE_SCHEMA or table.is_empty():
        raise damage(path, f"its columns should be {', '.join(RESPONSE_SCHEMA)}, with a row for each metric and view")
    return table


if __name__ == "__main__":
    with job(snakemake):
        main(
            responses=snakemake.input.responses,
            svg=snakemake.output.svg,
            png=snakemake.output.png,
            title=snakemake.params.title,
        )
