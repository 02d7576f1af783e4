"""Reading of raw reviews: texts, labels and further columns of a local file, or of a data set of the hub."""

import re
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors

from homogenization.corpus.local_files import FORMATS, is_local, missing_column, read_columns, sample_name
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.log import announce


def read_reviews(
    source: str,
    text_column: str,
    label_column: str | None,
    *,
    subset: str | None = None,
    revision: str | None = None,
    split: str = "train",
) -> pl.DataFrame:
    """Read a data set of the hub, or a local .parquet, .csv, .json or .jsonl file, as keys of the section `corpus` say.

    Returns:
        Columns row (Int64, from 0), text and label (String; "" without a label column). Then the further columns, but
        those of lists and mappings; a name that the tables of the corpus have is followed by `_of_source`.

    Raises:
        HomogenizationError: the source can't be read, is empty, or lacks a column.
    """
    if is_local(source):
        columns = read_columns(Path(source).expanduser())
        read = pl.DataFrame({name: list(map(_encodable, columns[name])) for name in columns}, strict=False)
    else:
        read = _of_hub(source, subset, revision, split)
    read = read.select(~(selectors.nested() | selectors.binary()))
    if read.is_empty():
        raise HomogenizationError(f"{source} holds no rows. Give a source with reviews.")
    for key, column in (("text_column", text_column), ("label_column", label_column)):
        if column is not None and column not in read.columns:
            raise HomogenizationError(missing_column(key, column, source, read.columns))
    texts = read[text_column]
    if texts.dtype != pl.String or texts.cast(pl.Float64, strict=False).count() == texts.count():
        raise HomogenizationError(
            f"text_column '{text_column}' of {source} holds {texts.dtype} cells or numbers, not text. "
            f"It has the columns: {', '.join(sorted(read.columns))}."
        )
    labels = label_texts(read[label_column]) if label_column else pl.repeat("", len(read), eager=True)
    if n_missing := labels.null_count():
        announce(
            f"corpus: {n_missing} of {len(labels)} rows have no label (null, or −1 where it marks these) and are left "
            "out. Set label_column: null to read them."
        )
    further = read.drop(text_column, *[label_column] * bool(label_column))
    own = {"row": pl.int_range(len(read), dtype=pl.Int64, eager=True), "text": texts, "label": labels}
    return pl.DataFrame(own).hstack(further.rename(lambda name: sample_name(name, text_column, label_column)))


def _encodable(cell: Any) -> Any:
    """A cell without lone surrogates, which JSON may hold and UTF-8 may not."""
    return cell.encode(errors="ignore").decode() if isinstance(cell, str) and not cell.isascii() else cell


def label_texts(labels: pl.Series) -> pl.Series:
    """Labels as text; null where a row has no label.

    A number that is whole has no decimals: a column of whole numbers with gaps may be one of floats. No label is: null,
    NaN, a blank text, and −1 where all other labels are whole numbers from 0, and not only one: −1 beside 1 is one.
    """
    if labels.dtype.is_float():
        labels = labels.fill_nan(None)
        whole = labels.cast(pl.Int64, strict=False)
        labels = whole if (whole == labels).all() else labels
    texts = labels.cast(pl.String).str.strip_chars().replace("", None)
    classes = set(texts.drop_nulls()) - {"-1"}
    is_mark = len(classes) != 1 and all(re.fullmatch("[0-9]+", name) for name in classes)
    return texts.replace("-1", None) if is_mark else texts


def _of_hub(source: str, subset: str | None, revision: str | None, split: str) -> pl.DataFrame:
    """The columns of a split of a hub data set; class labels are their names."""
    from datasets import ClassLabel, load_dataset

    asked = {"subset": subset, "revision": revision, "split": split}
    # what an earlier run left would stand in for any other revision where the hub does not answer
    with tempfile.TemporaryDirectory(prefix="reviews-", ignore_cleanup_errors=True) as cache:
        try:
            loaded = load_dataset(source, subset, revision=revision, split=split, cache_dir=cache)
        except Exception as error:  # each builder raises its own kinds of errors
            given = "".join(f", {name} '{value}'" for name, value in asked.items() if value is not None)
            raise HomogenizationError(
                f"the hub data set '{source}'{given} could not be loaded: {first_line(error)}. Give a subset and a "
                f"split that its page lists, or the path of a local {', '.join(FORMATS)} file as corpus.source."
            ) from error
        read = loaded.to_polars()
    names = {name: dict(enumerate(of.names)) for name, of in loaded.features.items() if isinstance(of, ClassLabel)}
    return read.with_columns(pl.col(name).replace_strict(of, default=None) for name, of in names.items())
