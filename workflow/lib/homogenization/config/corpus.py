"""The part of the configuration on the corpus, and what a local file tells of it before anything runs."""

import os
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from homogenization.config.paths import InputPath
from homogenization.corpus.local_files import FORMATS, OTHER_FILES, is_local, missing_column, read_columns
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.sections import Section, refused

_HEAD = 1000  # rows that are looked at of a large file
_READ_WHOLE = 2**24  # bytes of a file that is read to the end, in a quarter of a second


class Corpus(Section):
    """Which reviews are read, and how many of them."""

    source: InputPath
    """Local .parquet, .csv, .json or .jsonl file, or a data set id on the hub."""
    subset: str | None = None
    """Configuration name of a hub data set, where it has several."""
    revision: str | None = None
    """Commit of a hub data set; pin it."""
    split: str = "train"
    """Split of a hub data set, or part of one, such as train[:1000]; a local file is read whole."""
    text_column: str = "text"
    """Column that holds the review."""
    label_column: str | None = "label"
    """Column of the labels, which probes predict; rows without one are left out. null, or a local file without a \
column `label` where the key is left out: no labels."""
    n_reviews: int | None = Field(None, ge=2, le=10_000_000)
    """Reviews in the sample; null or `all`: as many as cleaning leaves of a local file. The sample is nested: raising \
it adds shards."""
    balance_by: str | None = None
    """Column over whose values the sample is balanced; null: none. Where the key is left out, the labels balance a \
sample of a given size."""
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
        """`label_column` is null for a local file without it; labels balance a sample of a given size."""
        if not isinstance(given, dict):
            return given
        if "label_column" not in given and _lacks_column(given.get("source"), "label"):
            given = given | {"label_column": None}
        if given.get("n_reviews") == "all":
            given = given | {"n_reviews": None}
        if "balance_by" not in given and given.get("n_reviews") is not None:
            given = given | {"balance_by": given.get("label_column", "label")}
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
    def fits_its_file(self) -> Self:
        """A local file can be read, has the columns, and enough rows; `all` becomes their number."""
        if self.is_local:
            if self.split != "train":
                raise ValueError(f"split: {self.source} is a local file, which is read whole; leave split out")
            try:
                return _fitted(self)
            except HomogenizationError as error:
                raise ValueError(str(error).removeprefix("corpus: ")) from None  # which stands before it here
        if self.n_reviews is None:
            raise ValueError("n_reviews: a data set of the hub needs a number of reviews")
        return self

    @property
    def balanced_by(self) -> str | None:
        """The column of the sample's table over which it is balanced."""
        return "label" if self.balance_by and self.balance_by == self.label_column else self.balance_by

    @property
    def is_local(self) -> bool:
        """Whether the corpus is a file on this machine."""
        return is_local(self.source)


def _fitted(corpus: Corpus) -> Corpus:
    """The corpus with the number of its reviews; a file that it can't be taken from is refused.

    Of a large file, only the head is looked at: what this does not tell is left to the job that reads the file.
    """
    path, whole = Path(corpus.source).expanduser(), _is_small(corpus.source)
    columns = _columns(path)
    if columns is not None and not any(columns.values()):
        raise HomogenizationError(f"{corpus.source} holds no rows. Give a source with reviews.")
    for key in ("text_column", "label_column", "balance_by"):
        column = getattr(corpus, key)
        if columns and column is not None and column not in columns:
            raise HomogenizationError(missing_column(key, column, corpus.source, columns))
    if corpus.n_reviews is None:
        return corpus.model_copy(update={"n_reviews": _number_of_reviews(corpus)})
    n_rows = len(columns[corpus.text_column]) if whole and columns else corpus.n_reviews
    if n_rows < corpus.n_reviews:
        raise HomogenizationError(
            f"n_reviews {corpus.n_reviews:,}: {corpus.source} has {n_rows:,} row{'s' * (n_rows != 1)}. Lower "
            "n_reviews to what cleaning leaves of these, or write `all`"
        )
    return corpus


def _number_of_reviews(corpus: Corpus) -> int:
    """How many reviews cleaning leaves of a local file: it is read and cleaned."""
    from homogenization.corpus.cleaning import clean_reviews
    from homogenization.corpus.reading import read_reviews
    from homogenization.corpus.sampling import sample_size

    if not _is_small(corpus.source):
        raise HomogenizationError(f"n_reviews: {corpus.source} is too large to count in a moment; write a number")
    read = read_reviews(corpus.source, corpus.text_column, corpus.label_column)
    n_reviews = sample_size(clean_reviews(read), corpus.balanced_by, corpus.min_words, corpus.max_words)
    if n_reviews < 2:
        raise HomogenizationError(
            f"n_reviews: cleaning leaves {n_reviews} reviews of {corpus.min_words} to {corpus.max_words} words in "
            f"{corpus.source}. Widen min_words and max_words, or give a larger file"
        )
    return n_reviews


def _is_small(source: str) -> bool:
    return Path(source).expanduser().stat().st_size <= _READ_WHOLE


def _lacks_column(source: object, column: str) -> bool:
    """Whether `source` is a local file whose columns can be read and include neither `column` nor a like spelling."""
    if not (isinstance(source, str) and is_local(source)):
        return False
    try:
        columns = _columns(Path(os.path.expandvars(source)).expanduser())
    except (OSError, HomogenizationError):
        return False  # the checks of the source say what is wrong
    return bool(columns) and column not in columns and not nearest(column, columns)


def _columns(path: Path) -> dict[str, list[Any]] | None:
    """The cells of a local file, or of its head; None for a large file that has no head, such as an array of JSON."""
    if _is_small(str(path)):
        return read_columns(path)
    return None if path.suffix.lower() == ".json" else read_columns(path, _HEAD)
