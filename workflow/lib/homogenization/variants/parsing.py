"""The parse of reviews by spaCy: a `Doc` for each, with its sentences as spans."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
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

#: Under this name a `Doc` has its sentences: `doc.spans[SENTENCES]`.
SENTENCES = "sentences"
# characters of a sentence that is parsed, and of a run without white space in it: the parser takes a time that grows
# with the square of a run
LONGEST_PARSED, LONGEST_RUN = 6000, 500


def load_pipeline(package: str) -> "Language":
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


def parse_reviews(reviews: pl.DataFrame, package: str) -> "list[Doc]":
    """A `Doc` for each review, with its `SENTENCES`; each sentence is parsed by itself.

    A sentence that is too long for the parser has runs between spaces as tokens, without any relation; it is told.

    Args:
        reviews: Columns review_id, text, cleaned.
        package: Package of the pipeline, as in `load_pipeline`.
    """
    from spacy.tokens import Doc, Span

    pipeline = load_pipeline(package)
    texts = [(name, text, sentence_spans(text)) for name, text in reviews.select("review_id", "text").iter_rows()]
    sentences = [(name, text[slice(*span)]) for name, text, spans in texts for span in spans]
    left_out = [name for name, sentence in sentences if not is_parsed(sentence)]
    if left_out:
        announce(
            f"parser: {len(left_out)} sentences are not parsed and stay as they are, since they have over "
            f"{LONGEST_PARSED} characters, or over {LONGEST_RUN} without white space, in the reviews "
            f"{', '.join(dict.fromkeys(left_out))}."
        )
    parsed = pipeline.pipe(sentence for _, sentence in sentences if is_parsed(sentence))
    docs = []
    for _, text, spans in texts:
        own = [text[slice(*span)] for span in spans]
        parts = [next(parsed) if is_parsed(one) else Doc(pipeline.vocab, one.split()) for one in own]
        doc = Doc.from_docs(parts, exclude=["tensor"]) if parts else Doc(pipeline.vocab)
        doc.spans[SENTENCES] = [Span(doc, *ends) for ends in pairwise(accumulate(map(len, parts), initial=0))]
        docs.append(doc)
    return docs


def is_parsed(sentence: str) -> bool:
    """Whether a sentence is parsed; one that is no sentence of a language stays as it is."""
    return len(sentence) <= LONGEST_PARSED and max(map(len, sentence.split()), default=0) <= LONGEST_RUN


def write_parse(docs: "Sequence[Doc]", path: str | Path) -> None:
    """Write the `Doc` of each review as a `DocBin`, whole."""
    from spacy.tokens import DocBin

    attributes = ["TAG", "POS", "DEP", "HEAD", "ENT_IOB", "ENT_TYPE", "SENT_START"]
    with written_whole(path) as partial:
        DocBin(attrs=attributes, docs=docs).to_disk(partial)


def read_parse(path: str | Path) -> "list[Doc]":
    """Read what `write_parse` wrote."""
    import spacy
    from spacy.tokens import DocBin

    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))
