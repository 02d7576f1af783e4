"""Read the corpus from the hub or from a local file, as it is."""

from homogenization.corpus.reading import read_reviews
from homogenization.run.files import write_table
from homogenization.run.job import logged


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
    with logged(snakemake):  # noqa: F821
        main(
            next(iter(snakemake.input), None),  # noqa: F821
            snakemake.output.raw,  # noqa: F821
            snakemake.params.hub,  # noqa: F821
            snakemake.params.subset,  # noqa: F821
            snakemake.params.revision,  # noqa: F821
            snakemake.params.split,  # noqa: F821
            snakemake.params.text_column,  # noqa: F821
            snakemake.params.label_column,  # noqa: F821
        )
