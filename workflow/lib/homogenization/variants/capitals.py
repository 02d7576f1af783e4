"""Capitals of a sentence whose words move: the old first word loses its own, and the new one gets one."""

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
        if before.first <= before.last == before.end and run.start == run.first and sentence.core(run)[:1].isupper()
    )


def within_a_sentence(sentence: Sentence, names: frozenset[str]) -> str:
    """The first word of a sentence, spelled as within one.

    "I", acronyms and words of mixed case keep their capital. So do `names`, words before another capital (a name) and
    the first word of a quote, unless they are stop words: titles ("The Cell") capitalise these too.
    """
    number, run = next((n, run) for n, run in enumerate(sentence.runs) if run.first <= run.last)
    word = sentence.core(run)
    lowered = word[0].lower() + word[1:]
    if folded(word).split("'")[0] == "i" or any(letter.isupper() for letter in word[1:]):
        return word
    if not is_stop_word(folded(word)) and folded(word) not in _NOT_OF_NAMES:
        following = [other for other in sentence.runs[number + 1 : number + 2] if run.last == run.end]
        begins_a_name = any(sentence.core(other)[:1].isupper() and other.start == other.first for other in following)
        begins_a_quote = run.first > 0 and sentence.tokens[run.first - 1].text in _OPENING_QUOTES
        if begins_a_name or begins_a_quote or {word, word.removesuffix("'s")} & names:
            return word
    return lowered if folded(lowered) == folded(word) else word


def capitalised(word: str) -> str:
    """A word with a capital, to begin a sentence; words of mixed case ("eBay") stay unchanged."""
    raised = word[:1].upper() + word[1:]
    return word if any(letter.isupper() for letter in word) or folded(raised) != folded(word) else raised


def begins_with_capital(sentence: Sentence) -> bool:
    """Whether the first word of a sentence is not in lower case."""
    return not next(token for token in sentence.tokens if is_word(token)).text[0].islower()
