"""A blind audit of rewritten sentences: what readers are shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

import polars as pl

from homogenization.corpus.cleaning import review_id
from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.variants import ORIGINAL
from homogenization.variants.ratings import QUESTIONS

SHEET_SCHEMA = {"item": pl.String, "original": pl.String, "rewritten": pl.String, **dict.fromkeys(QUESTIONS, pl.String)}


@dataclass(frozen=True)
class Passage:
    """A run of sentences of a review that a variant changed.

    Attributes:
        variant: Name of the variant.
        original: The sentences as the review has them.
        rewritten: The sentences in their place in the variant.
        n_sentences: Sentences of `original`.
    """

    variant: str
    original: str
    rewritten: str
    n_sentences: int

    @property
    def item(self) -> str:
        """12 hexadecimal digits of a hash of both texts, by which a rating finds its passage and tells no variant."""
        return review_id(f"{self.original}\n{self.rewritten}")


def passages(variant: str, original: str, rewritten: str) -> Iterator[Passage]:
    """What a variant changed in a review, sentence by sentence where the sentences correspond."""
    before, after = ([text[slice(*span)] for span in sentence_spans(text)] for text in (original, rewritten))
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        pairs = list(zip(before[start:end], after[new_start:new_end], strict=False))
        if end - start == new_end - new_start:
            n_sentences = 1
        else:
            pairs, n_sentences = [(" ".join(before[start:end]), " ".join(after[new_start:new_end]))], end - start
        yield from (Passage(variant, *pair, n_sentences) for pair in pairs if words(pair[0]) != words(pair[1]))


def passages_of(variants: pl.DataFrame) -> list[Passage]:
    """All passages of the rewritten variants.

    Args:
        variants: Columns variant, review_id, text, with the rows of `original`.
    """
    originals = dict(variants.filter(variant=ORIGINAL).select("review_id", "text").iter_rows())
    rewritten = variants.filter(pl.col("variant") != ORIGINAL).select("variant", "review_id", "text")
    rows = rewritten.iter_rows()
    return [passage for variant, review, text in rows for passage in passages(variant, originals[review], text)]


def sheet(variants: pl.DataFrame, n_passages: int, seed: int) -> pl.DataFrame:
    """Passages of each variant, drawn at random and shuffled, with empty answers (`SHEET_SCHEMA`).

    Args:
        variants: As in `passages_of`.
        n_passages: Passages of each variant; all where it has fewer. One that two variants share stands once.
        seed: Seed of the draw. A passage is drawn by a hash of its texts, whatever else the study holds.
    """
    of_variant: dict[str, list[Passage]] = {}
    for passage in passages_of(variants):
        of_variant.setdefault(passage.variant, []).append(passage)
    drawn = {
        passage.item: passage
        for own in of_variant.values()
        for passage in sorted(own, key=lambda passage: seeded_hash(seed, passage.item))[:n_passages]
    }
    order = sorted(drawn, key=lambda item: seeded_hash(seed, "sheet", item))
    rows = [(item, drawn[item].original, drawn[item].rewritten, *[""] * len(QUESTIONS)) for item in order]
    return pl.DataFrame(rows, schema=SHEET_SCHEMA, orient="row")
