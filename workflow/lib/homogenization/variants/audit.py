"""A blind audit of rewritten sentences: what readers are shown."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import polars as pl

from homogenization.corpus.cleaning import review_id
from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.variants import ORIGINAL
from homogenization.run.parquet import read_tables
from homogenization.variants.ratings import QUESTIONS

SHEET_SCHEMA = {"item": pl.String, "original": pl.String, "rewritten": pl.String, **dict.fromkeys(QUESTIONS, pl.String)}
SCHEMAS = {"sheet": SHEET_SCHEMA}
PASSAGES = 40  # of each variant on a sheet


def tabulate(variants: Sequence[str], seed: int) -> pl.DataFrame:
    """The `sheet` of files of variants, `original` among them."""
    return sheet(read_tables(variants), seed)


class Passage(NamedTuple):
    """Sentences of a review that a variant changed, before and after, and how many they were."""

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
    for _, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        old, new, n_sentences = before[start:end], after[new_start:new_end], 1
        if len(old) != len(new):
            old, new, n_sentences = [" ".join(old)], [" ".join(new)], len(old)
        for pair in zip(old, new, strict=True):
            if words(pair[0]) != words(pair[1]):
                yield Passage(variant, *pair, n_sentences)


def passages_of(variants: pl.DataFrame) -> list[Passage]:
    """All passages of the rewritten variants.

    Args:
        variants: Columns variant, review_id, text, with the rows of `original`.
    """
    originals = dict(variants.filter(variant=ORIGINAL).select("review_id", "text").iter_rows())
    rewritten = variants.filter(pl.col("variant") != ORIGINAL).select("variant", "review_id", "text").iter_rows()
    return [passage for variant, review, text in rewritten for passage in passages(variant, originals[review], text)]


def sheet(variants: pl.DataFrame, seed: int) -> pl.DataFrame:
    """`PASSAGES` of each variant, drawn at random and shuffled, with empty answers (`SHEET_SCHEMA`).

    A passage is drawn by a hash of its texts, whatever else the study holds; one that two variants share stands once.
    """
    drawn: dict[str, Passage] = {}
    found = sorted(passages_of(variants), key=lambda passage: seeded_hash(seed, passage.item))
    for variant in {passage.variant for passage in found}:
        drawn |= {one.item: one for one in [one for one in found if one.variant == variant][:PASSAGES]}
    order = sorted(drawn, key=lambda item: seeded_hash(seed, "sheet", item))
    rows = [(item, drawn[item].original, drawn[item].rewritten, *[""] * len(QUESTIONS)) for item in order]
    return pl.DataFrame(rows, schema=SHEET_SCHEMA, orient="row")
