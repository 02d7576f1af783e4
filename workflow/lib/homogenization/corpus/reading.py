"""Reading of raw reviews: texts, labels and further columns of a local file, or of a data set of the hub."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.corpus.local_files import FORMATS, class_names, is_local, missing_column, read_columns
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.log import announce

_OWN = ("review_id", "row", "text", "label", "n_words", "rank", "hash")
_NO_LABEL = "-1"


def read_reviews(
    source: str,
    text_column: str,
    label_column: str | None,
    *,
    subset: str | None = None,
    revision: str | None = None,
    split: str = "train",
) -> pl.DataFrame:
    """Read a data set of the hub, or a local .parquet, .csv, .json or .jsonl file.

    Args:
        source: Hub id ("stanfordnlp/imdb") or path of a local file.
        text_column: Column with the review's text.
        label_column: Column with the review's label; None for a corpus without labels.
        subset: Configuration of a hub data set ("plain_text").
        revision: Commit, branch or tag of a hub data set.
        split: Split of a hub data set, or part of one ("train[:1000]"). A local file is the split "train".

    Returns:
        Columns row (Int64, from 0), text and label (String), as `label_texts` gives the labels; without a label
        column, every label is "". An empty text is null. Then the further columns, such as an id or a category, whose
        cells are numbers, truth values, dates or texts.

    Raises:
        HomogenizationError: the source can't be read, is empty, or lacks a column.
    """
    values = _local_values(source, split) if is_local(source) else _hub_values(source, subset, revision, split)
    if not any(values.values()):
        raise HomogenizationError(f"corpus: {source} holds no rows. Give a source with reviews.")
    for key, column in (("text_column", text_column), ("label_column", label_column)):
        if column is not None and column not in values:
            raise HomogenizationError(f"corpus: {missing_column(key, column, source, values)}")
    texts = [(_encodable(value) or None) if isinstance(value, str) else _known(value) for value in values[text_column]]
    there = [text for text in texts if text is not None]
    wrong = next((f"{type(text).__name__} values" for text in there if not isinstance(text, str)), None)
    if wrong or (there and not pl.Series(there).cast(pl.Float64, strict=False).null_count()):
        raise HomogenizationError(
            f"corpus: text_column '{text_column}' of {source} holds {wrong or 'numbers'}, not text. "
            f"It has the columns: {', '.join(sorted(values))}."
        )
    labels = [""] * len(texts) if label_column is None else label_texts(values[label_column])
    if n_missing := labels.count(None):
        announce(
            f"corpus: {n_missing} of {len(texts)} rows of {source} have no label in the column '{label_column}' (a "
            f"blank cell, or {_NO_LABEL} beside whole numbers), and are left out. Set label_column: null to take all."
        )
    own = {"row": pl.Int64, "text": pl.String, "label": pl.String}
    read = pl.DataFrame({"row": range(len(texts)), "text": texts, "label": labels}, schema=own)
    return read.with_columns(
        _further({name: values[name] for name in values if name not in (text_column, label_column)})
    )


def _further(values: Mapping[str, Sequence[Any]]) -> Iterator[pl.Series]:
    """Columns of numbers, truth values, dates and texts; as text where a number would not hold each cell.

    A name that the tables of the corpus have already is followed by `_of_source`.
    """
    for name, given in values.items():
        cells = list(map(_known, given))
        types = {type(cell) for cell in cells if cell is not None}
        most = 2**53 if float in types else 2**63 - 1
        is_wide = any(type(cell) is int and abs(cell) > most for cell in cells)
        if types & {list, dict, bytes}:
            continue
        if is_wide or str in types or (len(types) > 1 and types != {int, float}):
            cells = [None if cell is None else _encodable(str(cell)) for cell in cells]
        yield pl.Series(f"{name}_of_source" if name in _OWN else name, cells, strict=False)


def label_texts(values: Sequence[Any]) -> list[str | None]:
    """Labels as text, the same in each format of file; None where a row has no label.

    A number that is whole has no decimals: a column of whole numbers with gaps is one of floats (1.0). `True` and
    `False` have one spelling. No label is: null, NaN, a blank text, and −1 where it can only be the mark
    of `datasets` for a row without a label. That is where all other labels are whole numbers, none of them is
    negative, and their number is not one: −1 beside 1 is a class, and so are −1 and −2.
    """
    texts = [_label(value) for value in values]
    others = {text for text in texts if text not in (None, _NO_LABEL)}
    is_mark = len(others) != 1 and all(text.isascii() and text.isdigit() for text in others)
    return [None if is_mark and text == _NO_LABEL else text for text in texts]


def _label(value: Any) -> str | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _encodable(str(value)).strip() if _known(value) is not None else ""
    if text.casefold() in ("true", "false"):
        return text.capitalize()
    whole, point, decimals = text.partition(".")
    is_whole = point and decimals and not decimals.strip("0") and whole.lstrip("+-").isdigit()
    return (whole if is_whole else _encodable(str(value))) if text else None


def _known(value: Any) -> Any:
    """A value; None for NaN."""
    return None if value != value else value


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which JSON may hold and UTF-8 may not."""
    return text if text.isascii() else text.encode(errors="ignore").decode()


def _local_values(source: str, split: str) -> dict[str, list[Any]]:
    """The columns of a file, in the part of it that `split` names."""
    try:
        values = read_columns(Path(source).expanduser())
    except HomogenizationError as error:
        raise HomogenizationError(f"corpus: {error}") from error
    if split == "train" or not values:
        return values
    from datasets import ReadInstruction

    n_rows = len(next(iter(values.values())))
    try:
        parts = [(part.from_, part.to) for part in ReadInstruction.from_spec(split).to_absolute({"train": n_rows})]
        if all(start >= stop for start, stop in parts):
            raise ValueError(f"it has {n_rows} rows")
    except (ValueError, AssertionError) as error:
        raise HomogenizationError(
            f"corpus: split {split!r} is no part of the local file {source} ({first_line(error)}). Allowed: train, "
            "or a part of it, such as train[:1000] or train[50%:]."
        ) from error
    return {column: [row for part in parts for row in cells[slice(*part)]] for column, cells in values.items()}


def _hub_values(source: str, subset: str | None, revision: str | None, split: str) -> dict[str, list[Any]]:
    """The columns of a split of a hub data set; where the hub does not answer, of the files fetched before."""
    from datasets import ClassLabel, Value

    asked = {"subset": subset, "revision": revision, "split": split}
    with tempfile.TemporaryDirectory(prefix="reviews-", ignore_cleanup_errors=True) as cache:
        # copies of an earlier run would stand in for any other revision where the hub does not answer
        try:
            try:
                dataset = load_as_written(source, split, name=subset, revision=revision, cache_dir=cache)
            except Exception:
                fetched = _fetched_before(source, revision)
                if fetched is None:
                    raise
                dataset = load_as_written(str(fetched), split, name=subset, cache_dir=cache)
        except Exception as error:  # each builder raises its own kinds of errors
            given = "".join(f", {name} '{value}'" for name, value in asked.items() if value is not None)
            raise HomogenizationError(
                f"corpus: the hub data set '{source}'{given} could not be loaded: {first_line(error)}. Give a subset "
                f"and a split that its page lists, or the path of a local {', '.join(FORMATS)} file as corpus.source."
            ) from error
        flat = [name for name, of in dataset.features.items() if isinstance(of, (Value, ClassLabel))]
        values = {name: list(dataset[name]) for name in flat}
    labels = {name: of.names for name, of in dataset.features.items() if isinstance(of, ClassLabel)}
    return values | {name: class_names(values[name], names) for name, names in labels.items()}


def load_as_written(source: str, split: str, **options: Any):
    """Load a split with `datasets`; of CSV, which it reads by pandas, undeclared cells stay text as they are written.

    pandas takes "None", "NA" and "null" for missing, and "007" for 7.
    """
    from datasets import load_dataset_builder
    from datasets.packaged_modules.csv.csv import CsvConfig

    builder = load_dataset_builder(source, **options)
    if isinstance(builder.config, CsvConfig):
        builder.config.keep_default_na, builder.config.na_values = False, [""]
        if not builder.info.features:
            builder.config.dtype = str
    builder.download_and_prepare()
    return builder.as_dataset(split=split)


def _fetched_before(source: str, revision: str | None) -> Path | None:
    """The folder in the hub's cache with the files of a data set that were fetched; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, repo_type="dataset", revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
