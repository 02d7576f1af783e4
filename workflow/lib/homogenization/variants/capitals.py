"""Capitals at the beginning of a sentence: which word owes its capital to its place, and which to itself."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from homogenization.corpus.sentences import chunks, folded, is_stop_word, sentence_spans
from homogenization.variants.atoms import Atom

QUOTES = frozenset("\"'“‘„«*_")


def names_in(text: str) -> frozenset[str]:
    """The words that the review writes with a capital where no sentence, clause or quote begins."""
    found = set()
    for span in sentence_spans(text):
        parts = chunks(text, *span)
        for before, part in pairwise(parts):
            if before.is_open_behind and part.is_open_before:
                found.add(text[part.core_start : part.core_end])
    return frozenset(word for word in found if word[0].isupper())


def without_sentence_capital(atoms: Sequence[Atom], index: int, names: frozenset[str]) -> Atom:
    """Write the word that began the sentence as it is written within one.

    "I", acronyms, mixed case, words that the review capitalises elsewhere, words before another capital (a name) and
    the first of a quote keep theirs; stop words never do, for titles ("The Cell") hold them.
    """
    atom = atoms[index]
    word = atom.text
    lowered = word[0].lower() + word[1:]
    if folded(word).split("'")[0] == "i" or any(letter.isupper() for letter in word[1:]):
        return atom
    if not is_stop_word(folded(word)):
        following = atoms[index + 1 : index + 2]
        begins_a_name = any(atom.kind == "word" and atom.text[0].isupper() for atom in following)
        begins_a_quote = index > 0 and atoms[index - 1].text in QUOTES
        if begins_a_name or begins_a_quote or {word, word.removesuffix("'s")} & names:
            return atom
    return replace(atom, text=lowered) if folded(lowered) == folded(word) else atom


def with_capital(atom: Atom) -> Atom:
    """Begin a sentence with this word; "eBay" and the like stay."""
    raised = atom.text[0].upper() + atom.text[1:]
    if any(letter.isupper() for letter in atom.text) or folded(raised) != folded(atom.text):
        return atom
    return replace(atom, text=raised)
