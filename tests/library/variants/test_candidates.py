import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from homogenization.names.variants import SIDES
from homogenization.run.errors import HomogenizationError
from homogenization.tables.rewriting import REWRITING_SCHEMA
from homogenization.variants.by_review import DISTANCES, REVIEW_SCHEMA, _Answer, judge
from homogenization.variants.candidates import with_scores
from homogenization.variants.refusals import REASONS
from homogenization.writers.requests import Completion
from moving import phrases_of

LIMITS = {"min_coverage": 0.8, "max_distance": 0.35, "length_ratio": [0.6, 1.5], "min_f1": 0.9}
REVIEW = "We saw a slow zombie eat. The plot is clever but thin, and the cast is fine."
TERMS = ("slow zombie", "plot", "clever", "cast")
FRONT = "Slow zombie was what we saw eat. Plot and clever cast, though thin, were here seen as fine."


def answer(text, finish_reason="stop"):
    return Completion(json.dumps({"review": text}), finish_reason, {})


def judged(text, position=None, terms=TERMS, review=REVIEW, **limits):
    return judge(answer(text), review, phrases_of(review, *terms), position, {**LIMITS, **limits})


def test_a_candidate_that_passes():
    candidate = judged(FRONT, "front")
    assert candidate.reason is None
    assert candidate.text == FRONT
    assert candidate.finish_reason == "stop"
    assert candidate.coverage == 1
    # 0 of 5 in the first sentence; 0, 2 and 3 of 10 other words in the second
    assert candidate.distance == pytest.approx((0 + 0 + 2 / 10 + 3 / 10) / 4)
    assert candidate.length_ratio == pytest.approx(18 / 17)
    assert [placement.phrase for placement in candidate.placements] == ["slow zombie", "plot", "clever", "cast"]


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (Completion("", "stop", {}), "malformed"),
        (Completion(FRONT, "stop", {}), "malformed"),
        (Completion(f'Here it is: {{"review": "{FRONT}"}}', "stop", {}), "malformed"),
        (Completion(f'```json\n{{"review": "{FRONT}"}}\n```', "stop", {}), "malformed"),
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
    candidate = judge(completion, REVIEW, phrases_of(REVIEW, *TERMS), "front", LIMITS)
    assert candidate.reason == reason
    assert (candidate.coverage, candidate.distance, candidate.length_ratio, candidate.f1) == (None, None, None, None)
    assert candidate.placements == ()


def test_the_same_words_in_the_same_order_are_identical():
    assert judged("we saw a SLOW zombie eat; the plot is clever, but thin! And the cast is fine").reason == "identical"
    assert judged("A slow zombie we saw eat. The plot is clever but thin, and the cast is fine.").reason is None


def test_the_bounds_of_length_are_allowed():
    review = "One two three four five six seven eight nine ten."
    for n_words, reason in ((5, "length"), (6, None), (15, None), (16, "length")):
        candidate = judged(" ".join(["word"] * n_words), terms=(), review=review)
        assert candidate.reason == reason
        assert candidate.length_ratio == n_words / 10


def test_coverage_counts_distinct_phrases():
    review = "Zombie eats zombie. Plot, cast, clever, loud zombie."
    terms = ("zombie", "plot", "cast", "clever", "loud")
    for text, coverage in (
        ("A zombie, a plot, a cast, a clever end.", 0.8),
        ("Zombie, zombie, zombie, plot, cast.", 0.6),
    ):
        candidate = judged(text, terms=terms, review=review)
        assert candidate.coverage == coverage
        assert candidate.reason == (None if coverage == 0.8 else "coverage")
    assert judged("Zombie.", terms=terms, review=review, min_coverage=0.2, length_ratio=[0, 9]).reason is None


def test_a_review_without_key_phrases_is_covered_and_nowhere():
    candidate = judged("A zombie that was slow ate. Clever but thin is the plot, and fine the cast.", "front", terms=())
    assert (candidate.reason, candidate.coverage, candidate.distance) == (None, 1, None)


def test_position_is_asked_of_front_and_end_alone():
    text = "What we saw there eat was a slow zombie. Thin and fine are the plot, the cast and clever."
    assert judged(text, "end").reason is None
    assert judged(text, "front").reason == "position"
    free = judged(text)
    assert (free.reason, free.distance) == (None, None)
    assert judged(text, "front").distance == pytest.approx(1 - judged(text, "end").distance)


def test_a_phrase_that_is_its_whole_sentence_has_no_distance():
    candidate = judged("Zombie! That is dull.", "end", terms=("zombie",), review="A zombie is so dull.")
    assert (candidate.reason, candidate.coverage, candidate.distance) == (None, 1, None)


def test_an_unknown_position_is_named():
    with pytest.raises(HomogenizationError, match=r"'scattered'.*Allowed: front, end"):
        judged(FRONT, "scattered")


def test_similarity_comes_last():
    candidate = judged(FRONT, "front")
    assert with_scores(candidate, (0.1, 0.2, 0.9), None, 0.9).reason is None
    assert with_scores(candidate, (0.1, 0.2, 0.3), 4.0, None).reason is None
    refused = with_scores(candidate, (0.95, 0.94, 0.89), 4.0, 0.9)
    assert (refused.reason, refused.scores, refused.f1) == ("similarity", (0.95, 0.94, 0.89), 0.89)
    assert (refused.coverage, refused.loss_per_word) == (1, 4.0)
    assert with_scores(candidate, (1, 1, float("nan")), None, 0.9).reason == "similarity"


def test_a_text_is_cleaned_as_the_corpus_is():
    assert judged(f"\n{FRONT.replace('. ', '.<br /><br />').replace(' ', '  ')} ").text == FRONT


def test_the_schema_is_what_is_read():
    described = _Answer.model_json_schema()
    assert REVIEW_SCHEMA["required"] == described["required"]
    assert REVIEW_SCHEMA["additionalProperties"] == described["additionalProperties"]
    assert {name: {"type": kind["type"]} for name, kind in described["properties"].items()} == REVIEW_SCHEMA[
        "properties"
    ]


def test_every_reason_has_a_column_in_the_table_and_a_row_on_the_page():
    assert set(REASONS) <= set(REWRITING_SCHEMA)
    page = (ROOT / "docs/variants.md").read_text()
    assert all(f"| `{reason}` |" in page for reason in REASONS)


def test_there_is_a_distance_from_each_side():
    assert set(DISTANCES) == set(SIDES)


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
    assert candidate.distance is None or 0 <= candidate.distance <= 1 + 1e-12
    assert candidate.distance is None or position is not None
    broken = {
        "length": not ratios[0] <= candidate.length_ratio <= ratios[1],
        "coverage": candidate.coverage < coverage,
        "position": (candidate.distance or 0) > distance,
    }
    expected = next((reason for reason, is_broken in broken.items() if is_broken), None)
    assert candidate.reason in (expected, "identical")
