"""The part of the configuration on the corpus, and what the head of a local file tells of it before anything runs."""

import codecs
import csv
import json
import os
from itertools import islice
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from homogenization.config.paths import InputPath, readable
from homogenization.corpus.local_files import FORMATS, OTHER_FILES, is_local, missing_column, read_columns
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.sections import Section, refused

_ROWS = 1000  # rows that are looked at
_READ_WHOLE = 2**24  # bytes of a file that is read to the end, in a quarter of a second
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


class Corpus(Section):
    """Which reviews are read, and how many of them."""

    source: InputPath
    """Local .parquet, .csv, .json or .jsonl file, or a data set id on the hub."""
    subset: str | None = None
    """Configuration name of a hub data set, where it has several."""
    revision: str | None = None
    """Commit of a hub data set; pin it."""
    split: str = "train"
    """Split of a hub data set, or part of one, such as train[:1000]; a local file is `train`."""
    text_column: str = "text"
    """Column that holds the review."""
    label_column: str | None = "label"
    """Column to balance the sample over; null: no balancing. Where the key is left out, a local file without a column \
`label` is not balanced."""
    n_reviews: int = Field(ge=2, le=10_000_000)
    """Reviews in the sample. The sample is nested: raising it adds shards."""
    shard_size: int = Field(50, ge=2, le=10_000_000)
    """Reviews of a shard, the unit of work: each model reads each variant of a shard in one job, which loads the \
model once. Larger shards load less. Smaller ones give more jobs side by side, repeat less after a failure, and take \
less disk at a time where states are not kept. MAUVE is drawn from each shard."""
    min_words: int = Field(20, ge=1)
    """Shorter reviews (in words, cleaned) are left out."""
    max_words: int = Field(400, ge=1)
    """Longer reviews are left out; keep it within the models' context."""

    @model_validator(mode="before")
    @classmethod
    def labels_where_there_are_any(cls, given: Any) -> Any:
        """The default of `label_column` is null for a local file without that column."""
        if isinstance(given, dict) and "label_column" not in given and _lacks_column(given.get("source"), "label"):
            return given | {"label_column": None}
        return given

    @field_validator("source")
    @classmethod
    def local_file_exists(cls, source: str) -> str:
        """A source that looks like a file exists and has a readable format."""
        if "://" in source:
            raise ValueError(f"{source!r} is an address; give the id of a data set on the hub, or download the file")
        if is_local(source) or Path(source).suffix.lower() in OTHER_FILES:
            suffix = Path(source).suffix
            if suffix.lower() not in FORMATS:
                raise ValueError(f"{source!r} ends in {suffix!r}; allowed: {', '.join(FORMATS)}")
            if not Path(source).is_file():
                raise ValueError(f"the file {source!r} does not exist; relative paths start at the working directory")
        return source

    @field_validator("max_words")
    @classmethod
    def not_below_the_least(cls, max_words: int, info: ValidationInfo) -> int:
        """The upper bound is not below the lower one."""
        if max_words < info.data.get("min_words", 1):
            raise ValueError(f"{max_words} is below min_words ({info.data['min_words']})")
        return max_words

    _columns = model_validator(mode="after")(
        refused(
            lambda corpus: corpus.label_column == corpus.text_column,
            "text_column and label_column are both {0.text_column!r}; without labels, set label_column: null",
        )
    )

    @model_validator(mode="after")
    def columns_exist(self) -> Self:
        """A local file can be read and has the columns."""
        try:
            return readable(_check_columns)(self) if self.is_local else self
        except ValueError as error:
            raise ValueError(str(error).removeprefix("corpus: ")) from None  # which stands before every problem here

    @property
    def is_local(self) -> bool:
        """Whether the corpus is a file on this machine."""
        return is_local(self.source)


def _check_columns(corpus: Corpus) -> None:
    """Refuse a local file that is empty, not UTF-8 or no table with commas, lacks a column, or has too few rows.

    Of a large file, the head is looked at, and one whose first line is no mapping, such as an array, is left to the
    job that reads it.
    """
    path = Path(corpus.source).expanduser()
    columns = _columns(path)
    if columns is not None and not columns:
        raise HomogenizationError(f"{corpus.source} holds no rows. Give a source with reviews.")
    asked = [(key, getattr(corpus, key)) for key in ("text_column", "label_column")]
    for key, column in asked:
        if columns and column is not None and column not in columns:
            raise HomogenizationError(missing_column(key, column, corpus.source, columns))
    if corpus.split == "train" and path.stat().st_size <= _READ_WHOLE:
        names, cells = read_columns(path, [corpus.text_column])
        if names and corpus.text_column not in names:
            raise HomogenizationError(missing_column("text_column", corpus.text_column, corpus.source, names))
        n_rows = len(cells.get(corpus.text_column, ()))
        if n_rows < corpus.n_reviews:
            raise HomogenizationError(
                f"n_reviews {corpus.n_reviews:,}: {corpus.source} has {n_rows:,} row{'s' * (n_rows != 1)}. Lower "
                "n_reviews to what cleaning leaves of these, or give a larger file"
            )


def _lacks_column(source: object, column: str) -> bool:
    """Whether `source` is a local file whose columns can be read and include neither `column` nor a like spelling."""
    if not (isinstance(source, str) and is_local(source)):
        return False
    try:
        columns = _columns(Path(os.path.expandvars(source)).expanduser())
    except (OSError, HomogenizationError):
        return False  # the checks of the source say what is wrong
    return bool(columns) and column not in columns and not nearest(column, columns)


def _columns(path: Path) -> list[str] | None:
    """The columns of a local file, by its first `_ROWS` rows; none for a file without rows, None where unknown."""
    if not path.is_file():
        raise FileNotFoundError(path)
    kind = path.suffix.lower()
    if kind == ".parquet":
        import pyarrow.parquet

        try:
            metadata = pyarrow.parquet.read_metadata(path)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise HomogenizationError(f"{path} is no Parquet file ({error}).") from None
        return metadata.schema.to_arrow_schema().names if metadata.num_rows else []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if kind == ".csv":
                return _columns_of_csv(path, list(islice(csv.reader(file), 1 + _ROWS)))
            lines = [line for line in islice(file, _ROWS) if line.strip()]
    except csv.Error:
        return None
    except UnicodeDecodeError as error:
        with path.open("rb") as file:
            encoding = _MARKS.get(file.read(2), "latin1")
        raise HomogenizationError(
            f"{path} is not UTF-8 (byte {error.start}: {error.reason}). Convert it: "
            f"iconv -f {encoding} -t utf-8 {path} > utf8{kind}"
        ) from None
    if lines and not _is_mapping(lines[0]):
        return None
    return list(dict.fromkeys(key for line in lines if _is_mapping(line) for key in json.loads(line)))


def _columns_of_csv(path: Path, rows: list[list[str]]) -> list[str]:
    """The header, after a check that its names differ and that no row has more cells: a reader would shift them."""
    header = rows[0] if len(rows) > 1 else []
    for separator, name in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise HomogenizationError(
                f"{path} has {name} between its columns ({header[0]!r}); write commas, or save it as .jsonl"
            )
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise HomogenizationError(f"{path} has the columns {repeated} twice; rename or remove one of each")
    for number, row in enumerate(rows[1:] if header else (), 2):
        if len(row) > len(header):
            raise HomogenizationError(
                f"{path}: row {number} has {len(row)} cells, and the header {len(header)} "
                f"({', '.join(header)}). Put a text with commas in double quotes"
            )
    return header


def _is_mapping(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
