"""Capitals of a sentence whose words move: the old first word loses its own, and the new one gets one."""

import re

from homogenization.corpus.sentences import folded
from homogenization.variants.phrases import is_stop_word
from homogenization.variants.sentences import Sentence, is_word

_OPENING_QUOTES = frozenset("\"'“‘„«*_")
# words before a capital that begin no name, besides stop words ("Despite Bruce Willis")
_NOT_OF_NAMES = frozenset(("according", "amid", "amidst", "despite", "instead", "unless", "unlike"))


def names_in(sentences: list[Sentence]) -> frozenset[str]:
    """The words that have a capital within a sentence of the review, outside the beginning of a clause or quote."""
    return frozenset(
        sentence.core(run)
        for sentence in sentences
        for before, run in zip(sentence.runs, sentence.runs[1:], strict=False)
        if before.last + 1 == run.first and sentence.core(run)[0].isupper()
    )


def spelled_within(sentence: Sentence, names: frozenset[str]) -> str:
    """A sentence with its first word spelled as within one.

    "I", acronyms and words of mixed case keep their capital. So do `names`, words before another capital (a name) and
    the first word of a quote, unless they are stop words: titles ("The Cell") capitalise these too.
    """
    run, following = sentence.runs[0], sentence.runs[1:2]
    word, (start, end) = sentence.core(run), sentence.characters(run.first, run.last)
    lowered = word[0].lower() + word[1:]
    if folded(word).split("'")[0] == "i" or any(letter.isupper() for letter in word[1:]) or len(lowered) != len(word):
        return sentence.text
    if not is_stop_word(folded(word)) and folded(word) not in _NOT_OF_NAMES:
        begins_a_name = any(sentence.core(other)[0].isupper() and run.last + 1 == other.first for other in following)
        begins_a_quote = run.first > 0 and sentence.doc[run.first - 1].text in _OPENING_QUOTES
        if begins_a_name or begins_a_quote or {word, word.removesuffix("'s")} & names:
            return sentence.text
    return sentence.text[:start] + lowered + sentence.text[end:]


def begun(text: str) -> str:
    """A sentence whose first word gets a capital; a word of mixed case ("eBay") stays unchanged."""
    first = re.search(r"[^\W_]\S*", text)
    raised = first[0][0].upper() + first[0][1:]
    if any(letter.isupper() for letter in first[0]) or folded(raised) != folded(first[0]):
        return text
    return text[: first.start()] + raised + text[first.end() :]


def begins_with_capital(sentence: Sentence) -> bool:
    """Whether the first word of a sentence is not in lower case."""
    return not next(token for token in sentence.doc if is_word(token)).text[0].islower()
