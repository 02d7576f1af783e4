"""Constructions that put a phrase elsewhere and change a few words: slifting, clefts, copula, "as for", passive.

Each is a function that gives the `Move`s of a clause (Huddleston and Pullum 2002, ch. 10, 11 and 16). The sentence
holds nothing but what the construction asks for, a lead such as "But", and the stop. A sentence in doubt stays as it
is. The words that decide are in `construction_words`.
"""

from collections.abc import Iterator, Mapping, Sequence

from homogenization.names.variants import SIDES
from homogenization.variants import construction_words as lexicon
from homogenization.variants.clauses import MainClause, Move, Span
from homogenization.variants.noun_phrases import NounPhrase, noun_phrase

# singular and plural
_BE = {"present": ("is", "are"), "past": ("was", "were")}
_TENSES = {"VBD": "past", "VBZ": "present", "VBP": "present"}
_FINITE = frozenset((*_TENSES, "MD"))


def slifting(clause: MainClause) -> Iterator[Move]:
    """A statement behind or before a comment: "I think it works." and "It works, I think."."""
    lead, last, words = clause.lead, clause.last, clause.words
    for length in range(4, 1, -1):
        front, end = (lead, lead + length - 1), (last - length + 1, last)
        if " ".join(words[lead : lead + length]) in lexicon.OPINIONS and front[1] < last:
            has_that = words[front[1] + 1] == "that"
            statement = (front[1] + 1 + has_that, last)
            is_mark = clause.tokens[front[1] + 1].dep == "mark"
            if (is_mark or not has_that) and _is_statement(clause, statement):
                yield from _moves(clause, "slifting", statement, "end", [statement, ",", front])
            return
        if " ".join(words[end[0] :][:length]) in lexicon.OPINIONS and words[end[0] - 1] == "," and end[0] > lead + 3:
            statement = (lead, end[0] - 2)
            if _is_statement(clause, statement):
                yield from _moves(clause, "slifting", statement, "front", [end, statement])
            return


def wh_cleft(clause: MainClause) -> Iterator[Move]:
    """A thing beside a clause with "what": "The music moved me." and "What moved me was the music."."""
    yield from _cleft_back(clause)
    subject, verb = _subject(clause), clause.verb
    tense = _tense(clause, verb) if subject else None
    if tense is None or not _is_plain(clause, (clause.lead, clause.last)):
        return
    cause, rest = noun_phrase(clause, subject), (subject[1] + 1, clause.last)
    is_active = not clause.has(("nsubjpass",), clause.children(verb))
    is_cause = cause is not None and cause.is_thing and not cause.has_verb
    is_cause = is_cause and not (cause.is_plural and tense == "present")
    if is_cause and is_active and clause.words[verb] in lexicon.CAUSING and not _binds(clause, rest):
        yield from _moves(clause, "wh_cleft", subject, "front", ["what", rest, _BE[tense][cause.is_plural], subject])
    thing = noun_phrase(clause, _object(clause))
    if thing is None or thing.has_verb or not thing.is_thing or (thing.word in lexicon.FILMS and thing.is_definite):
        return
    if clause.words[verb] in lexicon.LIKING:
        parts = [thing.span, _BE[tense][thing.is_plural], "what", (subject[0], verb)]
        yield from _moves(clause, "wh_cleft", thing.span, "end", parts)


def _cleft_back(clause: MainClause) -> Iterator[Move]:
    """A cleft and its reversal: "What I like is the music." and "The music is what I like."."""
    be, lead, last = clause.root, clause.lead, clause.last
    tense = next((tense for tense, forms in _BE.items() if clause.words[be] in forms), None)
    if tense is None or not lead < be < last or "," in clause.words:
        return
    front, end = (lead, be - 1), (be + 1, last)
    for place, span, question in (("front", front, end), ("end", end, front)):
        thing = noun_phrase(clause, span)
        if thing is not None and clause.head(thing.head) == be and clause.words[question[0]] == "what":
            parts = [question, _BE[tense][thing.is_plural], span]
            yield from _moves(clause, "wh_cleft", span, place, parts if place == "front" else parts[::-1])


def _binds(clause: MainClause, predicate: Span) -> bool:
    """Whether a pronoun of the predicate may mean a noun of the subject, which would come behind it."""
    pronouns = [number for number in range(predicate[0], predicate[1] + 1) if clause.refers(number)]
    has_two = clause.has(("prep", "poss"), range(clause.lead, predicate[0]))
    return any(has_two or clause.tokens[n].dep == "poss" or "sel" in clause.words[n] for n in pronouns)


def copula(clause: MainClause) -> Iterator[Move]:
    """Two definite noun phrases around "be", of one of which there is one: "The best part is the music."."""
    subject, be = _subject(clause), clause.verb
    if subject is None or be != subject[1] + 1 or not any(clause.words[be] in forms for forms in _BE.values()):
        return
    phrases = noun_phrase(clause, subject), noun_phrase(clause, _final(clause, "attr"))
    if None in phrases or not all(phrase.is_definite for phrase in phrases):
        return
    one, other = phrases
    # a clause stands in the phrase of which there is one: "The only thing that I liked is the music."
    is_one = [not lexicon.UNIQUE.isdisjoint(phrase.own_words) for phrase in phrases]
    in_doubt = any(phrase.has_verb and not unique for phrase, unique in zip(phrases, is_one, strict=True))
    if (
        in_doubt
        or not any(is_one)
        or one.is_plural != other.is_plural
        or one.word in (other.word, *lexicon.CONCLUSIONS)
    ):
        return
    parts = [other.span, (be, be), subject]
    yield from _moves(clause, "copula", subject, "front", parts)
    yield from _moves(clause, "copula", other.span, "end", parts)


def as_for(clause: MainClause) -> Iterator[Move]:
    """An object as a topic, and a pronoun in its place: "As for the plot, I forgot it." and "I forgot the plot."."""
    verb, lead, last, words = clause.verb, clause.lead, clause.last, clause.words
    if verb is None or words[verb] in lexicon.HAVING:
        return
    is_topic = words[lead : lead + 2] == ["as", "for"] and words.count(",") == 1 and verb == last - 1
    first = words.index(",") + 1 if is_topic else lead
    thing = noun_phrase(clause, (lead + 2, first - 2) if is_topic else _object(clause))
    if thing is None or not (thing.is_definite and thing.is_thing) or thing.has_verb:
        return
    refers = any(clause.refers(number) and words[number] not in ("he", "she") for number in range(first, verb))
    if refers or words[thing.span[0]] in lexicon.OWNERS or not _is_statement(clause, (first, last)):
        return
    pronoun = "them" if thing.is_plural else "it"
    if not is_topic:
        yield from _moves(clause, "as_for", thing.span, "end", ["as for", thing.span, ",", (first, verb), pronoun])
    elif words[last] == pronoun:
        yield from _moves(clause, "as_for", thing.span, "front", [(first, verb), thing.span])


def passive(clause: MainClause) -> Iterator[Move]:
    """Agent and patient: "The director ruined the film." and "The film was ruined by the director."."""
    subject = _subject(clause)
    if subject is None or not _is_plain(clause, (clause.lead, clause.last)):
        return
    agent = _final(clause, "agent")
    yield from _to_active(clause, subject, agent) if agent else _to_passive(clause, subject)


def _to_passive(clause: MainClause, subject: Span) -> Iterator[Move]:
    verb, patient = clause.verb, _object(clause)
    form = {"VBD": "past", "VBZ": "third", "VBP": "base"}.get(clause.tokens[verb].tag)
    verbs = [forms for forms in lexicon.VERBS if form and getattr(forms, form) == clause.words[verb]]
    agent, manner = _agent(clause, subject), _manner(clause, subject[1] + 1)
    other, is_plural = _recast(clause, patient, lexicon.NOMINATIVES)
    if not verbs or manner is None or other is None or agent is None:
        return
    tense = "past" if form == "past" else "present"
    be = "am" if (other, tense) == ("I", "present") else _BE[tense][is_plural]
    parts = [other, be, *manner, verbs[0].participle, "by", subject]
    yield from _moves(clause, "passive", subject, "front", parts)
    if other == patient:
        yield from _moves(clause, "passive", patient, "end", parts)


def _to_active(clause: MainClause, subject: Span, by_phrase: Span) -> Iterator[Move]:
    be = clause.words[subject[1] + 1]
    verbs = [forms for forms in lexicon.VERBS if forms.participle == clause.words[clause.verb]]
    agent, manner = _agent(clause, (by_phrase[0] + 1, by_phrase[1])), _manner(clause, subject[1] + 2)
    other, _ = _recast(clause, subject, lexicon.ACCUSATIVES)
    if not verbs or manner is None or other is None or agent is None or be not in ("am", *_BE["present"], *_BE["past"]):
        return
    forms = verbs[0]
    verb = forms.past if be in _BE["past"] else forms.base if agent.is_plural else forms.third
    parts = [agent.span, *manner, verb, other]
    yield from _moves(clause, "passive", agent.span, "end", parts)
    if other == subject:
        yield from _moves(clause, "passive", subject, "front", parts)


def _agent(clause: MainClause, span: Span) -> NounPhrase | None:
    is_time = not lexicon.TIMES.isdisjoint(clause.words[span[0] : span[1] + 1])
    phrase = noun_phrase(clause, span)
    return None if is_time or phrase is None or phrase.has_verb else phrase


def _manner(clause: MainClause, first: int) -> list[Span] | None:
    """The adverb of manner before the main verb, if any; None where other words stand there."""
    between = [(number, number) for number in range(first, clause.verb)]
    is_manner = len(between) < 2 and all(clause.words[number] in lexicon.MANNERS for number, _ in between)
    return between if is_manner else None


def _recast(clause: MainClause, span: Span | None, cases: Mapping[str, str]) -> tuple[Span | str | None, bool]:
    """A noun phrase as it is, or a pronoun in its other case, and whether it is plural; None for anything else."""
    if span is not None and span[0] == span[1] and clause.words[span[0]] in cases:
        pronoun = cases[clause.words[span[0]]]
        return pronoun, pronoun in lexicon.PLURAL_PRONOUNS
    phrase = noun_phrase(clause, span)
    return (None, False) if phrase is None or phrase.has_verb else (span, phrase.is_plural)


def _subject(clause: MainClause) -> Span | None:
    """The only subject of the main verb, where the sentence begins with it."""
    subjects = [] if clause.verb is None else clause.subjects(clause.verb)
    span = clause.span(subjects[0]) if len(subjects) == 1 else None
    return span if span is not None and span[0] == clause.lead and span[1] < clause.verb else None


def _object(clause: MainClause) -> Span | None:
    """The object of the main verb, as `_final`, without a preposition that may belong to the verb."""
    span = _final(clause, "dobj")
    inside = range(*span) if span is not None else ()
    is_loose = any(clause.tokens[n].dep == "prep" and clause.words[n] not in ("by", "of") for n in inside)
    return None if is_loose else span


def _final(clause: MainClause, label: str) -> Span | None:
    """What depends on the main verb by a label, where it follows the verb at once and ends the sentence."""
    children = clause.children(clause.verb)
    span = clause.span(next((number for number in children if clause.tokens[number].dep == label), None))
    return span if span == (clause.verb + 1, clause.last) else None


def _is_statement(clause: MainClause, span: Span) -> bool:
    """Whether tokens are one finite clause that begins with its subject, and no other finite verb follows its own."""
    tops = [n for n in range(span[0], span[1] + 1) if clause.is_word(n) and not span[0] <= clause.head(n) <= span[1]]
    subjects = clause.subjects(tops[0]) if len(tops) == 1 else []
    subject = clause.span(subjects[0]) if subjects else None
    if subject is None or subject[0] != span[0] or subject[1] > tops[0]:
        return False
    return _is_plain(clause, (subject[1] + 1, span[1]))


def _is_plain(clause: MainClause, span: Span) -> bool:
    """Whether tokens hold one finite verb and no comma."""
    inside = range(span[0], span[1] + 1)
    return sum(clause.tokens[n].tag in _FINITE for n in inside) == 1 and all(clause.words[n] != "," for n in inside)


def _tense(clause: MainClause, verb: int) -> str | None:
    """Present or past, by the first verb of the main clause; None for another form, such as a modal."""
    auxiliaries = [n for n in clause.children(verb) if clause.tokens[n].dep in ("aux", "auxpass") and n < verb]
    return _TENSES.get(clause.tokens[min([*auxiliaries, verb])].tag)


def _moves(
    clause: MainClause, construction: str, phrase: Span, place: str, parts: Sequence[Span | str]
) -> Iterator[Move]:
    """The move of a phrase from its place to the other side, where the sentence is made of `parts`; none in doubt."""
    spans = [part for part in parts if not isinstance(part, str)]
    if clause.is_title(clause.lead) or not clause.begins_with_word or not all(clause.is_whole(*span) for span in spans):
        return
    yield Move(construction, clause, phrase, {place: None, SIDES[1 - SIDES.index(place)]: parts})
