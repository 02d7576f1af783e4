"""Constituents of a parsed sentence that can begin it, with its key phrase and without.

A sentence A P B, with the key phrase P, becomes B … P. A language model that has to begin with what stood behind the
phrase has used it up when it comes to the phrase, and ends there.
"""

from homogenization.corpus.sentences import folded, is_stop_word, word_spans, words
from homogenization.variants.constituents import Sentence
from homogenization.variants.phrases import Phrase
from homogenization.variants.sentence_grammars import Beginning, is_balanced

# a constituent of more words gives its first ones alone, and so does a clause, from its subject on
LONGEST, KEPT = 8, 4
_SUBJECTS, _CLAUSES = ("nsubj", "nsubjpass"), ("ROOT", "conj", "ccomp")
# dependencies of the constituents: adverbial clauses and prepositional phrases, subjects of the clauses that follow,
# objects and predicates (for a passive and an inversion), adverbs
_ADVERBIAL = ("advcl", "prep", "agent", "npadvmod", "csubj")
_PREDICATES = ("acomp", "attr", "oprd", "dobj")
_ADVERBS = ("advmod",)
# the best first, where the phrase is the subject, which an adverbial does not move to the end, and where it is not
_OF_SUBJECT = (_PREDICATES, _SUBJECTS, _ADVERBIAL, _ADVERBS)
_OF_OTHERS = (_ADVERBIAL, _SUBJECTS, _PREDICATES, _ADVERBS)
# prepositions that cannot leave what they depend on
_BOUND = ("of", "than")
_STOPS = frozenset(".!?…;:")


def beginnings(sentence: Sentence, phrase: Phrase) -> list[Beginning]:
    """Texts that stand behind the phrase and can begin the sentence, the most promising first."""
    is_subject = any(token.dep in _SUBJECTS for token in sentence.tokens if phrase.start <= token.start < phrase.end)
    groups = _OF_SUBJECT if is_subject else _OF_OTHERS
    found: dict[Beginning, tuple[int, int, int]] = {}
    for number, (token, subtree) in enumerate(zip(sentence.tokens, sentence.subtrees, strict=True)):
        rank = next((rank for rank, group in enumerate(groups) if token.dep in group), None)
        constituent = sentence.phrase(*subtree) if rank is not None and subtree is not None else None
        if constituent is None or constituent.start < phrase.end or not _stands_free(sentence, number):
            continue
        clause = token.dep in _SUBJECTS
        text = sentence.text[constituent.start : sentence.span[1] if clause else constituent.end]
        spans = word_spans(text)
        if clause or len(spans) > LONGEST:
            text = text[: spans[min(KEPT, len(spans)) - 1][1]]
        is_stop = len(spans) == 1 and is_stop_word(words(text)[0])  # it, very, too
        if _STOPS.isdisjoint(text) and is_balanced(text) and not is_stop:
            link = ("by" if token.dep == "dobj" else "be") if is_subject and token.dep in _PREDICATES else ""
            found.setdefault(Beginning(text, link), (rank, _depth(sentence, number), constituent.start))
    return sorted(found, key=found.__getitem__)


def lead_of(sentence: Sentence, phrase: Phrase) -> str:
    """What stands before the phrase in the longest prepositional phrase that it ends and that can move, or nothing."""
    prepositions = {token.start for token in sentence.tokens if token.dep in ("prep", "agent")}
    for constituent in sentence.constituents():
        lead = sentence.text[constituent.start : phrase.start].strip()
        is_short = 0 < len(words(lead)) <= KEPT and words(lead)[0] not in _BOUND
        if constituent.end == phrase.end and constituent.start in prepositions and is_short:
            return lead
    return ""


def _stands_free(sentence: Sentence, number: int) -> bool:
    """Whether a constituent can move by itself: it depends on a verb or an adjective, a subject on a clause of its own.

    What the parse hangs on a noun, as a prepositional phrase on the key phrase, stays with it.
    """
    token = sentence.tokens[number]
    above = sentence.tokens[token.head]
    if token.dep in _SUBJECTS:
        return above.dep in _CLAUSES
    if token.dep == "prep" and folded(sentence.text[token.start : token.end]) in _BOUND:
        return False
    return (above.is_verb or above.pos == "ADJ") and above.dep != "relcl"


def _depth(sentence: Sentence, number: int) -> int:
    """Steps to the root."""
    steps = 0
    while sentence.tokens[number].head != number and steps < len(sentence.tokens):
        number, steps = sentence.tokens[number].head, steps + 1
    return steps
