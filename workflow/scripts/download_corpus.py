"""Read the corpus from the hub or from a local file, as it is."""

from homogenization.corpus.reading import read_reviews
from homogenization.run.job import job
from homogenization.run.parquet import write_table


def main(
    local_file: str | None,
    raw: str,
    hub: str | None,
    subset: str | None,
    revision: str | None,
    split: str,
    text_column: str,
    label_column: str | None,
) -> None:
    """Write the text and the label of every row of `local_file`, or of the data set `hub`."""
    source = local_file or hub
    reviews = read_reviews(source, text_column, label_column, subset, revision, split)
    asked = {"source": source, "subset": subset, "revision": revision, "split": split}
    write_table(reviews, raw, asked | {"text_column": text_column, "label_column": label_column})


if __name__ == "__main__":
    with job(snakemake):
        main(
            next(iter(snakemake.input), None),
            snakemake.output.raw,
            snakemake.params.hub,
            snakemake.params.subset,
            snakemake.params.revision,
            snakemake.params.split,
            snakemake.params.text_column,
            snakemake.params.label_column,
        )
