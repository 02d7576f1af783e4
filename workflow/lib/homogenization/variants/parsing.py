"""The parse of reviews by spaCy: words, what depends on what, noun chunks and names, in a table."""

from typing import Any

import polars as pl

from homogenization.corpus.sentences import LONGEST_PARSED, LONGEST_RUN, is_parsed, sentence_spans
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import announce
from homogenization.variants.schemas import PARSE_SCHEMA

# spaCy's kinds of entities that are names; the others are numbers and dates
NAMES = frozenset(("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"))


def parse_reviews(reviews: pl.DataFrame, package: str) -> pl.DataFrame:
    """Parse each sentence of the reviews by itself: `parse_with` the spaCy pipeline of a package."""
    return parse_with(load_pipeline(package), reviews)


def load_pipeline(package: str) -> Any:
    """The spaCy pipeline of an installed package.

    Raises:
        HomogenizationError: the package is not installed, or carries no pipeline.
    """
    import spacy

    try:
        pipeline = spacy.load(package, exclude=["lemmatizer"])
    except (OSError, AttributeError) as error:
        raise HomogenizationError(
            f"parser: the package '{package}' is not installed or carries no spaCy pipeline. Install it, or name "
            "another under 'parser.package'."
        ) from error
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
