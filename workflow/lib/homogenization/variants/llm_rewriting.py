"""Variants of a review by a language model, which writes one candidate after the other until one passes the filters."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.variants.phrases import (
    Phrase,
    Placement,
    find_phrases,
    phrases_by_review,
    place_in_sentence,
    variant_table,
)
from homogenization.variants.schemas import CANDIDATE_SCHEMA
from homogenization.writers.asking import Answer, Author
from homogenization.writers.prompts import render

# What a candidate has to keep to: words over the review's (least and most); the share of the review's distinct key
# phrases that stand in it word for word; their mean distance from the side of the sentence where they belong.
LENGTH_RATIO = (0.6, 1.5)
MIN_COVERAGE = 0.8
MAX_DISTANCE = 0.35
# distance of a position from each of `SIDES`
DISTANCES: dict[str, Callable[[float], float]] = {"front": lambda place: place, "end": lambda place: 1 - place}


def rewrite_with_llm(
    reviews: pl.DataFrame,
    keyphrases: pl.DataFrame,
    author: Author,
    *,
    variant: str,
    position: str | None,
    n_candidates: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Write one variant of each review of a shard.

    Args:
        reviews: Columns review_id, text, label.
        keyphrases: Columns of `KEYPHRASE_SCHEMA`, in reading order, as `extract_keyphrases` gives.
        author: Who writes, by which prompt.
        variant: Name of the variant.
        position: Side of each sentence where the key phrases have to go; None if they may stand anywhere.
        n_candidates: Requests about a review at most.

    Returns:
        The reviews that were rewritten, in the order of the shard, columns of `VARIANT_SCHEMA`; the `sentence` of a
        placement is its number in the original. And all candidates, columns of `CANDIDATE_SCHEMA`; request is the name
        of the answer's file, text is null if the answer could not be read, and reason is null if the candidate passed.

    Raises:
        HomogenizationError: as `Author.ask`.
    """
    texts, phrases = dict(reviews.select("review_id", "text").iter_rows()), phrases_by_review(keyphrases)
    chats = {name: _chat(author, text, phrases.get(name, ())) for name, text in texts.items()}
    candidates, taken = [], {}
    for number in range(n_candidates):
        answers = author.ask({name: chat for name, chat in chats.items() if name not in taken}, number)
        for name, answer in answers.items():
            judged, placements = judge(answer, texts[name], phrases.get(name, ()), position)
            at = {
                "variant": variant,
                "review_id": name,
                "candidate": number,
                "request": author.key(chats[name], number),
            }
            candidates.append(at | judged)
            if judged["reason"] is None:
                taken[name] = (name, judged["text"], placements)
    rank = {name: number for number, name in enumerate(texts)}
    candidates.sort(key=lambda row: rank[row["review_id"]])
    table = pl.DataFrame(candidates, CANDIDATE_SCHEMA)
    reasons = dict(table["reason"].drop_nulls().value_counts(sort=True).iter_rows())
    logging.info("%d of %d reviews were rewritten; refused candidates: %s", len(taken), len(texts), reasons)
    if not taken:
        logging.warning(
            "rewriting: none of the %d reviews of this shard was rewritten (refused: %s), and it goes on without any. "
            "Read some answers in %s, then raise rewriting.candidates or the writer's max_new_tokens (truncated), edit "
            "the prompt, or use a more able writer.",
            *(len(texts), reasons, author.folder),
        )
    return variant_table(variant, reviews, [taken[name] for name in texts if name in taken]), table


def _chat(author: Author, text: str, phrases: Sequence[Phrase]) -> list[dict[str, str]]:
    """What is asked about a review; each distinct phrase is listed as first written in it."""
    literal = {phrase.term: text[phrase.start : phrase.end] for phrase in reversed(phrases)}
    terms = dict.fromkeys(phrase.term for phrase in phrases)
    return render(author.prompt, review=text, phrases="\n".join(f"- {literal[term]}" for term in terms))


def judge(
    answer: Answer, original: str, phrases: Sequence[Phrase], position: str | None
) -> tuple[dict[str, Any], list[Placement]]:
    """Judge an answer, which should be {"review": text}, by the filters.

    Args:
        answer: The answer of a language model.
        original: The cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        position: One of `DISTANCES`, or None where the phrases may stand anywhere.

    Returns:
        The text and its judgement, columns of `CANDIDATE_SCHEMA`: the reason is the first of `REASONS` that applies;
        and the placements of the phrases found.
    """
    given = answer.value("review")
    text = clean_text(given) if isinstance(given, str) else None
    judged: dict[str, Any] = {"text": text, "finish_reason": answer.finish_reason}
    # most truncated answers are malformed too, and their length is what the user can change
    if answer.finish_reason == "length" or text is None or not words(text):
        reason = "truncated" if answer.finish_reason == "length" else "malformed" if text is None else "empty"
        return judged | {"reason": reason}, []
    placements = find_again(original, phrases, text)
    terms, found = {phrase.term for phrase in phrases}, {placement.phrase for placement in placements}
    at = [DISTANCES[position](one.position) for one in placements if position and one.position is not None]
    coverage = len(found) / len(terms) if terms else 1.0
    distance = sum(at) / len(at) if at else None
    length_ratio = len(words(text)) / len(words(original))
    fails = {
        "identical": words(text) == words(original),
        "length": not LENGTH_RATIO[0] <= length_ratio <= LENGTH_RATIO[1],
        "coverage": coverage < MIN_COVERAGE,
        "position": distance is not None and distance > MAX_DISTANCE,
    }
    judged |= {"coverage": coverage, "distance": distance, "length_ratio": length_ratio}
    return judged | {"reason": next((name for name, failed in fails.items() if failed), None)}, placements


def find_again(original: str, phrases: Sequence[Phrase], rewritten: str) -> list[Placement]:
    """Find phrases of a text in a rewritten one; the n-th phrase with a term gets the n-th place of the term.

    Args:
        original: A cleaned review.
        phrases: Its key phrases in reading order, without overlaps.
        rewritten: A cleaned text.

    Returns:
        A placement for each phrase that was found, in the order of `phrases`; `sentence` is its number in `original`.
    """
    spans, new_spans, placements = sentence_spans(original), sentence_spans(rewritten), []
    longest_first = sorted({phrase.term for phrase in phrases}, key=lambda term: (-len(term.split()), term))
    found = list(find_phrases(rewritten, longest_first))
    for phrase in phrases:
        if again := next((place for place in found if place.term == phrase.term), None):
            found.remove(again)
            before = place_in_sentence(original, spans[phrase.sentence], phrase.start, phrase.term)
            after = place_in_sentence(rewritten, new_spans[again.sentence], again.start, phrase.term)
            placements.append(Placement(phrase.term, phrase.sentence, before, after))
    return placements
