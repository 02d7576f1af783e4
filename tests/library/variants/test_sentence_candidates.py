import polars as pl
import pytest

from homogenization.config.texts import Parser
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.phrases import Phrase
from homogenization.variants.sentence_candidates import Task, judge_sentence
from homogenization.variants.sentence_grammars import frame_of, grammars
from homogenization.writers.requests import Completion

TEXT = "In 1998, Parker Posey didn't give us a great performance for nothing."
PHRASE = "great performance"
LIMITS = {"length_ratio": [0.6, 1.5]}
GOOD = "A great performance didn't come from Parker Posey for nothing in 1998."


@pytest.fixture(scope="module")
def task():
    reviews = pl.DataFrame({"review_id": ["a"], "text": [TEXT]})
    (sentence,) = parsed_sentences(reviews, parse_reviews(reviews, Parser().params()))["a"]
    start = TEXT.index(PHRASE)
    return Task("a", sentence, Phrase(PHRASE, 0, start, start + len(PHRASE)), frame_of(TEXT, PHRASE))


def judged(task, text, position="front", finish_reason="stop", regex=".*"):
    return judge_sentence(Completion(text, finish_reason, {}), regex, task, position, LIMITS)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (None, GOOD),
        (None, GOOD.replace("Posey", "Posey's")),
        ("empty", " ... "),
        ("malformed", GOOD.replace(" come", ' "come')),
        ("malformed", "A great performance came. Parker Posey didn't give it for nothing in 1998."),
        ("length", "A great performance didn't come."),
        ("length", GOOD.removesuffix(".") + " and so on and on and on and on and on."),
        ("coverage", "A fine performance didn't come from Parker Posey for nothing in 1998."),
        ("coverage", "A great performance didn't come from a great performance for nothing in 1998."),
        ("position", "In 1998 a great performance didn't come from Parker Posey for nothing."),
        ("names", "A great performance didn't come from the actress for nothing in 1998."),
        ("names", "A great performance didn't come from Posey for nothing, in 1998."),
        ("numbers", "A great performance didn't come from Parker Posey for nothing in 1999."),
        ("numbers", "A great performance didn't come from Parker Posey for nothing back then."),
        ("numbers", "A great performance in 1998 didn't come from Parker Posey for nothing at 8."),
        ("negations", "A great performance came from Parker Posey for nothing in 1998."),
        ("negations", "A great performance didn't come from Parker Posey, not for nothing, in 1998."),
    ],
)
def test_a_candidate_is_refused_for_the_first_reason_that_applies(task, reason, text):
    assert judged(task, text).reason == reason


@pytest.mark.parametrize(
    ("restated", "sentence", "phrase", "text"),
    [
        (True, "Jack Webb is excellent as Jim.", "Jack Webb", "Jack Web is excellent as Jim, a role for Jack Webb."),
        (True, "It was insipid and trite.", "insipid", "Insipit and trite, it was insipid."),
        (True, "He sits with my toothbrush in here.", "toothbrush", "In this tooth brush he sits in here, toothbrush."),
        (True, "The editing was as bad as it.", "editing", "As bad as the edits it was, the editing."),
        (True, "Moore seems to move through this.", "Moore", "Through this, he seems to move, Moore."),
        (True, "A great performance by her.", "great performance", "By her, great, a great performance."),
        # behind the phrase a pronoun refers to it
        (False, "Moore seems to move through this.", "Moore", "Moore, through this, he seems to move."),
        # what the sentence has itself is no other word for the phrase
        (False, "He said that Moore moves moored boats.", "Moore", "He moves moored boats, that is Moore."),
        # words of few letters and words with another first letter resemble many
        (False, "The plot has an act of love.", "act", "Of love an art the plot has, an act."),
        (False, "The plot is for a tad of us.", "plot", "For a lot of us, a tad is the plot."),
    ],
)
def test_a_phrase_is_not_said_in_other_words_too(restated, sentence, phrase, text):
    reviews = pl.DataFrame({"review_id": ["a"], "text": [sentence]})
    (parsed,) = parsed_sentences(reviews, parse_reviews(reviews, Parser().params()))["a"]
    start = sentence.index(phrase)
    task = Task("a", parsed, Phrase(phrase.lower(), 0, start, start + len(phrase)), frame_of(sentence, phrase))
    candidate = judge_sentence(Completion(text, "stop", {}), ".*", task, None, {"length_ratio": [0.1, 3]})
    assert (candidate.reason == "restated") is restated


def test_reasons_that_need_no_text(task):
    assert judged(task, GOOD, finish_reason="length").reason == "truncated"
    assert judged(task, TEXT, position=None).reason == "identical"
    assert judged(task, GOOD, regex="An? actress.*").reason == "malformed"


def test_the_grammar_and_the_filters_agree_on_a_good_candidate(task):
    regexes = grammars(task.frame, "front", [])
    assert [judged(task, GOOD, regex=regex).reason for regex in regexes] == ["malformed", None]
    assert judged(task, GOOD).text == GOOD
    assert judged(task, GOOD).length_ratio == 1
