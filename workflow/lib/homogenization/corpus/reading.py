"""Reading of raw reviews: texts and labels of a local file, or of a data set of the hub."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.corpus.local_files import FORMATS, class_names, flat_columns, is_local, missing_column, read_columns
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.log import announce

_WHOLE = re.compile(r"([+-]?\d+)\.0+")  # a whole number, as a column of floats writes it
_NO_LABEL = "-1"
LONGEST_KEPT = 200  # characters of a cell of a further column
_OWN = ("review_id", "row", "text", "label", "n_words", "rank", "hash")


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
        column, every label is "". An empty text is null. Then, of a local file, its further columns whose cells are
        numbers, truth values, dates or texts of at most `LONGEST_KEPT` characters, such as an id or a category.

    Raises:
        HomogenizationError: the source can't be read, is empty, or lacks a column.
    """
    asked = {key: column for key, column in (("text_column", text_column), ("label_column", label_column)) if column}
    columns, values = _values(source, list(asked.values()), subset, revision, split)
    if not columns or not all(map(len, values.values())):
        raise HomogenizationError(f"corpus: {source} holds no rows. Give a source with reviews.")
    for key, column in asked.items():
        if column not in columns:
            raise HomogenizationError(missing_column(key, column, source, columns))
    texts = [_text(value) for value in values[text_column]]
    there = [text for text in texts if text is not None]
    wrong = next((f"{type(text).__name__} values" for text in there if not isinstance(text, str)), None)
    if wrong or (there and not pl.Series(there).cast(pl.Float64, strict=False).null_count()):
        raise HomogenizationError(
            f"corpus: text_column '{text_column}' of {source} holds {wrong or 'numbers'}, not text. "
            f"It has the columns: {', '.join(sorted(columns))}."
        )
    labels = [""] * len(texts) if label_column is None else label_texts(values[label_column])
    if n_missing := labels.count(None):
        announce(_told(source, label_column, values[label_column], n_missing))
    own = {"row": pl.Int64, "text": pl.String, "label": pl.String}
    read = pl.DataFrame({"row": range(len(texts)), "text": texts, "label": labels}, schema=own)
    further = {name: cells for name, cells in values.items() if name not in asked.values()}
    return read.with_columns(_further(further))


def _values(
    source: str, columns: Sequence[str], subset: str | None, revision: str | None, split: str
) -> tuple[list[str], dict[str, list[Any]]]:
    """All columns of a source, and the values of those asked for; of a local file, those of all flat ones."""
    if is_local(source):
        return _local_values(source, [*columns, *flat_columns(Path(source).expanduser())], split)
    return _hub_values(source, subset, revision, split, columns)


def _further(values: Mapping[str, Sequence[Any]]) -> Iterator[pl.Series]:
    """Columns of numbers, truth values, dates and short texts; as text where a number would not hold each cell.

    A name that the tables of the corpus have already is followed by `_of_source`.
    """
    for name, given in values.items():
        cells = [None if cell != cell else cell for cell in given]  # NaN
        types = {type(cell) for cell in cells if cell is not None}
        most = 2**53 if float in types else 2**63 - 1
        is_wide = any(type(cell) is int and abs(cell) > most for cell in cells)
        if is_wide or (len(types) > 1 and types != {int, float}):
            cells = [None if cell is None else _encodable(str(cell)) for cell in cells]
        is_short = all(len(cell) <= LONGEST_KEPT for cell in cells if isinstance(cell, str))
        if is_short and not types & {list, dict, bytes}:
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
    if len(others) != 1 and all(text.isascii() and text.isdigit() for text in others):
        return [None if text == _NO_LABEL else text for text in texts]
    return texts


def _label(value: Any) -> str | None:
    if value is None or value != value:  # NaN
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = _encodable(str(value))
    if not text.strip():
        return None
    if text.casefold() in ("true", "false"):
        return text.capitalize()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def _told(source: str, column: str, values: Sequence[Any], n_missing: int) -> str:
    """What is said where rows have no label."""
    n_marked = sum(_label(value) == _NO_LABEL for value in values) if _NO_LABEL not in label_texts(values) else 0
    marked = f" ({n_marked} of them the label −1, which marks such rows; write a class −1 as a word)" * (n_marked > 0)
    return (
        f"corpus: {n_missing} of {len(values)} rows of {source} have no label in the column '{column}'{marked}. They "
        "are left out. Set label_column: null to sample from all rows without regard to labels."
    )


def _text(value: Any) -> Any:
    """A text as UTF-8 holds it; None where there is none."""
    if isinstance(value, str):
        return _encodable(value) or None
    return None if value != value else value  # NaN


def _encodable(text: str) -> str:
    """`text` without lone surrogates, which JSON may hold and UTF-8 may not."""
    return text if text.isascii() else text.encode(errors="ignore").decode()


def _local_values(source: str, columns: Iterable[str], split: str) -> tuple[list[str], dict[str, list[Any]]]:
    """All columns of a file, and the values of some in the part of it that `split` names."""
    names, values = read_columns(Path(source).expanduser(), columns)
    if split == "train" or not values:
        return names, values
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
    return names, {column: [row for part in parts for row in of_all[slice(*part)]] for column, of_all in values.items()}


def _hub_values(
    source: str, subset: str | None, revision: str | None, split: str, columns: Sequence[str]
) -> tuple[list[str], dict[str, list[Any]]]:
    """All columns of a split of a hub data set, and the values of some of them."""
    from datasets import ClassLabel

    with _folder_for_copies() as cache:
        names, dataset = _hub_dataset(source, subset, revision, split, columns=columns, cache=cache)
        values = {column: list(dataset[column]) for column in columns if column in dataset.column_names}
    for column in values:
        if isinstance(feature := dataset.features[column], ClassLabel):
            values[column] = class_names(values[column], feature.names)
    return names, values


def _folder_for_copies() -> tempfile.TemporaryDirectory:
    """A new folder for the Arrow copies that `datasets` makes, where its cache has room for them.

    Copies of an earlier run would stand in for any other revision where the hub does not answer.
    """
    from datasets import config

    try:
        Path(config.HF_DATASETS_CACHE).mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=config.HF_DATASETS_CACHE, prefix="reviews-", ignore_cleanup_errors=True)
    except OSError:  # a cache that others have filled may be read-only
        return tempfile.TemporaryDirectory(prefix="reviews-", ignore_cleanup_errors=True)


def _hub_dataset(
    source: str, subset: str | None, revision: str | None, split: str, *, columns: Sequence[str], cache: str
):
    """Load one split of a hub data set through the hub's own cache, with the folder `cache` for Arrow copies.

    Where the hub gives no answer, the files of this revision that were fetched before are read.
    """
    description = f"the hub data set '{source}'" + "".join(
        f", {name} '{value}'"
        for name, value in (("subset", subset), ("revision", revision), ("split", split))
        if value is not None
    )
    try:
        try:
            return load_as_written(source, split, columns, name=subset, revision=revision, cache_dir=cache)
        except Exception:
            fetched = _fetched_before(source, revision)
            if fetched is None:
                raise
            return load_as_written(str(fetched), split, columns, name=subset, cache_dir=cache)
    except Exception as error:  # each builder raises its own kinds of errors
        raise HomogenizationError(
            f"corpus: {description} could not be loaded: {first_line(error)}. Give a subset and a split that its page "
            f"lists, or the path of a local {', '.join(sorted(FORMATS))} file as corpus.source."
        ) from error


def load_as_written(source: str, split: str, columns: Sequence[str], **options: Any):
    """Load a split with `datasets`, which reads CSV by pandas: cells of `columns` stay as they are written.

    pandas takes "None", "NA" and "null" for missing, and "007" for 7. Of CSV, no other columns are loaded. A column
    that the data set declares as one of numbers is read as such.

    Returns:
        The names of all columns, and the `Dataset`.
    """
    from datasets import ClassLabel, Features, load_dataset_builder
    from datasets.packaged_modules.csv.csv import CsvConfig

    builder = load_dataset_builder(source, **options)
    is_csv, names = isinstance(builder.config, CsvConfig), dict.fromkeys(builder.info.features or ())
    if is_csv:
        declared = builder.info.features or {}
        features = {name: declared[name] for name in columns if name in declared}
        builder.info.features = Features(features) if features else None
        texts = {name for name, feature in features.items() if isinstance(feature, ClassLabel)} | {
            name for name, feature in features.items() if getattr(feature, "dtype", None) == "string"
        }

        def is_asked(name: str) -> bool:
            names[name] = None
            return name in (features or columns) or (not features and name == next(iter(names)))

        builder.config.usecols = is_asked
        builder.config.keep_default_na, builder.config.na_values = False, [""]
        builder.config.converters = dict.fromkeys(texts if features else columns, str)
    builder.download_and_prepare()
    dataset = builder.as_dataset(split=split)
    return list(names) if is_csv else dataset.column_names, dataset


def _fetched_before(source: str, revision: str | None) -> Path | None:
    """The folder in the hub's cache with the files of a data set that were fetched; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, repo_type="dataset", revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
