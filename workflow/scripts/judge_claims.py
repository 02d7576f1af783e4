"""Judge every claim on every model."""

from typing import Any

import polars as pl
from threadpoolctl import threadpool_limits

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table
from homogenization.statistics.claims import claims_table, verdicts_table
from homogenization.statistics.evidence import Study


def main(
    metrics: str,
    similarity: str,
    components: str,
    claims_csv: str,
    verdicts_csv: str,
    claims: list[dict[str, Any]],
    models: list[str],
    draws: int,
    confidence: float,
    seed: int,
) -> None:
    """Write the table of claims and the verdicts by model; `components` may be empty."""
    taken_apart = read_table(components) if components else None
    study = Study(read_table(metrics), read_table(similarity), taken_apart, draws, confidence, seed)
    # sums in another order, as several threads make them, round differently
    with threadpool_limits(1):
        judged = claims_table(claims, models, study)
    print(judged.select("claim", "model", "verdict", "estimate", "ci_low", "ci_high", "q_value"))
    write_csv(judged, claims_csv)
    write_csv(verdicts_table(judged, models), verdicts_csv)


def write_csv(table: pl.DataFrame, path: str) -> None:
    """Write `table`, whole."""
    with written_whole(path) as partial:
        table.write_csv(partial)


if __name__ == "__main__":
    with job(snakemake):
        main(
            snakemake.input.metrics,
            snakemake.input.similarity,
            snakemake.input.components,
            snakemake.output.claims,
            snakemake.output.verdicts,
            snakemake.params.claims,
            snakemake.params.models,
            snakemake.params.draws,
            snakemake.params.confidence,
            snakemake.params.seed,
        )
