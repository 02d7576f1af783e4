"""A blind audit of rewritten sentences: what readers are shown, and what they said."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import polars as pl

from homogenization.corpus.cleaning import review_id
from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError

# What a reader says of a rewritten passage: yes or no to each. A passage is sound where all four are yes.
QUESTIONS = {
    "well_formed": "It is good English, or as good as the original.",
    "same_meaning": "It says the same.",
    "complete": "It leaves nothing out.",
    "no_repeats": "It says nothing twice.",
}
SHEET_SCHEMA = {"item": pl.String, "original": pl.String, "rewritten": pl.String, **dict.fromkeys(QUESTIONS, pl.String)}
_ANSWERS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}


@dataclass(frozen=True)
class Passage:
    """A run of sentences of a review that a variant changed.

    Attributes:
        variant: Name of the variant.
        review: The review_id.
        original: The sentences as the review has them.
        rewritten: The sentences in their place in the variant.
        n_sentences: Sentences of `original`.
    """

    variant: str
    review: str
    original: str
    rewritten: str
    n_sentences: int

    @property
    def item(self) -> str:
        """12 hexadecimal digits of a hash of both texts, by which a rating finds its passage and tells no variant."""
        return review_id(f"{self.original}\n{self.rewritten}")


def passages(variant: str, review: str, original: str, rewritten: str) -> Iterator[Passage]:
    """What a variant changed in a review, sentence by sentence where the sentences correspond."""
    before, after = _sentences(original), _sentences(rewritten)
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in blocks:
        if kind == "equal":
            continue
        pairs = zip(before[start:end], after[new_start:new_end], strict=False)
        corresponds = end - start == new_end - new_start
        for one, other in pairs if corresponds else [(" ".join(before[start:end]), " ".join(after[new_start:new_end]))]:
            if words(one) != words(other):
                yield Passage(variant, review, one, other, 1 if corresponds else end - start)


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def passages_of(variants: pl.DataFrame) -> list[Passage]:
    """All passages of the rewritten variants.

    Args:
        variants: Columns variant, review_id, text, with the rows of `original`.
    """
    originals = dict(variants.filter(variant=ORIGINAL).select("review_id", "text").iter_rows())
    rewritten = variants.filter(pl.col("variant") != ORIGINAL).select("variant", "review_id", "text")
    return [
        passage
        for variant, review, text in rewritten.iter_rows()
        for passage in passages(variant, review, originals[review], text)
    ]


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


def readings(files: Sequence[str]) -> list[dict[str, bool]]:
    """What each reader found sound, by item; items without all four answers are left out.

    Args:
        files: CSV files with the columns item and `QUESTIONS`, one for each reader; further columns are ignored.

    Raises:
        HomogenizationError: a file can't be read, lacks a column, answers something else than yes or no, or answers
            nothing.
    """
    return [_reading(file) for file in files]


def _reading(file: str) -> dict[str, bool]:
    try:
        table = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise HomogenizationError(f"audit.ratings: {file} can't be read as CSV: {error}") from None
    missing = [name for name in ("item", *QUESTIONS) if name not in table.columns]
    if missing:
        raise HomogenizationError(
            f"audit.ratings: {file} has no column {', '.join(missing)}. Fill in the sheet of `snakemake audit`."
        )
    found: dict[str, bool] = {}
    for row in table.select("item", *QUESTIONS).iter_rows(named=True):
        given = {name: (row[name] or "").strip().casefold() for name in QUESTIONS}
        wrong = next((name for name, answer in given.items() if answer and answer not in _ANSWERS), None)
        if wrong:
            raise HomogenizationError(
                f"audit.ratings: {file} answers {row[wrong]!r} to {wrong} of the item {row['item']}; write yes or no."
            )
        if all(given.values()):
            found[row["item"]] = all(_ANSWERS[answer] for answer in given.values())
    if not found:
        raise HomogenizationError(f"audit.ratings: {file} answers all four questions of no item. Fill in the sheet.")
    return found
