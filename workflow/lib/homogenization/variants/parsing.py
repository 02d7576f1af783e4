"""The parse of reviews by spaCy: a `Doc` for each sentence."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from homogenization.corpus.sentences import sentence_spans
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.log import announce

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# characters of a sentence that is parsed, and of a run without white space in it: the parser takes a time that grows
# with the square of a run
LONGEST_PARSED, LONGEST_RUN = 6000, 500


@cache
def load_pipeline(package: str) -> "Language":
    """The spaCy pipeline of an installed package, loaded once in a process.

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


def parse_reviews(reviews: pl.DataFrame, package: str) -> "list[Doc]":
    """A `Doc` for each sentence of the reviews in turn; an empty one for a sentence that is too long for the parser.

    Args:
        reviews: Column text, cleaned.
        package: Package of the pipeline, as in `load_pipeline`.
    """
    sentences = [text[slice(*span)] for text in reviews["text"] for span in sentence_spans(text)]
    too_long = [len(one) > LONGEST_PARSED or max(map(len, one.split())) > LONGEST_RUN for one in sentences]
    if any(too_long):
        announce(
            f"parser: {sum(too_long)} sentences are not parsed and stay as they are, since they have over "
            f"{LONGEST_PARSED} characters, or over {LONGEST_RUN} without white space."
        )
    parsed = ("" if is_long else one for one, is_long in zip(sentences, too_long, strict=True))
    return list(load_pipeline(package).pipe(parsed))


def write_parse(docs: "Sequence[Doc]", path: str | Path) -> None:
    """Write the `Doc` of each sentence as a `DocBin`, whole."""
    from spacy.tokens import DocBin

    attributes = ["TAG", "POS", "DEP", "HEAD", "ENT_IOB", "ENT_TYPE"]
    with written_whole(path) as partial:
        DocBin(attrs=attributes, docs=docs).to_disk(partial)


def read_parse(path: str | Path) -> "list[Doc]":
    """Read what `write_parse` wrote."""
    import spacy
    from spacy.tokens import DocBin

    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))
