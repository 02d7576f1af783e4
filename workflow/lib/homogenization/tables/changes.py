"""What a rewriting changed: the words of each text, and the sentences that hold its key phrases."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from homogenization.corpus.hashing import seeded_hash
from homogenization.corpus.sentences import words
from homogenization.names.columns import columns

# of a rewritten review
CHANGES_SCHEMA = {
    "words_hash": pl.String,  #: of the words in their order: two texts of a review with one hash are the same
    "changed": pl.Boolean,  #: the words, in their order, are not those of the original; null for `random_pairs`
    #: sentences of the original with a phrase that was to move, the sum of the next three; null for `random_pairs`,
    #: also in these
    "n_sentences": pl.Int64,
    "n_sentences_moved": pl.Int64,  #: of which a phrase has another place in its sentence than in the original
    #: in which no phrase has, and one stands at the variant's edge; 0 for a variant without an edge
    "n_sentences_in_place": pl.Int64,
    "n_sentences_not_moved": pl.Int64,  #: the others
}
_ROWS_SCHEMA = {**columns("variant", "review_id"), **CHANGES_SCHEMA}
_EDGES = {"front": 0.0, "end": 1.0}  # the place in a sentence that is at an edge


def changes_of_reviews(
    originals: pl.DataFrame, variants: Iterable[pl.DataFrame], positions: Mapping[str, str | None]
) -> pl.DataFrame:
    """What the rewriting of each review changed: variant, review_id and `CHANGES_SCHEMA`, in the order of `variants`.

    Args:
        originals: Columns review_id, text.
        variants: Rewritten reviews, columns of `VARIANT_SCHEMA`.
        positions: Where phrases of a variant are to stand, by its name; only `front` and `end` are edges.
    """
    texts = dict(originals.select("review_id", "text").iter_rows())
    rows = []
    for variant, name, text, placements in (
        row for table in variants for row in table.select("variant", "review_id", "text", "placements").iter_rows()
    ):
        own = words(text)
        edge = _EDGES.get(positions.get(variant))
        rows.append((variant, name, _hash(own), own != words(texts[name]), *sentence_counts(placements, edge)))
    return pl.DataFrame(rows, schema=_ROWS_SCHEMA, orient="row")


def _hash(text_words: Sequence[str]) -> str:
    return seeded_hash(0, " ".join(text_words), size=8).hex()


def sentence_counts(placements: Sequence[Mapping[str, Any]], edge: float | None) -> tuple[int, int, int, int]:
    """Sentences with a phrase that was to move; of these: moved, in place already, not moved.

    Args:
        placements: The phrases: sentence, original_position and position; a phrase that is its sentence has neither
            position, and cannot move.
        edge: The position of the edge at which the phrases are to stand; None where there is none.
    """
    by_sentence: dict[int, list[tuple[float | None, float | None]]] = {}
    for at in placements:
        by_sentence.setdefault(at["sentence"], []).append((at["original_position"], at["position"]))
    moved = [any(before != after for before, after in places) for places in by_sentence.values()]
    there = [edge is not None and any(after == edge for _, after in places) for places in by_sentence.values()]
    n_in_place = sum(at_edge and not has_moved for at_edge, has_moved in zip(there, moved, strict=True))
    return len(moved), sum(moved), n_in_place, len(moved) - sum(moved) - n_in_place
