"""Variants of a review by a language model that rewrites one sentence after another, each with one key phrase."""

import logging
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from homogenization.corpus.sentences import words
from homogenization.variants.constituents import Sentence, parsed_sentences
from homogenization.variants.fluency import Reader
from homogenization.variants.mirrors import beginnings, lead_of
from homogenization.variants.phrases import Phrase, Placement, place_in_sentence
from homogenization.variants.schemas import VARIANT_SCHEMA
from homogenization.variants.sentence_candidates import SentenceCandidate, Task, best, judge_sentence, with_scores
from homogenization.variants.sentence_grammars import frame_of, grammars, is_at, place_of
from homogenization.variants.sentence_schemas import SENTENCE_CANDIDATE_SCHEMA, SENTENCE_REASONS, SENTENCE_SCHEMA
from homogenization.vocabulary.variants import SIDES
from homogenization.writers.answers import RequestStore, answered, refuse_unanswered
from homogenization.writers.prompts import render
from homogenization.writers.requests import Failure, Request, Writer

logger = logging.getLogger(__name__)

# (candidates, their originals) -> BERTScore F1 of each
ScoreF1 = Callable[[list[str], list[str]], Sequence[float]]
# sentence -> its loss per word in nats, without other text before it
LossPerWord = Callable[[str], float]
# review_id and number of a sentence
Place = tuple[str, int]
# other words that a sentence needs, so that its phrase can stand within it
FEWEST_OTHERS = 4


def rewrite_sentences(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    parse: pl.DataFrame,
    variant: str,
    writer: Writer,
    store: RequestStore,
    prompt: Mapping[str, Any],
    position: str | None,
    filters: Mapping[str, Any],
    score_f1: ScoreF1,
    loss_per_word: LossPerWord | None,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Write one variant of each review.

    In each sentence with key phrases, one of them moves: the best-scored that stands there once, leaves `FEWEST_OTHERS`
    other words, and belongs to no other noun, or else any such. This does not depend on the position, so that all
    variants rewrite the same sentences for the sake of the same phrases. All candidates of all sentences are asked for
    at once. Of those that pass the filters, the one with the highest score is taken. A sentence without one, and a
    sentence without key phrases, stays as it is to the byte, and so does one whose phrase already stands at the front,
    or at the end, where it is to go.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order.
        parse: Columns of `PARSE_SCHEMA`.
        variant: Name of the variant.
        writer: Language model that writes; it holds its answers to regular expressions.
        store: Store of the answers.
        prompt: Prompt from `load_prompt`; $sentence and $phrase have values.
        position: "front", "end", "inward", or None where the phrase may stand anywhere.
        filters: candidates (largest number of a sentence), length_ratio, min_f1 (of a sentence, or None), min_moved
            (least share of the sentences to move that moved, in a review that is kept).
        score_f1: Scorer of similarity.
        loss_per_word: Loss of a sentence; None: candidates are ranked by F1 alone.

    Returns:
        Three tables: the reviews with enough moved sentences, columns of `VARIANT_SCHEMA`; all candidates, columns of
        `SENTENCE_CANDIDATE_SCHEMA`; and all sentences with key phrases, columns of `SENTENCE_SCHEMA`.

    Raises:
        HomogenizationError: sentences got no answer (the answers to all other requests are stored first), or no request
            can succeed.
    """
    parsed = parsed_sentences(reviews, parse)
    phrases = _phrases_by_sentence(keyphrases)
    tasks = {
        (name, number): _task(parsed[name][number], of_sentence)
        for name in parsed
        for number, of_sentence in phrases.get(name, {}).items()
    }
    in_place = {
        place
        for place, task in tasks.items()
        if task and position in SIDES and is_at(position, task.term, task.text, task.frame.lead)
    }
    greedy = writer.parameters["temperature"] == 0
    asked = [
        (place, request)
        for place, task in tasks.items()
        if task and place not in in_place
        for request in _requests(place[0], task, prompt, position, filters["candidates"], greedy)
    ]
    answers = answered(store, writer, [request for _, request in asked])
    failures = {place[0]: one for (place, _), one in zip(asked, answers, strict=True) if isinstance(one, Failure)}
    refuse_unanswered(failures, len(reviews))
    judged = [
        judge_sentence(answer, request.regex, tasks[place], position, filters)
        for (place, request), answer in zip(asked, answers, strict=True)
    ]
    judged = _scored(
        [(tasks[place].text, one) for (place, _), one in zip(asked, judged, strict=True)],
        filters["min_f1"],
        score_f1,
        loss_per_word,
    )
    offered: dict[Place, list[SentenceCandidate]] = {place: [] for place in tasks}
    for (place, _), candidate in zip(asked, judged, strict=True):
        offered[place].append(candidate)
    taken = {place: one for place, candidates in offered.items() if (one := best(candidates)) is not None}
    outcomes = _outcomes(variant, tasks, in_place, offered, filters["min_moved"])
    accepted = set(outcomes.filter("accepted")["review_id"])
    _report(outcomes, judged, len(reviews), len(accepted), store)
    rows = [
        (variant, name, *_rewritten(name, parsed[name], phrases.get(name, {}), taken, label))
        for name, label in reviews.select("review_id", "label").iter_rows()
        if name in accepted
    ]
    numbers = Counter()
    candidates = []
    for (place, request), one in zip(asked, judged, strict=True):
        made = (one.reason, one.length_ratio, one.f1, one.loss_per_word, one.finish_reason)
        candidates.append(
            (variant, *place, numbers[place], store.key(writer, request), one.text, taken.get(place) is one, *made)
        )
        numbers[place] += 1
    return (
        pl.DataFrame(rows, schema=VARIANT_SCHEMA, orient="row"),
        pl.DataFrame(candidates, schema=SENTENCE_CANDIDATE_SCHEMA, orient="row"),
        outcomes,
    )


def sentence_loss(reader: Reader) -> LossPerWord:
    """The loss per word of a sentence under the model of `fluency`, in nats."""
    return lambda text: float(reader.token_losses(text).sum() / len(words(text)))


def _phrases_by_sentence(keyphrases: pl.DataFrame) -> dict[str, dict[int, list[tuple[float, Phrase]]]]:
    """The key phrases of each sentence that has any, in reading order, with their scores."""
    phrases: dict[str, dict[int, list[tuple[float, Phrase]]]] = {}
    columns = ("review_id", "score", "phrase", "sentence", "start", "end")
    for name, score, *place in keyphrases.select(columns).iter_rows():
        phrase = Phrase(*place)
        phrases.setdefault(name, {}).setdefault(phrase.sentence, []).append((score, phrase))
    return phrases


def _task(sentence: Sentence, phrases: Sequence[tuple[float, Phrase]]) -> Task | None:
    """What is to be done with a sentence; None where no key phrase can move."""
    if sentence.stays:
        return None
    text = sentence.text[slice(*sentence.span)]
    for _, phrase in sorted(phrases, key=lambda scored: (_is_nested(sentence, scored[1]), -scored[0])):
        place = place_of(phrase.term, text)
        if place is None or sum(place) < FEWEST_OTHERS:
            continue
        written = " ".join(sentence.text[phrase.start : phrase.end].split())
        frame = frame_of(text, written, lead_of(sentence, phrase))
        return frame and Task(sentence, phrase, frame)
    return None


def _is_nested(sentence: Sentence, phrase: Phrase) -> bool:
    """Whether a phrase belongs to another noun ("the town of Obaba", a part of a list): it cannot move by itself."""
    inside = [token for token in sentence.tokens if phrase.start <= token.start < phrase.end]
    tops = [token for token in inside if sentence.tokens[token.head] not in inside]
    above = [sentence.tokens[token.head] for token in tops]
    above = [sentence.tokens[token.head] if token.dep == "prep" else token for token in above]
    return any(token.dep in ("compound", "poss", "conj", "appos") for token in tops) or any(
        token.pos in ("NOUN", "PROPN", "PRON") for token in above
    )


def _requests(
    name: str, task: Task, prompt: Mapping[str, Any], position: str | None, most: int, greedy: bool
) -> Iterator[Request]:
    """The requests for the candidates of a sentence: each grammar in turn, then each once more with another seed."""
    regexes = grammars(task.frame, position, beginnings(task.sentence, task.phrase))
    messages = render(prompt, sentence=task.frame.core + task.frame.stop, phrase=task.frame.phrase)
    for number in range(min(most, len(regexes)) if greedy else most):
        yield Request(name, messages, None, number // len(regexes), regexes[number % len(regexes)])


def _scored(
    judged: Sequence[tuple[str, SentenceCandidate]],
    min_f1: float | None,
    score_f1: ScoreF1,
    loss_per_word: LossPerWord | None,
) -> list[SentenceCandidate]:
    """The candidates, each with its sentence, with F1 and loss where they passed the other filters."""
    passed = [(text, candidate.text) for text, candidate in judged if candidate.reason is None]
    scores = iter(score_f1([offered for _, offered in passed], [text for text, _ in passed]))
    losses = {offered: loss_per_word(offered) if loss_per_word else None for _, offered in passed}
    return [
        with_scores(candidate, float(next(scores)), losses[candidate.text], min_f1)
        if candidate.reason is None
        else candidate
        for _, candidate in judged
    ]


def _outcomes(
    variant: str,
    tasks: Mapping[Place, Task | None],
    in_place: Container[Place],
    offered: Mapping[Place, Sequence[SentenceCandidate]],
    min_moved: float,
) -> pl.DataFrame:
    """What became of each sentence with key phrases; a review is accepted if enough of those to move moved, or one."""
    rows = []
    for place, task in tasks.items():
        outcome, reason = "kept", None
        if task is None:
            reason = "unsuited"
        elif place in in_place:
            outcome = "in_place"
        elif best(offered[place]) is not None:
            outcome = "moved"
        else:
            reason = max((candidate.reason for candidate in offered[place]), key=SENTENCE_REASONS.index)
        rows.append((variant, *place, task and task.term, outcome, reason, None))
    moved = (pl.col("outcome") == "moved").sum().over("review_id")
    to_move = (pl.col("outcome") != "in_place").sum().over("review_id")
    return pl.DataFrame(rows, schema=SENTENCE_SCHEMA, orient="row").with_columns(
        accepted=(moved > 0) & (moved >= min_moved * to_move)
    )


def _rewritten(
    name: str,
    sentences: Sequence[Sentence],
    phrases: Mapping[int, Sequence[tuple[float, Phrase]]],
    taken: Mapping[Place, SentenceCandidate],
    label: str | None,
) -> tuple[str, str | None, list[dict[str, Any]]]:
    """Text, label and placements of a review with the sentences that were taken."""
    text, parts, done, placements = sentences[0].text, [], 0, []
    for number, sentence in enumerate(sentences):
        candidate = taken.get((name, number))
        new = text[slice(*sentence.span)] if candidate is None else candidate.text
        parts += [text[done : sentence.span[0]], new]
        done = sentence.span[1]
        for _, phrase in phrases.get(number, ()):
            before = place_in_sentence(text, sentence.span, phrase.start, phrase.term)
            place = None if candidate is None else place_of(phrase.term, new)
            if candidate is None:
                placements.append(Placement(phrase.term, number, before, before))
            elif place is not None:
                after = place[0] / sum(place) if sum(place) else None
                placements.append(Placement(phrase.term, number, before, after))
    return "".join([*parts, text[done:]]), label, [asdict(placement) for placement in placements]


def _report(
    outcomes: pl.DataFrame, judged: Sequence[SentenceCandidate], n_reviews: int, n_kept: int, store: RequestStore
) -> None:
    """Log what became of the sentences, and the reasons for refusals; warn where no review is left."""
    of_sentences = Counter(outcomes["outcome"].to_list())
    refused = Counter(candidate.reason for candidate in judged if candidate.reason is not None)
    reasons = ", ".join(f"{reason} {count}" for reason, count in refused.most_common()) or "none"
    logger.info(
        "%d of %d reviews were rewritten; of %d sentences with key phrases, %d moved, %d had theirs in place, %d were "
        "kept; refused candidates: %s",
        *(n_kept, n_reviews, len(outcomes), of_sentences["moved"], of_sentences["in_place"], of_sentences["kept"]),
        reasons,
    )
    if n_kept == 0:
        logger.warning(
            "rewriting: in none of the %d reviews of this shard enough sentences moved; refused: %s. The shard goes on "
            "without any. Read some answers in %s (nothing that is there is asked again). To change this, lower "
            "'min_moved' under 'rewriting', relax its filters, raise its 'candidates', or use a more able writer.",
            n_reviews,
            reasons,
            store.folder,
        )
