"""The corpus: reviews read from any `datasets` source, cleaned, and sampled in nested, balanced shards."""

import html
import logging
import re
import tempfile
import unicodedata
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path

import polars as pl

from homogenization.corpus.sentences import word_spans
from homogenization.run.errors import HomogenizationError

BUILDERS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}

_BLOCK_TAG = re.compile(r"</?(?:br|p|hr|div|li|ul|ol)\b[^<>]*>", re.IGNORECASE)
_INLINE_TAG = re.compile(r"</?(?:i|b|em|strong|u|s|span|a|font)\b[^<>]*>", re.IGNORECASE)
# Bytes 0x80-0x9f of Windows-1252 that were read as Latin-1: the dashes, quotes and ellipses of old web pages
_WINDOWS_1252 = {byte: bytes([byte]).decode("cp1252", errors="ignore") or None for byte in range(0x80, 0xA0)}


def read_reviews(
    source: str,
    text_column: str,
    label_column: str | None,
    subset: str | None = None,
    revision: str | None = None,
    split: str = "train",
) -> pl.DataFrame:
    """Read a data set of the hub, or a local .parquet, .csv, .json or .jsonl file.

    Args:
        source: Hub id ("stanfordnlp/imdb") or path of a local file.
        text_column: Column with the review's text.
        label_column: Column with its label; None for a corpus without labels.
        subset: Configuration of a hub data set ("plain_text").
        revision: Commit, branch or tag of a hub data set.
        split: Split of a hub data set; a local file has one, "train".

    Returns:
        Columns row (Int64), text and label (String). A class label is its name where the data set has names, else the
        number as text; a missing label is null, and "" everywhere if there is no label column.

    Raises:
        HomogenizationError: the source can't be read, is empty, or lacks a column.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        dataset = _local_dataset(source, cache) if _is_local(source) else _hub_dataset(source, subset, revision, split)
        for key, column in (("text_column", text_column), ("label_column", label_column)):
            if column is not None and column not in dataset.column_names:
                nearest = get_close_matches(column, dataset.column_names, n=1, cutoff=0.5)
                meant = f" Did you mean '{nearest[0]}'?" if nearest else ""
                raise HomogenizationError(
                    f"corpus: {key} '{column}' is no column of {source}. "
                    f"It has: {', '.join(sorted(dataset.column_names))}.{meant}"
                )
        if len(dataset) == 0:
            raise HomogenizationError(f"corpus: {source} holds no rows. Give a source with reviews.")
        texts = list(dataset[text_column])
        wrong = next((text for text in texts if text is not None and not isinstance(text, str)), None)
        if wrong is not None:
            raise HomogenizationError(
                f"corpus: text_column '{text_column}' of {source} holds {type(wrong).__name__} values, not text. "
                f"It has the columns: {', '.join(sorted(dataset.column_names))}."
            )
        labels = [""] * len(texts) if label_column is None else _label_names(dataset, label_column)
    return pl.DataFrame(
        {"row": range(len(texts)), "text": texts, "label": labels},
        schema={"row": pl.Int64, "text": pl.String, "label": pl.String},
    )


def _is_local(source: str) -> bool:
    """Whether `source` is meant as a path of this machine and not as a hub id."""
    return Path(source).suffix.lower() in BUILDERS or Path(source).exists() or source.startswith((".", "/", "~"))


def _local_dataset(source: str, cache: str):
    """Load a file; what `datasets` keeps for it goes to `cache`, so that an edited file is never read stale."""
    from datasets import load_dataset

    path = Path(source).expanduser()
    if not path.is_file():
        raise HomogenizationError(
            f"corpus: the file {source} does not exist. Give a {', '.join(sorted(BUILDERS))} file, or a hub id."
        )
    if path.suffix.lower() not in BUILDERS:
        raise HomogenizationError(f"corpus: {source} has no known ending. Allowed: {', '.join(sorted(BUILDERS))}.")
    if path.stat().st_size == 0:
        raise HomogenizationError(f"corpus: {source} is empty. Give a file with reviews.")
    try:
        return load_dataset(BUILDERS[path.suffix.lower()], data_files=str(path), split="train", cache_dir=cache)
    except Exception as error:  # every builder has errors of its own
        reason = _first_line(error.__cause__ or error)
        raise HomogenizationError(
            f"corpus: {source} could not be read as {BUILDERS[path.suffix.lower()]}: {reason}."
        ) from error


def _hub_dataset(source: str, subset: str | None, revision: str | None, split: str):
    """Load one split of a hub data set through the hub's own cache."""
    from datasets import load_dataset
    from datasets.exceptions import DatasetNotFoundError

    asked = f"the hub data set '{source}'" + "".join(
        f", {name} '{value}'"
        for name, value in (("subset", subset), ("revision", revision), ("split", split))
        if value is not None
    )
    advice = (
        "Log in with `hf auth login` or set HF_TOKEN if it needs a login, or download it elsewhere and give the "
        f"path of a local {', '.join(sorted(BUILDERS))} file as the source."
    )
    try:
        return load_dataset(source, name=subset, revision=revision, split=split)
    except DatasetNotFoundError as error:
        raise HomogenizationError(
            f"corpus: {asked} was not found, is private, or is gated ({_first_line(error)}). "
            f"Check the spelling. {advice}"
        ) from error
    except ConnectionError as error:
        raise HomogenizationError(
            f"corpus: {asked} could not be fetched: there is no network, and it is not in the local cache. {advice}"
        ) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise HomogenizationError(f"corpus: {asked} could not be loaded: {_first_line(error)}. {advice}") from error


def _first_line(error: BaseException) -> str:
    """An error in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _label_names(dataset, column: str) -> list[str | None]:
    """The labels as text: class names where the data set has them; -1, the mark of an unlabelled row, becomes null."""
    from datasets import ClassLabel

    feature = dataset.features[column]
    if isinstance(feature, ClassLabel):
        return [None if value is None or value < 0 else feature.int2str(value) for value in dataset[column]]
    return [None if value is None else str(value) for value in dataset[column]]


def clean_text(text: str) -> str:
    """Take the marks of the web out of a review; running it on its own result changes nothing.

    HTML entities (also escaped twice), HTML tags, mistaken Windows-1252 characters, control and other invisible
    characters go; Unicode is brought to its composed form (NFC) and white space to single spaces.
    """
    while (cleaned := _cleaned_once(text)) != text:
        text = cleaned
    return text


def _cleaned_once(text: str) -> str:
    text = html.unescape(text)
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub(" ", text))
    text = text.translate(_WINDOWS_1252)
    # C: control, format (zero width space, soft hyphen, byte order mark), lone surrogate, private, unassigned
    text = "".join(
        character
        for character in unicodedata.normalize("NFC", text)
        if character.isspace() or unicodedata.category(character)[0] != "C"
    )
    return " ".join(text.split())


def review_id(text: str) -> str:
    """Name a review by its cleaned text: 12 hexadecimal digits of BLAKE2b."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def clean_reviews(raw: pl.DataFrame) -> pl.DataFrame:
    """Clean the reviews and drop empty ones, unlabelled ones and exact duplicates.

    Args:
        raw: Columns text and label (String), as `read_reviews` gives them.

    Returns:
        Columns review_id, text, label, n_words (Int64), sorted by review_id: the same whatever the order of `raw`. Of
        duplicates with different labels the alphabetically first label is kept.

    Raises:
        HomogenizationError: nothing is left.
    """
    labelled = raw.drop_nulls(["text", "label"])
    texts = [clean_text(text) for text in labelled["text"]]
    clean = (
        labelled.select(
            pl.Series("review_id", [review_id(text) for text in texts], pl.String),
            pl.Series("text", texts, pl.String),
            "label",
            pl.Series("n_words", [len(word_spans(text)) for text in texts], pl.Int64),
        )
        .filter(pl.col("n_words") > 0)
        .sort("review_id", "label")
        .unique("text", keep="first", maintain_order=True)
    )
    logging.info("%d reviews of %d rows are left after cleaning", len(clean), len(raw))
    if clean.is_empty():
        raise HomogenizationError(
            f"corpus: none of the {len(raw)} rows has both words and a label. Check text_column and label_column."
        )
    return clean


def sample_reviews(
    clean: pl.DataFrame,
    seed: int,
    start: int,
    stop: int,
    balance: bool = True,
    min_words: int | None = None,
    max_words: int | None = None,
) -> pl.DataFrame:
    """Take the ranks start … stop − 1 of the sample: one shard.

    Within each label the reviews are ranked by a hash of (seed, review_id), and the labels take turns in alphabetical
    order. A review's rank depends on nothing else, so shards are nested: a larger sample only adds ranks.

    Args:
        clean: Columns review_id, text, label, n_words.
        seed: Seed of the ranking.
        start: First rank, 0 for the first review.
        stop: One more than the last rank.
        balance: Whether labels take turns; otherwise all reviews are ranked together.
        min_words: Shortest review, in words; None for no bound.
        max_words: Longest review, in words; None for no bound.

    Returns:
        Columns review_id, text, label, rank (Int64), sorted by rank.

    Raises:
        HomogenizationError: a label has too few reviews of such length for the ranks.
    """
    n_words = pl.col("n_words")
    fitting = clean.filter(n_words >= (min_words or 0), pl.lit(True) if max_words is None else n_words <= max_words)
    labels = sorted(clean["label"].unique()) if balance else [None]
    ranked = []
    for turn, label in enumerate(labels):
        group = fitting if label is None else fitting.filter(pl.col("label") == label)
        hashes = [blake2b(f"{seed}:{name}".encode(), digest_size=16).hexdigest() for name in group["review_id"]]
        ordered = group.with_columns(pl.Series("hash", hashes, pl.String)).sort("hash")
        ranked.append(ordered.with_columns(rank=pl.int_range(pl.len(), dtype=pl.Int64) * len(labels) + turn))
    shard = pl.concat(ranked).filter(pl.col("rank").is_between(start, stop, closed="left")).sort("rank")
    if len(shard) < stop - start:
        raise HomogenizationError(_too_few(fitting, labels, stop, min_words, max_words))
    return shard.select("review_id", "text", "label", "rank")


def _too_few(
    fitting: pl.DataFrame, labels: list[str | None], stop: int, min_words: int | None, max_words: int | None
) -> str:
    """What the sample wanted, what there is, and what to change."""
    bounds = f"{min_words or 0} to {'any number of' if max_words is None else max_words} words"
    if labels == [None]:
        return (
            f"corpus: {stop} reviews are wanted, but only {len(fitting)} of {bounds} are left after cleaning. "
            "Lower n_reviews, widen min_words and max_words, or give a larger corpus."
        )
    wanted = {label: -(-(stop - turn) // len(labels)) for turn, label in enumerate(labels)}
    there = {label: fitting.filter(pl.col("label") == label).height for label in labels}
    counts = ", ".join(f"label '{label}': {there[label]} of {wanted[label]} wanted" for label in labels)
    return (
        f"corpus: too few reviews of {bounds} for a balanced sample of {stop} ({counts}). Lower n_reviews, widen "
        "min_words and max_words, give a larger corpus, or set label_column: null to sample without regard to labels."
    )
