"""The parse of reviews by spaCy: words, what depends on what, noun chunks and names, in a table."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.corpus.sentences import LONGEST_PARSED, LONGEST_RUN, is_parsed, sentence_spans
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import announce
from homogenization.run.packages import package_folder
from homogenization.variants.schemas import PARSE_SCHEMA

# spaCy's kinds of entities that are names; the others are numbers and dates
NAMES = frozenset(("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"))


def parse_reviews(reviews: pl.DataFrame, parser: Mapping[str, Any]) -> pl.DataFrame:
    """Parse each sentence of the reviews by itself: `parse_with` the pipeline of `load_pipeline`."""
    return parse_with(load_pipeline(parser), reviews)


def load_pipeline(parser: Mapping[str, Any]) -> Any:
    """The spaCy pipeline of a parser.

    Args:
        parser: `package` that carries a spaCy pipeline, and `sha256` of its files or None.

    Raises:
        HomogenizationError: the package is not installed, carries no pipeline, or differs from its `sha256`.
    """
    import spacy

    folder = pipeline_folder(parser["package"])
    if parser["sha256"] is not None and (digest := digest_of(folder)) != parser["sha256"]:
        raise HomogenizationError(
            f"parser: the files of the package '{parser['package']}' have the SHA-256 {digest}, and should have "
            f"{parser['sha256']}. Install the version that envs/requirements.txt names."
        )
    pipeline = spacy.load(folder, exclude=["lemmatizer"])
    infixes = [*pipeline.Defaults.infixes, r"(?<=\w)[(\[{](?=\w)"]  # "Cooper(the father)"
    pipeline.tokenizer.infix_finditer = spacy.util.compile_infix_regex(infixes).finditer
    return pipeline


def parse_with(pipeline: Any, reviews: pl.DataFrame) -> pl.DataFrame:
    """Parse each sentence of the reviews by itself, unless it is too long (`is_parsed`): such a sentence is told.

    Args:
        pipeline: Pipeline from `load_pipeline`.
        reviews: Columns review_id, text.

    Returns:
        A row for each token of a sentence that was parsed: columns of `PARSE_SCHEMA`, in the order of `reviews`, then
        in reading order.
    """
    left_out: list[str] = []
    sentences = [
        (name, number, start, text[start:end])
        for name, text in reviews.select("review_id", "text").iter_rows()
        for number, (start, end) in enumerate(sentence_spans(text))
        if is_parsed(text, start, end) or left_out.append(name)
    ]
    if left_out:
        announce(
            f"parser: {len(left_out)} sentences are not parsed and stay as they are, since they have over "
            f"{LONGEST_PARSED} characters, or over {LONGEST_RUN} without white space, in the reviews "
            f"{', '.join(dict.fromkeys(left_out))}."
        )
    rows = []
    parsed = pipeline.pipe([sentence for *_, sentence in sentences])
    for (name, number, offset, _), doc in zip(sentences, parsed, strict=True):
        chunks = {token.i: index for index, chunk in enumerate(doc.noun_chunks) for token in chunk}
        entities = enumerate(entity for entity in doc.ents if entity.label_ in NAMES)
        names = {token.i: index for index, entity in entities for token in entity}
        rows += [
            (
                *(name, number, offset + token.idx, offset + token.idx + len(token)),
                *(token.head.i, token.pos_, token.tag_, token.dep_, chunks.get(token.i), names.get(token.i)),
            )
            for token in doc
        ]
    return pl.DataFrame(rows, schema=PARSE_SCHEMA, orient="row")


def pipeline_folder(package: str) -> Path:
    """The folder of the spaCy pipeline inside an installed package.

    Raises:
        HomogenizationError: the package is not installed, or carries no pipeline.
    """
    folder = package_folder(package)
    pipelines = [path.parent for path in folder.glob("*/config.cfg")] if folder else []
    if not pipelines:
        raise HomogenizationError(
            f"parser: the package '{package}' is not installed or carries no spaCy pipeline. Install it, or name "
            "another under 'parser.package'."
        )
    return pipelines[0]


def digest_of(folder: Path) -> str:
    """SHA-256 over the names and contents of all files below `folder`, sorted by name: 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
