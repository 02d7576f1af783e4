"""The part of the configuration on the corpus, and what a local file tells of it before anything runs."""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from homogenization.config.paths import InputPath
from homogenization.corpus.local_files import FORMATS, OTHER_FILES, is_local, missing_column, read_columns, sample_name
from homogenization.run.errors import nearest
from homogenization.run.sections import Section

_HEAD = 1000  # rows that are looked at of a large file
_READ_WHOLE = 2**24  # bytes of a file that is read to the end; without n_reviews it is cleaned too, in seconds


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
    """Column of the labels, which probes predict; rows without one are left out. null: no labels."""
    n_reviews: Annotated[
        int | None,
        Field(ge=2, le=10_000_000),
        BeforeValidator(lambda given: None if given == "all" else given, int | Literal["all"] | None),
    ] = None
    """Reviews in the sample; null or `all`: as many as cleaning leaves, of a local file below 16 MB alone."""
    balance_by: str | None = None
    """Column over whose values the sample is balanced; null: none."""
    shard_size: int = Field(50, ge=2, le=10_000_000)
    """Reviews of a shard: each model reads each variant of a shard in one job."""
    min_words: int = Field(20, ge=1)
    """Shorter reviews (in words, cleaned) are left out."""
    max_words: int = Field(400, ge=1)
    """Longer reviews are left out; keep it within the models' context."""

    @field_validator("source")
    @classmethod
    def local_file_exists(cls, source: str) -> str:
        """A source that looks like a file exists and has a readable format."""
        suffix = Path(source).suffix.lower()
        if "://" in source:
            raise ValueError(f"{source!r} is an address; give the id of a data set on the hub, or download the file")
        if (is_local(source) or suffix in OTHER_FILES) and suffix not in FORMATS:
            raise ValueError(f"{source!r} ends in {suffix!r}; allowed: {', '.join(FORMATS)}")
        if is_local(source) and not Path(source).is_file():
            raise ValueError(f"the file {source!r} does not exist; relative paths start at the working directory")
        return source

    _columns: tuple[str, ...] = ()  # of a local file

    def look_for(self, key: str, column: str | None) -> None:
        """Refuse a column that a key names and a local file lacks."""
        if self._columns and column is not None and column not in self._columns:
            raise ValueError(missing_column(key, column, self.source, self._columns))

    @model_validator(mode="after")
    def fits_its_file(self) -> Self:
        """A local file can be read, has the columns and enough rows; of a large one, its head is looked at.

        Labels, balance and number of reviews that are left out follow from the file and from each other.
        """
        given, label, columns = self.model_fields_set, self.label_column, {}
        small = self.is_local and Path(self.source).stat().st_size <= _READ_WHOLE
        of_hub = {"subset": self.subset, "revision": self.revision, "split": self.split} if self.is_local else {}
        if asked := [key for key, value in of_hub.items() if value not in (None, "train")]:
            raise ValueError(f"{', '.join(asked)}: {self.source} is a local file, which is read whole; leave it out")
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}; lower it")
        if small or (self.is_local and not self.source.endswith(".json")):
            columns = read_columns(Path(self.source), None if small else _HEAD)
        if "label_column" not in given and columns and label not in columns and not nearest(label, columns):
            label = None
        balance_by = self.balance_by if "balance_by" in given or self.n_reviews is None else label
        update = {"label_column": label, "balance_by": balance_by}
        self._columns = tuple(columns)
        for key, column in {"text_column": self.text_column, **update}.items():
            self.look_for(key, column)
        n_rows = len(columns.get(self.text_column, [])) if small else self.n_reviews
        return self.model_copy(update=update)._with_number(n_rows)

    def _with_number(self, n_rows: int | None) -> Self:
        """It with the number of its reviews: as many as cleaning leaves, or fewer than the file has rows."""
        if n_rows is None:
            raise ValueError("n_reviews: a data set of the hub and a file of 16 MB or more need a number")
        if n_rows < (self.n_reviews or 1):
            cure = (
                "Lower n_reviews to what cleaning leaves of these, or write `all`" if n_rows else "Give one with texts"
            )
            rows = f"{n_rows:,} row{'s' * (n_rows != 1)}"
            raise ValueError(f"n_reviews {self.n_reviews or 'all'}: {self.source} has {rows}. {cure}")
        if self.n_reviews is not None:
            return self
        from homogenization.corpus.cleaning import clean_reviews
        from homogenization.corpus.reading import read_reviews
        from homogenization.corpus.sampling import sample_size

        read = read_reviews(self.source, self.text_column, self.label_column)
        asked = self.in_sample(self.params("balance_by", "min_words", "max_words"))
        n_reviews = sample_size(clean_reviews(read), **asked)
        if n_reviews < 2:
            raise ValueError(
                f"n_reviews: cleaning leaves {n_reviews} reviews of {self.min_words} to {self.max_words} words in "
                f"{self.source}. Widen min_words and max_words, or give a larger file"
            )
        return self.model_copy(update={"n_reviews": n_reviews})

    def in_sample(self, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a rule, with the sample's names of the columns that they name of the source."""
        named = {key: params[key] for key in ("balance_by", "by", "column") if params.get(key)}
        return params | {key: sample_name(of, self.text_column, self.label_column) for key, of in named.items()}

    @property
    def is_local(self) -> bool:
        """Whether the corpus is a file on this machine."""
        return is_local(self.source)
