"""Adjuncts of a main clause, which English puts at its front or end with the same words (Quirk et al. 1985, ch. 8).

"If you like horror, see this." and "See this if you like horror." An adjunct is found on the parse of its sentence.
Left out is what the verb needs (a complement), what would belong to another verb at its new place, and what would bring
a pronoun before its noun: a sentence in doubt stays as it is.
"""

import re
from collections.abc import Iterator

from homogenization.variants import adjunct_words as lexicon
from homogenization.variants.clauses import MainClause
from homogenization.variants.sentences import is_verb

#: Words that a main clause has besides its adjunct, at least.
FEWEST_OTHERS = 3

_CLAUSES = frozenset(("relcl", "ccomp", "advcl", "acl", "conj", "pcomp", "parataxis", "appos"))
# marks that touch a phrase
_AT_START, _AT_END = re.compile(r"[^\w\s]*"), re.compile(r"[^\w\s]*$")


def adjuncts_of(clause: MainClause) -> "Iterator[Adjunct]":
    """Those that may stand at the front and at the end, in reading order; none in a sentence without a capital."""
    for token, span in zip(clause.doc, clause.sentence.subtrees, strict=True):
        if span is not None and token.head.i in clause.verbs and not clause.sentence.text[0].islower():
            adjunct = Adjunct(clause, token.i, *clause.trimmed(*span))
            if adjunct.is_adjunct() and adjunct.stands_apart() and adjunct.leaves_a_clause() and adjunct.can_move():
                yield adjunct


class Adjunct:
    """What depends on a token of a main clause, and may be an adjunct.

    Attributes:
        head: Number of that token in the sentence.
        first: Number of its first token.
        last: Number of its last token.
        place: Where it stands: "front", behind the lead; "end"; or "inside".
    """

    def __init__(self, clause: MainClause, head: int, first: int, last: int):
        self.clause, self.head, self.first, self.last = clause, head, first, last
        self._inside = range(first, last + 1)
        self._outside = [number for number in range(len(clause.doc)) if number not in self._inside]
        words = [number for number in self._outside if clause.is_word(number)]
        is_led = any(clause.lead <= number < first for number in words)
        self.place = ("inside" if words[-1] > last else "end") if is_led else "front"
        self._verb = clause.doc[head].head.i
        self._main = [clause.words[number] for number in self._outside]
        self._opening = first + (clause.words[first] == "even")
        self._is_discourse = " ".join(clause.words[first : last + 1]) in lexicon.DISCOURSE
        self._is_clause = clause.doc[head].dep_ == "advcl" and not self._is_discourse

    def is_adjunct(self) -> bool:
        """Whether it is a phrase of discourse, an adverbial clause, a prepositional phrase, or a time."""
        dep = self.clause.doc[self.head].dep_
        if self._is_discourse or dep not in ("advcl", "prep", "npadvmod"):
            return self._is_discourse and dep in ("advcl", "prep", "npadvmod")
        if dep == "prep":
            return self.head == self.first < self.last and self._is_phrase()
        return self._is_adverbial_clause() if dep == "advcl" else self._is_time()

    def _is_time(self) -> bool:
        words, first = self.clause.words, self.first
        if words[self.head] not in lexicon.TIMES or words[first] not in lexicon.DEFINITE_TIMES or "only" in words:
            return False
        stands_alone = not first or self.clause.doc[first - 1].pos_ not in ("ADV", "NOUN", "PROPN")
        return self.place == "front" or (stands_alone and bool(self._complements_before()))

    def _is_adverbial_clause(self) -> bool:
        """Whether it begins with a conjunction, has a subject, and is no object of the main verb."""
        words, main, doc, last = self.clause.words, set(self._main), self.clause.doc, self.last
        conjunction, subject = words[self._opening], self.clause.subject(self.head)
        if conjunction not in lexicon.CONJUNCTIONS or conjunction in main or not lexicon.ANSWERS.isdisjoint(main):
            return False
        # a subject follows at once, and no coordination reaches out of the clause
        if subject is None or subject[0] != self._opening + 1 or words[subject[0]] in {"that", *lexicon.NO_SUBJECTS}:
            return False
        if self.clause.has(("conj", "cc"), self.clause.children(self.head)) or "which" in words[self.first : last]:
            return False
        comments = lexicon.COMMENTS | (lexicon.WISHES if self.head == last else frozenset())
        if conjunction == "if" and words[self.head] in comments:
            return False
        if self.place == "front":
            main_last = next(word for number, word in reversed(list(enumerate(words))) if self.clause.is_word(number))
            return words[last] not in ("then", "however") and main_last not in lexicon.ASKING
        if conjunction == "because" and not lexicon.NEGATIONS.isdisjoint(main):
            return False
        # of a noun ("the scene when"), and not of the verb
        if conjunction == "when" and doc[self.first - 1].pos_ in ("NOUN", "PROPN", "NUM", "PART"):
            return False
        if conjunction in ("when", "since") and not (lexicon.EVENTS | lexicon.TIMES).isdisjoint(main):
            return False
        # "the others were not" leaves out what the main clause has said
        if "wonder" in main or words[last] in lexicon.AUXILIARIES:
            return False
        asked = conjunction in ("if", "when") and words[self._verb] in lexicon.ASKING
        return not asked or bool(self._complements_before() - {"it"})

    def _complements_before(self) -> set[str]:
        return self.clause.complements(self._verb, range(self.first))

    def _is_phrase(self) -> bool:
        """Whether a prepositional phrase is an adjunct, and no complement of the verb."""
        clause, number, main = self.clause, self.head, set(self._main)
        preposition, following = clause.words[number], clause.words[number + 1]
        objects = [clause.words[n] for n in clause.children(number) if clause.doc[n].dep_ == "pobj"]
        has_gerund = clause.has(("pcomp",), clause.children(number))
        is_free = preposition in lexicon.FREE_PREPOSITIONS
        is_free |= has_gerund and preposition in lexicon.GERUND_PREPOSITIONS
        if following in ("for", "which", "what", "whose", "whom", "that"):
            return False
        if self.place == "front":
            is_time = preposition in lexicon.TIME_PREPOSITIONS and not lexicon.TIMES.isdisjoint(objects)
            is_place = preposition in lexicon.PLACE_PREPOSITIONS and not lexicon.PLACES.isdisjoint(objects)
            is_narrowed = not {"only", "same"}.isdisjoint(clause.words)
            return not is_narrowed if is_time or is_place else is_free
        heavy = clause.has(("relcl", "acl", "conj", "ccomp"), range(number + 1, self.last + 1))
        if heavy or not (lexicon.DEGREES | {"never"}).isdisjoint(main) or not self._complements_before():
            return False
        if preposition == "without" and not (has_gerund and lexicon.NEGATIONS.isdisjoint(main)):
            return False
        if is_free:
            return True
        # behind another object of a preposition, it may belong to that one's noun
        if (
            not objects
            or clause.words[self._verb] in lexicon.MOTIONS
            or clause.has(("pobj",), range(self._verb, number))
        ):
            return False
        if preposition in lexicon.TIME_PREPOSITIONS and (
            objects[0] in lexicon.TIMES or re.fullmatch(r"\d{4}", objects[0])
        ):
            # "from a young age through adulthood", "save it for a rainy day"
            return preposition != "from" and (preposition != "for" or objects[0] not in lexicon.PARTS_OF_WEEKS)
        # "on DVD" and "at school" complete what is before them
        return preposition == "in" and objects[0] in lexicon.PLACES and following in ("the", "this", "that")

    def stands_apart(self) -> bool:
        """Whether it is whole words, and nothing but a comma or the stop divides it from the rest."""
        text, (start, stop) = self.clause.sentence.text, self.clause.sentence.characters(self.first, self.last)
        before, behind = _AT_END.search(text[:start].rstrip())[0], _AT_START.match(text[stop:])[0]
        is_last = stop + len(behind) == len(text) and set(behind) <= {".", "!"}
        is_whole = self.clause.sentence.whole(self.first, self.last) == (self.first, self.last)
        return is_whole and before in ("", ",") and (behind in ("", ",") or is_last)

    def leaves_a_clause(self) -> bool:
        """Whether what is left begins with its subject, or an imperative's verb, and lacks nothing."""
        clause, verb = self.clause, self.clause.verb
        rest = [number for number in self._outside if clause.is_word(number) and number >= clause.lead]
        if len(rest) < FEWEST_OTHERS or rest[-1] == verb:
            return False
        if clause.is_title(rest[0]) or clause.words[rest[0]] in lexicon.NO_SUBJECTS:
            return False
        children = [number for number in clause.children(verb) if number in self._outside]
        has_complement = clause.complements(verb, self._outside) or clause.has(("prep",), children)
        if clause.words[verb] in lexicon.COPULAS and not has_complement:
            return False
        if not clause.subjects(verb):
            return rest[0] == verb or clause.words[rest[0]] in lexicon.BEFORE_IMPERATIVES
        subject = clause.subject(verb)
        return subject is not None and subject[0] <= rest[0] <= subject[1]

    def can_move(self) -> bool:
        """Whether it reads the same at either edge."""
        clause, doc, outside = self.clause, self.clause.doc, self._outside
        before = clause.words[self.first - 1] if self.first else ""
        if before in lexicon.FOCUS | lexicon.DISTANCES or not self._keeps_reference():
            return False
        coordinated = (n for n in outside if n > clause.verb and doc[n].dep_ in ("conj", "parataxis", "cc"))
        if any(doc[number].head.i in clause.verbs for number in coordinated):
            return False
        dividing = _CLAUSES if self._is_clause else _CLAUSES | {"xcomp"}
        if self.place == "front":
            following = clause.words[self.last + 1]
            is_closed_off = following == "," or following in lexicon.SPEAKERS or self._is_discourse
            divided = "," in clause.words[self.last + 2 :] or clause.has(dividing, outside)
            return is_closed_off and not divided
        if self.place == "inside":
            is_enclosed = before == "," and clause.words[self.last + 1] == "," and self.first < clause.verb
            return is_enclosed and not clause.has(_CLAUSES, outside)
        joins_verbs = any(is_verb(doc[number]) and doc[number].dep_ == "conj" for number in outside)
        if before in lexicon.TIMES or joins_verbs or "," in clause.words[clause.verb : self.first - 1]:
            return False
        between = (number for number in outside if clause.verb < number < self.first)
        return not clause.has(dividing, between) or (before == "," and self._is_clause)

    def _keeps_reference(self) -> bool:
        """Whether no pronoun would come before what it may refer to.

        In what moves behind, nothing may be named that a pronoun of the main clause could mean; in what moves ahead, no
        pronoun may stand but that of the main clause's subject.
        """
        clause, words = self.clause, self.clause.words
        if self.place == "front" and lexicon.TIMES.isdisjoint(words[self.first : self.last + 1]):
            named = ("NOUN", "PROPN", "PRON", "DET")
            names = any(clause.doc[n].pos_ in named and words[n] not in lexicon.SPEAKERS for n in self._inside)
            return not names or not any(map(clause.refers, self._outside))
        subjects = {words[number] for number in clause.subjects(clause.verb)}
        if self._is_clause and not {"it", "this", "that", "they"}.isdisjoint(subjects):
            return False
        return {words[number] for number in self._inside if clause.refers(number)} <= subjects

    @property
    def takes_comma(self) -> bool:
        """Whether a comma precedes it at the end of the sentence."""
        is_concessive = self.clause.words[self._opening] in lexicon.CONCESSIVE
        return self.first == self.last or self._is_discourse or is_concessive
