"""Variants of a review by a language model, which writes one candidate after the other until one passes the filters."""

import logging
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import Span, places, sentence_spans, words
from homogenization.variants.phrases import Phrase, Placement, phrases_by_review, place_in_sentence, variant_table
from homogenization.variants.schemas import CANDIDATE_SCHEMA
from homogenization.writers.asking import Answer, Author
from homogenization.writers.prompts import render

# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}


@dataclass(frozen=True)
class Candidate:
    """A text offered for a review; its measurements; the reason for a refusal.

    Attributes:
        text: Offered text; None if the answer could not be read.
        reason: First of `REASONS` that applies; None if the candidate passed.
        finish_reason: Why the model stopped.
        coverage: Share of the review's distinct key phrases that the text contains; 1 for a review without any.
        distance: Mean distance of the phrases found from the requested side of their sentence, from 0 to 1; None if
            no side is requested, or no phrase found has a position.
        length_ratio: Number of words of the text over that of the original.
        placements: Placements of the phrases found.
    """

    text: str | None
    reason: str | None
    finish_reason: str
    coverage: float | None = None
    distance: float | None = None
    length_ratio: float | None = None
    placements: tuple[Placement, ...] = ()


def rewrite_with_llm(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    author: Author,
    *,
    variant: str,
    position: str | None,
    filters: Mapping[str, Any],
) -> dict[str, pl.DataFrame]:
    """Write one variant of each review of a shard.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order, as `extract_keyphrases` gives.
        author: Who writes, by which prompt.
        variant: Name of the variant.
        position: Side of each sentence where the key phrases have to go; None if they may stand anywhere.
        filters: The section `rewriting` of the configuration: candidates (requests about a review at most),
            length_ratio (least and largest), min_coverage, max_distance.

    Returns:
        Tables by name. `variant`: the reviews that were rewritten, in the order of the shard, columns of
        `VARIANT_SCHEMA`; the `sentence` of a placement is its number in the original. `candidates`: all candidates,
        columns of `CANDIDATE_SCHEMA`; request is the name of the answer's file, text is null if the answer could not
        be read, and reason is null if the candidate passed.

    Raises:
        HomogenizationError: as `Author.ask`.
    """
    texts, phrases = dict(reviews.select("review_id", "text").iter_rows()), phrases_by_review(keyphrases)
    chats = {name: _chat(author, text, phrases.get(name, ())) for name, text in texts.items()}
    tried: dict[str, list[Candidate]] = {name: [] for name in texts}
    taken: dict[str, Candidate] = {}
    for number in range(filters["candidates"]):
        answers = author.ask({name: chat for name, chat in chats.items() if name not in taken}, number)
        for name, answer in answers.items():
            candidate = judge(answer, texts[name], phrases.get(name, ()), position, filters)
            tried[name].append(candidate)
            if candidate.reason is None:
                taken[name] = candidate
    rows = [
        {name: value for name, value in vars(candidate).items() if name in CANDIDATE_SCHEMA}
        | {"variant": variant, "review_id": review, "candidate": number}
        | {"request": author.key(chats[review], number)}
        for review, candidates in tried.items()
        for number, candidate in enumerate(candidates)
    ]
    made = [(name, taken[name].text, taken[name].placements) for name in texts if name in taken]
    _report([row["reason"] for row in rows], len(made), len(reviews), author)
    return {
        "variant": variant_table(variant, reviews, made),
        "candidates": pl.DataFrame(rows, CANDIDATE_SCHEMA),
    }


def _chat(author: Author, text: str, phrases: Sequence[Phrase]) -> list[dict[str, str]]:
    """What is asked about a review; each distinct phrase is listed as first written in it."""
    literal: dict[str, str] = {}
    for phrase in phrases:
        literal.setdefault(phrase.term, text[phrase.start : phrase.end])
    return render(author.prompt, review=text, phrases="\n".join(f"- {phrase}" for phrase in literal.values()))


def judge(
    answer: Answer, original: str, phrases: Sequence[Phrase], position: str | None, limits: Mapping[str, Any]
) -> Candidate:
    """Judge an answer, which should be {"review": text}, by the filters.

    Args:
        answer: The answer of a language model.
        original: The cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        position: One of `DISTANCES`, or None where the phrases may stand anywhere.
        limits: Limits of the filters: length_ratio (smallest and largest), min_coverage, max_distance.
    """
    given, finish = answer.value("review"), answer.finish_reason
    text = clean_text(given) if isinstance(given, str) else None
    # most truncated answers are malformed too, and their length is what the user can change
    if finish == "length" or text is None or not words(text):
        reason = "truncated" if finish == "length" else "malformed" if text is None else "empty"
        return Candidate(text, reason, finish)
    placements = find_again(original, phrases, text)
    terms, found = {phrase.term for phrase in phrases}, {placement.phrase for placement in placements}
    stand = [place for placement in placements if position and (place := placement.position) is not None]
    measured = Candidate(
        text,
        None,
        finish,
        coverage=len(found) / len(terms) if terms else 1.0,
        distance=sum(map(DISTANCES[position], stand)) / len(stand) if stand else None,
        length_ratio=len(words(text)) / len(words(original)),
        placements=tuple(placements),
    )
    shortest, longest = limits["length_ratio"]
    checks = {
        "identical": words(text) != words(original),
        "length": shortest <= measured.length_ratio <= longest,
        "coverage": measured.coverage >= limits["min_coverage"],
        "position": measured.distance is None or measured.distance <= limits["max_distance"],
    }
    return replace(measured, reason=next((name for name, holds in checks.items() if not holds), None))


def find_again(original: str, phrases: Sequence[Phrase], rewritten: str) -> list[Placement]:
    """Find phrases of a text in a rewritten one; the n-th phrase with a term gets the n-th place of the term.

    A place is a run of the term's folded words in a sentence, separated by white space alone. Places do not overlap;
    the search takes longer terms first.

    Args:
        original: A cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        rewritten: A cleaned text.

    Returns:
        A placement for each phrase that was found, in the order of `phrases`; `sentence` is its number in `original`.
    """
    spans, new_spans = sentence_spans(original), sentence_spans(rewritten)
    ends = [end for _, end in new_spans]

    def is_unbroken(run: Sequence[Span]) -> bool:
        # a dot before white space within a sentence belongs to an abbreviation ("Dr.")
        gaps = [rewritten[end:start] for (_, end), (start, _) in pairwise(run)]
        in_one = bisect_right(ends, run[0][0]) == bisect_right(ends, run[-1][0])
        return in_one and all(gap.removeprefix(".").isspace() for gap in gaps)

    found = places(rewritten, {phrase.term for phrase in phrases}, is_unbroken)
    placements = []
    for phrase in phrases:
        if found[phrase.term]:
            start, _ = found[phrase.term].pop(0)
            before = place_in_sentence(original, spans[phrase.sentence], phrase.start, phrase.term)
            after = place_in_sentence(rewritten, new_spans[bisect_right(ends, start)], start, phrase.term)
            placements.append(Placement(phrase.term, phrase.sentence, before, after))
    return placements


def _report(reasons: Sequence[str | None], n_rewritten: int, n_reviews: int, author: Author) -> None:
    """Log how many reviews were rewritten, and the reasons for refusals; warn where none was."""
    refused = Counter(reason for reason in reasons if reason is not None)
    counts = ", ".join(f"{reason} {count}" for reason, count in refused.most_common()) or "none"
    logging.info("%d of %d reviews were rewritten; refused candidates: %s", n_rewritten, n_reviews, counts)
    if n_rewritten == 0:
        logging.warning(
            "rewriting: none of the %d reviews of this shard was rewritten (refused: %s), and it goes on without any. "
            "Read some answers in %s, then relax the limits under 'rewriting', raise its 'candidates' or the writer's "
            "max_new_tokens (truncated), edit the prompt, or use a more able writer.",
            n_reviews,
            counts,
            author.folder,
        )
