"""What becomes of a language model's answer about a review: its key phrases are found again, and it is judged."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.corpus.cleaning import clean_text
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.names.variants import SIDES
from homogenization.variants.llm_rewriting import DISTANCES, Review, find_again, judge
from homogenization.variants.phrases import Placement, phrases_by_review
from homogenization.variants.rules import keep_text, move_by_rules
from homogenization.writers.requests import Completion
from moving import phrases_of
from unparsed import unparsed

LIMITS = {"min_coverage": 0.8, "max_distance": 0.35, "length_ratio": [0.6, 1.5]}
REVIEW = "We saw a slow zombie eat. The plot is clever but thin, and the cast is fine."
TERMS = ("slow zombie", "plot", "clever", "cast")
FRONT = "Slow zombie was what we saw eat. Plot and clever cast, though thin, were here seen as fine."


def answer(text, finish_reason="stop"):
    return Completion(json.dumps({"review": text}), finish_reason, {})


def judged(text, position=None, terms=TERMS, review=REVIEW, **limits):
    completion = answer(text) if isinstance(text, str) else text
    task = Review("a", review, tuple(phrases_of(review, *terms)))
    return judge(completion, task, position, {**LIMITS, **limits})


def test_a_candidate_that_passes():
    candidate = judged(f"\n{FRONT.replace('. ', '.<br /><br />').replace(' ', '  ')} ", "front")
    assert (candidate.reason, candidate.text, candidate.finish_reason) == (None, FRONT, "stop")
    assert candidate.coverage == 1
    # 0 of 5 in the first sentence; 0, 2 and 3 of 10 other words in the second
    assert candidate.distance == pytest.approx((0 + 0 + 2 / 10 + 3 / 10) / 4)
    assert candidate.length_ratio == pytest.approx(18 / 17)
    assert [placement.phrase for placement in candidate.placements] == ["slow zombie", "plot", "clever", "cast"]
    fenced = Completion(f'```json\n{{"review": "{FRONT}"}}\n```', "stop", {})
    assert judged(fenced, "front") == candidate


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (Completion("", "stop", {}), "malformed"),
        (Completion(FRONT, "stop", {}), "malformed"),
        (Completion(f'Here it is: {{"review": "{FRONT}"}}', "stop", {}), "malformed"),
        (Completion(f'{{"review": "{FRONT}", "note": ""}}', "stop", {}), "malformed"),
        (Completion(f'{{"text": "{FRONT}"}}', "stop", {}), "malformed"),
        (Completion('{"review": null}', "stop", {}), "malformed"),
        (Completion('{"review": ["a film"]}', "stop", {}), "malformed"),
        (Completion('{"review": "a \\ud800 film"}', "stop", {}), "malformed"),
        (Completion(f'{{"review": "{FRONT}', "length", {}), "truncated"),
        (answer(FRONT, "length"), "truncated"),
        (answer(""), "empty"),
        (answer(" \n<br/> ... "), "empty"),
    ],
)
def test_what_is_no_text_is_refused(completion, reason):
    candidate = judged(completion, "front")
    assert candidate.reason == reason
    assert (candidate.coverage, candidate.distance, candidate.length_ratio, candidate.f1) == (None, None, None, None)
    assert candidate.placements == ()


TEN = {"terms": (), "review": "One two three four five six seven eight nine ten."}
FIVE = {"terms": ("zombie", "plot", "cast", "clever", "loud")}
FIVE["review"] = "Zombie eats zombie. Plot, cast, clever, loud zombie."
AT_THE_END = "What we saw there eat was a slow zombie. Thin and fine are the plot, the cast and clever."


@pytest.mark.parametrize(
    ("text", "given", "reason", "measured"),
    [
        ("we saw a SLOW zombie eat; the plot is clever, but thin! And the cast is fine", {}, "identical", {}),
        ("A slow zombie we saw eat. The plot is clever but thin, and the cast is fine.", {}, None, {"distance": None}),
        # the bounds of length are allowed
        ("word " * 5, TEN, "length", {"length_ratio": 0.5}),
        ("word " * 6, TEN, None, {"length_ratio": 0.6}),
        ("word " * 15, TEN, None, {"length_ratio": 1.5}),
        ("word " * 16, TEN, "length", {"length_ratio": 1.6}),
        # coverage counts distinct phrases
        ("A zombie, a plot, a cast, a clever end.", FIVE, None, {"coverage": 0.8}),
        ("Zombie, zombie, zombie, plot, cast.", FIVE, "coverage", {"coverage": 0.6}),
        ("Zombie.", {**FIVE, "min_coverage": 0.2, "length_ratio": [0, 9]}, None, {"coverage": 0.2}),
        # a review without key phrases is covered, and nowhere
        (FRONT, {"position": "front", "terms": ()}, None, {"coverage": 1, "distance": None}),
        # a phrase that is its whole sentence has no distance
        ("Zombie! It is dull.", {"position": "end", "terms": ("zombie",), "review": "A zombie is so dull."}, None, {}),
        (AT_THE_END, {"position": "end"}, None, {}),
        (AT_THE_END, {"position": "front"}, "position", {}),
        (AT_THE_END, {}, None, {"distance": None}),
    ],
)
def test_each_filter_refuses_what_breaks_it(text, given, reason, measured):
    candidate = judged(text, **given)
    assert candidate.reason == reason
    assert {name: getattr(candidate, name) for name in measured} == measured


WORDS = ("slow", "zombie", "Plot", "clever", "cast", "fine", "a", "the", ".", ",")


@given(
    rewritten=st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join),
    position=st.sampled_from(["front", "end", None]),
    coverage=st.floats(0, 1),
    distance=st.floats(0, 1),
    ratios=st.tuples(st.floats(0, 1), st.floats(1, 3)),
)
def test_what_passes_satisfies_every_limit_and_the_reason_is_the_first_broken(
    rewritten, position, coverage, distance, ratios
):
    limits = {"min_coverage": coverage, "max_distance": distance, "length_ratio": ratios}
    candidate = judged(rewritten, position, **limits)
    if candidate.reason == "empty":
        return
    assert 0 <= candidate.coverage <= 1
    assert candidate.distance is None or (position is not None and 0 <= candidate.distance <= 1 + 1e-12)
    broken = {
        "length": not ratios[0] <= candidate.length_ratio <= ratios[1],
        "coverage": candidate.coverage < coverage,
        "position": (candidate.distance or 0) > distance,
    }
    expected = next((reason for reason, is_broken in broken.items() if is_broken), None)
    assert candidate.reason in (expected, "identical")


@pytest.mark.parametrize(
    ("terms", "rewritten", "expected"),
    [
        # only the very words, in one piece, within one sentence
        (["slow zombie"], "Slow, zombie eats.", []),
        (["slow zombie"], "A slow old zombie eats.", []),
        (["slow zombie"], "It is slow. Zombie eats.", []),
        (["slow zombie"], "The slow zombie's lunch.", []),
        (["zombie"], "Two zombies eat.", []),
        (["slow zombie"], "SLOW   ZOMBIE eats.", [("slow zombie", 1, 0.0)]),
        (["slow zombie"], "It eats - slow zombie!", [("slow zombie", 1, 1.0)]),
        # marks around a phrase are no part of it, with a space or without
        (["zombie"], "So—zombie—eats.", [("zombie", 1, 0.5)]),
        (["zombie"], 'The "zombie" eats.', [("zombie", 1, 0.5)]),
        # the first place for the first, and none for more than there are
        (["eat"], "Eat what I eat.", [("eat", 0, 0.0), ("eat", 1, 1.0)]),
        (["eat"], "Eat.", [("eat", 0, None)]),
        (["eat"], "Eat, eat, eat.", [("eat", 0, 0.0), ("eat", 1, 0.5)]),
        # no word serves two phrases
        (["slow zombie", "zombie"], "The slow zombie.", [("slow zombie", 1, 1.0)]),
        (["zombie"], "", []),
        ([], "The slow zombie.", []),
        # the dot of a title breaks no phrase
        (["dr jones"], "Here, Dr. Jones met us.", [("dr jones", 2, 1 / 3)]),
    ],
)
def test_what_counts_as_found_again(terms, rewritten, expected):
    original = "Will it eat? I saw a slow zombie eat. The zombie met Dr. Jones here."
    placements = find_again(original, phrases_of(original, *terms), rewritten)
    assert [(placement.phrase, placement.sentence, placement.position) for placement in placements] == expected


def test_positions_are_measured_in_the_sentences_of_each_text():
    original = "I came home. There I saw a slow zombie eat."
    placements = find_again(original, phrases_of(original, "slow zombie"), "The slow zombie ate there.")
    assert placements == [Placement("slow zombie", 1, 4 / 5, 1 / 3)]


ORIGINAL = "The slow zombie eats. A clever film is clever, and the film ends. Zombie film fans eat."
FOUND = ("slow zombie", "clever film", "clever", "film", "zombie film", "eat", "eats")
PIECES = ("the", "Slow", "zombie", "clever", "film", "eats", "eat", ",", ".", "!", '"', "(", ")", "-", "Dr.", "\n")


@given(rewritten=st.lists(st.sampled_from(PIECES), max_size=25), data=st.data())
def test_a_placement_never_points_to_anything_but_its_phrase(rewritten, data):
    terms = data.draw(st.sets(st.sampled_from(FOUND)))
    rewritten = clean_text(" ".join(rewritten))
    phrases = []
    for phrase in phrases_of(ORIGINAL, *terms):
        if not phrases or phrase.start >= phrases[-1].end:
            phrases.append(phrase)
    placements = find_again(ORIGINAL, phrases, rewritten)
    places = {}
    for span in sentence_spans(rewritten):
        sentence = words(rewritten[slice(*span)])
        for term in terms:
            length = len(term.split())
            for first in range(len(sentence) - length + 1):
                if sentence[first : first + length] == term.split():
                    others = len(sentence) - length
                    places.setdefault(term, []).append(first / others if others else None)
    for term in terms:
        positions = [placement.position for placement in placements if placement.phrase == term]
        assert len(positions) <= sum(phrase.term == term for phrase in phrases)
        for position in positions:
            places.get(term, []).remove(position)  # each stands there, and serves once
    # no word is counted twice
    assert sum(len(placement.phrase.split()) for placement in placements) <= len(words(rewritten))


def test_untouched_and_moved_reviews_have_their_phrases_where_they_are(embedded):
    reviews, keyphrases, _ = embedded
    texts = dict(reviews.select("review_id", "text").iter_rows())
    n_exact = n_phrases = 0
    distances: dict[str, list[float]] = {side: [] for side in SIDES}
    for name, phrases in phrases_by_review(keyphrases).items():
        text = texts[name]
        assert find_again(text, phrases, text) == keep_text(text, phrases)[1]
        for position in SIDES:
            rewritten, moved = move_by_rules(unparsed(text), phrases, position)
            found = find_again(text, phrases, rewritten)
            assert [placement.phrase for placement in found] == [phrase.term for phrase in phrases]
            n_phrases += len(phrases)
            n_exact += sum(one == other for one, other in zip(found, moved, strict=True))
            distances[position] += [DISTANCES[position](one.position) for one in found if one.position is not None]
    # the sentences of a text are cut anew, now and then elsewhere
    assert n_exact / n_phrases > 0.9
    assert all(sum(of_side) / len(of_side) < 0.15 for of_side in distances.values())
