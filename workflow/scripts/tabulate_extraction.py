"""Collect the time, memory and tokens of every extraction."""

import json
from pathlib import Path

from homogenization.run.job import job
from homogenization.run.parquet import write_table
from homogenization.tables.extraction import extraction_table


def main(runs: list[str], extraction: str, jobs: list[list[str]]) -> None:
    """Write the table of run records; `jobs` are (model, variant, shard) of `runs`."""
    records = [json.loads(Path(path).read_text(encoding="utf-8")) for path in runs]
    write_table(extraction_table([(*job, record) for job, record in zip(jobs, records, strict=True)]), extraction)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.runs, snakemake.output.extraction, snakemake.params.jobs)
