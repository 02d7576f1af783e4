"""Average every metric over reviews."""

from homogenization.run.files import written_whole
from homogenization.run.job import job
from homogenization.run.parquet import read_table, write_table
from homogenization.tables.metrics import summary_table


def main(metrics: str, summary: str, csv: str) -> None:
    """Write the summary as Parquet and as CSV."""
    table = summary_table(read_table(metrics))
    write_table(table, summary)
    with written_whole(csv) as partial:
        table.write_csv(partial)


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.input.metrics, snakemake.output.summary, snakemake.output.csv)
