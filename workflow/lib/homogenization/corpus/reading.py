"""Reading of raw reviews with `datasets`, from a data set of the hub or a local file."""

import tempfile
from pathlib import Path

import polars as pl

from homogenization.corpus.sources import BUILDERS, is_local, missing_column
from homogenization.run.errors import HomogenizationError
from homogenization.run.hub import check_cached, first_line, hub_advice, unreachable


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
        label_column: Column with the review's label; None for a corpus without labels.
        subset: Configuration of a hub data set ("plain_text").
        revision: Commit, branch or tag of a hub data set.
        split: Split of a hub data set, or part of one ("train[:1000]"). A local file is the split "train".

    Returns:
        Columns row (Int64), text and label (String). A class label appears as its name if the data set has names,
        otherwise as its number. A missing label is null; without a label column, every label is "".

    Raises:
        HomogenizationError: the source can't be read, is empty, or lacks a column.
    """
    with _folder_for_copies(source) as cache:
        if is_local(source):
            dataset = _local_dataset(source, split, cache)
        else:
            dataset = _hub_dataset(source, subset, revision, split, cache)
        for key, column in (("text_column", text_column), ("label_column", label_column)):
            if column is not None and column not in dataset.column_names:
                raise HomogenizationError(missing_column(key, column, source, dataset.column_names))
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


def _folder_for_copies(source: str) -> tempfile.TemporaryDirectory:
    """A new folder for the Arrow copies that `datasets` makes, for a hub data set where its cache has room for them.

    Copies of an earlier run would hide an edit of a local file; of a hub data set, they would stand in for any other
    revision where the hub does not answer.
    """
    if not is_local(source):
        from datasets import config

        try:
            Path(config.HF_DATASETS_CACHE).mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryDirectory(
                dir=config.HF_DATASETS_CACHE, prefix="reviews-", ignore_cleanup_errors=True
            )
        except OSError:  # a cache that others have filled may be read-only
            pass
    return tempfile.TemporaryDirectory(prefix="reviews-", ignore_cleanup_errors=True)


def _local_dataset(source: str, split: str, cache: str):
    """Load a file, or part of it, with the folder `cache` for the copies of `datasets`."""
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
        return load_dataset(BUILDERS[path.suffix.lower()], data_files=str(path), split=split, cache_dir=cache)
    except Exception as error:  # each builder raises its own kinds of errors
        if isinstance(error, ValueError) and split != "train":
            raise HomogenizationError(
                f"corpus: split {split!r} is no part of the local file {source} ({first_line(error)}). Allowed: train, "
                "or a part of it, such as train[:1000] or train[50%:]."
            ) from error
        reason = first_line(error.__cause__ or error)
        raise HomogenizationError(
            f"corpus: {source} could not be read as {BUILDERS[path.suffix.lower()]}: {reason}."
        ) from error


def _hub_dataset(source: str, subset: str | None, revision: str | None, split: str, cache: str):
    """Load one split of a hub data set through the hub's own cache, with the folder `cache` for Arrow copies.

    Where the hub gives no answer, the files of this revision that were fetched before are read.
    """
    from datasets import load_dataset

    description = f"the hub data set '{source}'" + "".join(
        f", {name} '{value}'"
        for name, value in (("subset", subset), ("revision", revision), ("split", split))
        if value is not None
    )
    fetched = None
    try:
        try:
            _fetch_card(source, revision)
            dataset = load_dataset(source, name=subset, revision=revision, split=split, cache_dir=cache)
            fetched = _fetched_before(source, revision)
        except Exception as error:
            fetched = _fetched_before(source, revision)
            if fetched is None or not unreachable(error):
                raise
            dataset = load_dataset(str(fetched), name=subset, split=split, cache_dir=cache)
    except Exception as error:  # each builder raises its own kinds of errors
        if fetched is not None:
            check_cached(fetched)
        if isinstance(error, ValueError) and not isinstance(error, OSError):
            reason = f"{first_line(error)}. Give a subset and a split that the page of the data set lists."
        else:
            local = f"give the path of a local {', '.join(sorted(BUILDERS))} file as corpus.source"
            reason = hub_advice(error, f"datasets/{source}", local)
        raise HomogenizationError(f"corpus: {description} could not be loaded: {reason}") from error
    if fetched is not None:
        check_cached(fetched)
    return dataset


def _fetch_card(source: str, revision: str | None) -> None:
    """Fetch the page of a hub data set, with which `datasets` begins: errors of the hub are told apart here."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        hf_hub_download(source, "README.md", repo_type="dataset", revision=revision)
    except LocalEntryNotFoundError:
        raise
    except EntryNotFoundError:
        pass  # a data set needs none


def _fetched_before(source: str, revision: str | None) -> Path | None:
    """The folder in the hub's cache with the files of a data set that were fetched; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source, repo_type="dataset", revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def _label_names(dataset, column: str) -> list[str | None]:
    """The labels as text: class names if the data set has them. The number -1 marks an unlabelled row, here null."""
    from datasets import ClassLabel

    feature = dataset.features[column]
    if isinstance(feature, ClassLabel):
        return [None if value is None or value < 0 else feature.int2str(value) for value in dataset[column]]
    return [None if value is None else str(value) for value in dataset[column]]
