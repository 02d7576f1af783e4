"""Adjuncts of a main clause, which English puts at its front or end with the same words (Quirk et al. 1985, ch. 8).

"If you like horror, see this." and "See this if you like horror." An adjunct is found on the parse of its sentence.
Left out is what the verb needs (a complement), what would belong to another verb at its new place, and what would bring
a pronoun before its noun: a sentence in doubt stays as it is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from homogenization.variants import adjunct_words as lexicon
from homogenization.variants.clauses import MainClause
from homogenization.variants.sentences import is_verb

#: Words that a main clause has besides its adjunct, at least.
FEWEST_OTHERS = 3

_COMPLEMENTS = frozenset(("dobj", "attr", "acomp", "ccomp", "xcomp", "oprd", "dative"))
_CLAUSES = frozenset(("relcl", "ccomp", "advcl", "acl", "conj", "pcomp", "parataxis", "appos"))
# marks that touch a phrase
_AT_START, _AT_END = re.compile(r"[^\w\s]*"), re.compile(r"[^\w\s]*$")


@dataclass(frozen=True)
class Adjunct:
    """An adjunct of a main clause, by its tokens.

    Attributes:
        construction: "adjunct" (a prepositional phrase or noun phrase), or "clause" (with a conjunction).
        first: Number of its first token in the sentence.
        last: Number of its last token.
        place: Where it stands: "front", behind the lead; "end"; or "inside".
        comma: Whether a comma precedes it at the end of the sentence.
    """

    construction: str
    first: int
    last: int
    place: str
    comma: bool


class Adjuncts(MainClause):
    """The adjuncts of a sentence with one main clause."""

    @cached_property
    def verbs(self) -> list[int]:
        """The main verb and the infinitives that complete it ("I want to see it again this year")."""
        found = [] if self.verb is None else [self.verb]
        for verb in found:
            found += [number for number in self.children(verb) if self.tokens[number].dep_ == "xcomp" and number > verb]
        return found

    def all(self) -> Iterator[Adjunct]:
        """Those that may stand at the front and at the end, in reading order; none in a sentence without a capital."""
        if self.root is None or self.sentence.span.text[0].islower():
            return
        for number, span in enumerate(self.sentence.subtrees):
            if self.sentence.head(number) not in self.verbs or span is None:
                continue
            first, last = self.trimmed(*span)
            place = self._place(first, last)
            construction = self._construction(number, first, last, place)
            if construction is None or not self._stands_apart(first, last):
                continue
            comma = self._takes_comma(first, last)
            adjunct = Adjunct(construction, first, last, place, comma)
            if self._can_move(adjunct):
                yield adjunct

    def _stands_apart(self, first: int, last: int) -> bool:
        """Whether nothing but a comma or the stop divides these tokens, which are whole words, from the rest."""
        if not self.is_whole(first, last):
            return False
        text, (start, stop) = self.sentence.span.text, self.sentence.characters(first, last)
        before, behind = _AT_END.search(text[:start].rstrip())[0], _AT_START.match(text[stop:])[0]
        is_last = stop + len(behind) == len(text)
        return before in ("", ",") and (behind in ("", ",") or (is_last and set(behind) <= {".", "!"}))

    def _place(self, first: int, last: int) -> str:
        before = [number for number in range(min(self.lead, first), first) if self.is_word(number)]
        behind = [number for number in range(last + 1, len(self.tokens)) if self.is_word(number)]
        return "inside" if before and behind else "end" if before else "front"

    def _construction(self, number: int, first: int, last: int, place: str) -> str | None:
        """What kind of adjunct the subtree of a token is; None for anything else."""
        dep = self.tokens[number].dep_
        if dep in ("prep", "npadvmod", "advcl") and self._is_discourse(first, last):
            return "adjunct"
        if dep == "advcl":
            return "clause" if self._is_clause(number, first, last, place) else None
        if dep == "prep":
            return "adjunct" if number == first < last and self._is_phrase(number, last, place) else None
        if dep == "npadvmod":
            is_time = self.words[number] in lexicon.TIMES and self.words[first] in lexicon.DEFINITE_TIMES
            stands_alone = not first or self.tokens[first - 1].pos_ not in ("ADV", "NOUN", "PROPN")
            follows = stands_alone and self._complements(self.sentence.head(number), first)
            return "adjunct" if is_time and "only" not in self.words and (place == "front" or follows) else None
        return None

    def _is_discourse(self, first: int, last: int) -> bool:
        return " ".join(self.words[first : last + 1]) in lexicon.DISCOURSE

    def _is_clause(self, verb: int, first: int, last: int, place: str) -> bool:
        """Whether a clause begins with a conjunction, has a subject, and is no object of the main verb."""
        opening = first + (self.words[first] == "even")
        conjunction, following = self.words[opening], self.words[min(opening + 1, last)]
        main = [word for number, word in enumerate(self.words) if not first <= number <= last]
        subjects = self.subjects(verb)
        if conjunction not in lexicon.CONJUNCTIONS or conjunction in main:
            return False
        # a subject follows at once, and no coordination reaches out of the clause
        span = self.sentence.subtrees[subjects[0]] if subjects else None
        if span is None or span[0] != opening + 1 or following in {"that", *lexicon.NO_SUBJECTS}:
            return False
        if self.has(("conj", "cc"), (n for n in range(first, last + 1) if self.sentence.head(n) == verb)):
            return False
        if not lexicon.ANSWERS.isdisjoint(main):
            return False
        comments = lexicon.COMMENTS | (lexicon.WISHES if verb == last else frozenset())
        if "which" in self.words[first:last] or (conjunction == "if" and self.words[verb] in comments):
            return False
        asked = conjunction in ("if", "when") and self.words[self.sentence.head(verb)] in lexicon.ASKING
        if place == "front":
            return self.words[last] not in ("then", "however") and self.words[self.last] not in lexicon.ASKING
        denied = conjunction == "because" and not lexicon.NEGATIONS.isdisjoint(main)
        denied |= "wonder" in main
        # of a noun ("the scene when"), and not of the verb
        denied |= conjunction == "when" and self.tokens[first - 1].pos_ in ("NOUN", "PROPN", "NUM", "PART")
        is_event = conjunction in ("when", "since") and not (lexicon.EVENTS | lexicon.TIMES).isdisjoint(main)
        # "the others were not" leaves out what the main clause has said
        denied |= self.words[last] in lexicon.AUXILIARIES
        is_answered = self._complements(self.sentence.head(verb), first) - {"it"}
        return not denied and not is_event and (not asked or bool(is_answered))

    def _complements(self, verb: int, before: int) -> set[str]:
        """The heads of a verb's complements before a token."""
        children = (number for number in self.children(verb) if number < before)
        return {self.words[number] for number in children if self.tokens[number].dep_ in _COMPLEMENTS}

    def _is_phrase(self, number: int, last: int, place: str) -> bool:
        """Whether a prepositional phrase is an adjunct, and no complement of the verb."""
        preposition, verb = self.words[number], self.sentence.head(number)
        objects = [self.words[child] for child in self.children(number) if self.tokens[child].dep_ == "pobj"]
        has_gerund = self.has(("pcomp",), self.children(number))
        if self.words[number + 1] in ("for", "which", "what", "whose", "whom", "that"):
            return False
        inside = range(number + 1, last + 1)
        main = [word for at, word in enumerate(self.words) if not number <= at <= last]
        if place == "front":
            is_time = preposition in lexicon.TIME_PREPOSITIONS and not lexicon.TIMES.isdisjoint(objects)
            is_place = preposition in lexicon.PLACE_PREPOSITIONS and not lexicon.PLACES.isdisjoint(objects)
            by_gerund = has_gerund and preposition in lexicon.GERUND_PREPOSITIONS
            if (is_time or is_place) and not {"only", "same"}.isdisjoint(self.words):
                return False
            return preposition in lexicon.FREE_PREPOSITIONS or is_time or is_place or by_gerund
        heavy = self.has(("relcl", "acl", "conj", "ccomp"), inside)
        if heavy or "never" in main or not lexicon.DEGREES.isdisjoint(main) or not self._complements(verb, number):
            return False
        if preposition == "without" and not (has_gerund and lexicon.NEGATIONS.isdisjoint(main)):
            return False
        if preposition in lexicon.FREE_PREPOSITIONS or (has_gerund and preposition in lexicon.GERUND_PREPOSITIONS):
            return True
        # behind another object of a preposition, it may belong to that one's noun
        if not objects or self.words[verb] in lexicon.MOTIONS or self.has(("pobj",), range(verb, number)):
            return False
        if preposition in lexicon.TIME_PREPOSITIONS and (objects[0] in lexicon.TIMES or _is_year(objects[0])):
            # "from a young age through adulthood", "save it for a rainy day"
            return preposition != "from" and (preposition != "for" or objects[0] not in lexicon.PARTS_OF_WEEKS)
        # "on DVD" and "at school" complete what is before them
        is_definite = self.words[number + 1] in ("the", "this", "that")
        return preposition == "in" and objects[0] in lexicon.PLACES and is_definite

    def _takes_comma(self, first: int, last: int) -> bool:
        opening = self.words[first + (self.words[first] == "even")]
        return first == last or self._is_discourse(first, last) or opening in lexicon.CONCESSIVE

    def _can_move(self, adjunct: Adjunct) -> bool:
        """Whether the adjunct reads the same at either edge."""
        first, last = adjunct.first, adjunct.last
        outside = [number for number in range(len(self.tokens)) if not first <= number <= last]
        before = self.words[first - 1] if first else ""
        if before in lexicon.FOCUS | lexicon.DISTANCES or not self._is_whole(outside):
            return False
        if not self._keeps_reference(adjunct, outside):
            return False
        coordinated = [n for n in outside if self.tokens[n].dep_ in ("conj", "parataxis", "cc") and n > self.verb]
        if any(self.sentence.head(number) in self.verbs for number in coordinated):
            return False
        dividing = _CLAUSES if adjunct.construction == "clause" else {*_CLAUSES, "xcomp"}
        if adjunct.place == "front":
            following = self.words[last + 1]
            is_closed_off = following == "," or following in lexicon.SPEAKERS or self._is_discourse(first, last)
            divided = any(self.words[number] == "," for number in outside if number > last + 1)
            return is_closed_off and not divided and not self.has(dividing, outside)
        if adjunct.place == "inside":
            is_enclosed = before == "," and self.words[last + 1] == "," and first < self.verb
            return is_enclosed and not self.has(_CLAUSES, outside)
        between = self.has(dividing, (number for number in outside if self.verb < number < first))
        joins_verbs = any(is_verb(self.tokens[n]) and self.tokens[n].dep_ == "conj" for n in outside)
        if before in lexicon.TIMES or joins_verbs or "," in self.words[self.verb : first - 1]:
            return False
        return not between or (before == "," and adjunct.construction == "clause")

    def _is_whole(self, outside: list[int]) -> bool:
        """Whether a clause is left: it begins with its subject, or an imperative's verb, and lacks nothing."""
        rest = [number for number in outside if self.is_word(number) and number >= self.lead]
        if len(rest) < FEWEST_OTHERS:
            return False
        lacks = self.words[self.verb] in lexicon.COPULAS
        if lacks and not self.has({*_COMPLEMENTS, "prep"}, (n for n in self.children(self.verb) if n in outside)):
            return False
        if rest[-1] == self.verb or self.is_title(rest[0]) or self.words[rest[0]] in lexicon.NO_SUBJECTS:
            return False
        subjects = self.subjects(self.verb)
        if not subjects:
            return rest[0] == self.verb or self.words[rest[0]] in lexicon.BEFORE_IMPERATIVES
        span = self.sentence.subtrees[subjects[0]]
        return span is not None and span[0] <= rest[0] <= span[1]

    def _keeps_reference(self, adjunct: Adjunct, outside: list[int]) -> bool:
        """Whether no pronoun would come before what it may refer to.

        In what moves behind, nothing may be named that a pronoun of the main clause could mean; in what moves ahead, no
        pronoun may stand but that of the main clause's subject.
        """
        inside = range(adjunct.first, adjunct.last + 1)
        if adjunct.place == "front" and not set(self.words[adjunct.first : adjunct.last + 1]) & lexicon.TIMES:
            named = ("NOUN", "PROPN", "PRON", "DET")
            names = any(self.tokens[n].pos_ in named and self.words[n] not in lexicon.SPEAKERS for n in inside)
            return not names or not any(self.refers(n) for n in outside)
        subjects = self.subjects(self.verb)
        of_main = [self.words[n] for n in subjects]
        if adjunct.construction == "clause" and not {"it", "this", "that", "they"}.isdisjoint(of_main):
            return False
        return all(self.words[n] in of_main for n in inside if self.refers(n))

    def order(self, adjunct: Adjunct, place: str) -> Sequence[tuple[int, int] | str]:
        """The parts of the sentence, without its stop, with an adjunct at the "front" or at the "end".

        They are first and last token, each `is_whole`, or a comma: those around the adjunct go with it. One follows it
        at the front, one precedes it at the end where it has to.
        """
        own, n_lead = (adjunct.first, adjunct.last), self.lead
        spans = (self.lead, adjunct.first - 1), (max(self.lead, adjunct.last + 1), len(self.tokens) - 1)
        rest = [self.trimmed(*span) for span in spans if any(map(self.is_word, range(span[0], span[1] + 1)))]
        if adjunct.first == self.lead:
            n_lead = min(n_lead, 1)  # "But, of course, it works": the comma is the adjunct's
        lead = [(0, 0), ","][:n_lead]
        return [*lead, own, ",", *rest] if place == "front" else [*lead, *rest, *[","][: adjunct.comma], own]


def _is_year(word: str) -> bool:
    return word.isdigit() and len(word) == 4
