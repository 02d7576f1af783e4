"""Rewriting sentence by sentence: with a writer that does as told, and with a tiny model and its grammar."""

import re
from dataclasses import replace

import polars as pl
import pytest

from homogenization.config.texts import Parser
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.run.parquet import table_metadata
from homogenization.variants.by_sentence import Sentences
from homogenization.variants.llm_rewriting import Assignment, Candidate, Shard, rewrite_with_llm
from homogenization.variants.parsing import parse_reviews
from homogenization.variants.refusals import SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
from homogenization.variants.schemas import KEYPHRASE_SCHEMA, PARSE_SCHEMA, VARIANT_SCHEMA
from homogenization.variants.sentence_answers import Task, judge_sentence
from homogenization.variants.sentence_grammars import frame_of, grammars, is_at
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.requests import Completion
from moving import phrase_in
from script import written_by_llm
from tiny_chat import build_chat_model

TEXT = "In 1998, Parker Posey didn't give us a great performance for nothing."
PHRASE = "great performance"
GOOD = "A great performance didn't come from Parker Posey for nothing in 1998."


@pytest.fixture(scope="module")
def task_of(parsed):
    """(sentence, phrase) -> the task of moving the phrase."""

    def task_of(sentence, phrase):
        (one,) = parsed({"a": sentence})["a"]
        return Task("a", one, phrase_in(sentence, phrase), frame_of(sentence, phrase))

    return task_of


@pytest.fixture(scope="module")
def task(task_of):
    return task_of(TEXT, PHRASE)


def judged(task, text, position="front", finish_reason="stop", regex=".*", ratios=(0.6, 1.5)):
    return judge_sentence(Completion(text, finish_reason, {}), regex, task, position, {"length_ratio": ratios})


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
def test_a_phrase_is_not_said_in_other_words_too(task_of, restated, sentence, phrase, text):
    candidate = judged(task_of(sentence, phrase), text, position=None, ratios=(0.1, 3))
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


PROMPT = {"version": 4, "system": "", "user": "$phrase\n$sentence"}
LIMITS = {"candidates": 3, "length_ratio": [0.6, 1.5], "min_f1": None, "min_moved": 0.5}
TEXTS = {
    # the phrase inside, no phrase, in front, at the end; two spaces stay
    "a": "I saw a slow film there last night.  Nothing else. Slow film it was for me. We all left this slow film!",
    "b": '"The clever plot was lost on most of us," he said (in tears). 2. A clever plot.',
    "c": "No key phrases here.",
}
PHRASES = {"a": "slow film", "b": "clever plot"}


class Obedient:
    """A writer that puts the words of the sentence around the phrase until the regular expression takes them."""

    def __init__(self, temperature=0.0):
        self.identity = {"model": "obedient"}
        self.parameters = {"temperature": temperature, "seed": 0}
        self.asked = []

    def complete(self, requests):
        for number, request in enumerate(requests):
            self.asked.append(request)
            phrase, sentence = request.messages[-1]["content"].split("\n")
            yield number, Completion(rearranged(phrase, sentence, request.regex, request.candidate), "stop", {})


def rearranged(phrase, sentence, regex, sample):
    rest = sentence[:-1].replace(phrase, " ").replace(phrase.capitalize(), " ").split()[::-1]
    for at in [*range(len(rest) + 1)][sample:]:
        for verb in ([], ["was"]):
            words_in_order = " ".join([*rest[:at], phrase, *verb, *rest[at:]])
            for text in (words_in_order[0].upper() + words_in_order[1:] + sentence[-1], words_in_order + sentence[-1]):
                if re.fullmatch(regex, text):
                    return text
    return "Not so"


def tables():
    reviews = pl.DataFrame({"review_id": list(TEXTS), "text": list(TEXTS.values()), "label": ["1", "0", None]})
    rows = [
        (name, phrase, 1.0, number, start + at.start(), start + at.end())
        for name, phrase in PHRASES.items()
        for number, (start, end) in enumerate(sentence_spans(TEXTS[name]))
        for at in re.finditer(phrase, TEXTS[name][start:end].casefold())
    ]
    return reviews, pl.DataFrame(rows, KEYPHRASE_SCHEMA, orient="row"), pl.DataFrame(schema=PARSE_SCHEMA)


def unit_for(folder, position, writer, **limits) -> Sentences:
    author = Author(writer, RequestStore(folder / "requests"), PROMPT)
    return Sentences(Shard(*tables()), Assignment("v", author, position, LIMITS | limits))


def rewritten(folder, position, writer=None, f1=lambda offered, texts: [0.9] * len(texts), **limits):
    """The tables of the variant, its candidates, and its sentences."""
    unit = unit_for(folder, position, writer or Obedient(), **limits)
    made = rewrite_with_llm(unit, lambda offered, texts: [(0, 0, one) for one in f1(offered, texts)])
    return made["variant"], made["candidates"], made["sentences"]


@pytest.mark.parametrize(
    ("position", "outcomes"),
    [
        ("front", ["moved", "in_place", "moved", "in_place", "kept"]),
        ("end", ["moved", "moved", "in_place", "moved", "kept"]),
        ("inward", ["moved", "moved", "moved", "moved", "kept"]),
        (None, ["moved", "moved", "moved", "moved", "kept"]),
    ],
)
def test_sentences_with_phrases_move_and_all_else_stays_to_the_byte(tmp_path, position, outcomes):
    variant, candidates, sentences = rewritten(tmp_path, position)
    assert dict(variant.schema) == VARIANT_SCHEMA
    assert dict(candidates.schema) == SENTENCE_CANDIDATE_SCHEMA
    assert dict(sentences.schema) == SENTENCE_SCHEMA
    assert sentences["outcome"].to_list() == outcomes
    texts = dict(variant.select("review_id", "text").iter_rows())
    taken = {
        (name, number): text
        for name, number, text in candidates.filter("taken").select("review_id", "sentence", "text").iter_rows()
    }
    for name, text in texts.items():
        original = TEXTS[name]
        for number, (start, end) in reversed(list(enumerate(sentence_spans(original)))):
            if (name, number) in taken:
                assert is_at(position, PHRASES[name], taken[name, number])
                original = original[:start] + taken[name, number] + original[end:]
        assert text == original
        assert text != TEXTS[name]
    assert "a" in texts
    assert "c" not in texts
    moved = sentences.filter(outcome="moved").select("review_id", "sentence").rows()
    assert sorted(moved) == sorted(taken)


def test_the_gate_judges_what_passed_the_filters(tmp_path):
    gated = replace(unit_for(tmp_path, None, Obedient()).assignment, gate=Parser().params())
    reviews, keyphrases, _ = tables()
    parse = parse_reviews(reviews, Parser().params())
    made = rewrite_with_llm(Sentences(Shard(reviews, keyphrases, parse), gated), None)
    assert made["variant"].is_empty()
    assert set(made["candidates"]["reason"]) & {"added", "adjunct", "detached"}


def test_places_before_and_after_are_recorded_and_marks_around_a_sentence_stay(tmp_path):
    variant, *_ = rewritten(tmp_path, "front")
    (of_a, *_) = variant["placements"].to_list()
    assert [(place["phrase"], place["sentence"]) for place in of_a] == [("slow film", at) for at in (0, 2, 3)]
    assert [place["original_position"] for place in of_a] == [0.5, 0.0, 1.0]
    assert all(place["position"] <= 0.4 for place in of_a)
    assert of_a[1]["position"] == 0
    _, candidates, _ = rewritten(tmp_path, "end")
    of_b = candidates.filter((pl.col("review_id") == "b") & pl.col("taken"))
    assert all(text.count('"') == 2 and text.endswith("clever plot.") for text in of_b["text"])


def test_nothing_is_asked_twice_and_an_edit_of_a_filter_asks_nothing(tmp_path):
    first = rewritten(tmp_path, "end")
    silent = Obedient()
    again = rewritten(tmp_path, "end", silent)
    assert all(one.equals(other) for one, other in zip(first, again, strict=True))
    stricter = rewritten(tmp_path, "end", silent, length_ratio=[1.01, 1.02], min_moved=0.9)
    assert silent.asked == []
    assert stricter[0].is_empty()
    assert set(stricter[1]["reason"]) == {"length"}
    assert set(stricter[2].filter(outcome="kept")["reason"]) == {"length", "unsuited"}


def test_a_greedy_writer_gets_each_grammar_once_and_another_also_several_samples(tmp_path):
    greedy, sampling = Obedient(), Obedient(temperature=0.7)
    rewritten(tmp_path / "0", "end", greedy)
    rewritten(tmp_path / "1", "end", sampling)
    for writer, expected in ((greedy, (0,)), (sampling, (0, 1, 2))):
        per_sentence: dict[str, list[int]] = {}
        for request in writer.asked:
            per_sentence.setdefault(request.messages[-1]["content"], []).append(request.candidate)
        assert set(map(tuple, per_sentence.values())) == {expected}
    assert all(request.schema is None and request.regex for request in greedy.asked)


def test_the_highest_score_is_taken_and_the_first_of_equals(tmp_path):
    unit = unit_for(tmp_path, None, Obedient())
    low, high, equal = (Candidate("a", None, "stop", scores=(0, 0, f1)) for f1 in (0.7, 0.9, 0.9))
    assert unit.best([low, high]) is high
    assert unit.best([low, high, equal]) is high
    assert unit.best([equal, high, low]) is equal


def test_the_best_candidate_is_taken_by_f1(tmp_path):
    _, by_f1, _ = rewritten(tmp_path, "front", f1=lambda offered, texts: [at / 100 for at in range(len(offered))])
    first = (pl.col("review_id") == "a") & (pl.col("sentence") == 0)
    assert by_f1.filter(first & pl.col("reason").is_null())["taken"].to_list() == [False, True]


def test_a_review_with_too_few_moved_sentences_is_left_out(tmp_path):
    def f1(offered, texts):
        return [0.1 if "there" in text else 0.9 for text in texts]

    variant, candidates, sentences = rewritten(tmp_path, "front", f1=f1, min_f1=0.5)
    of_a = sentences.filter(review_id="a")
    assert of_a["outcome"].to_list() == ["kept", "in_place", "moved"]
    assert of_a["reason"].to_list() == ["similarity", None, None]
    assert of_a["accepted"].to_list() == [True] * 3  # one of two
    assert "similarity" in set(candidates["reason"])
    variant, _, sentences = rewritten(tmp_path, "front", f1=f1, min_f1=0.5, min_moved=0.6)
    assert "a" not in set(variant["review_id"])
    assert not sentences.filter(review_id="a")["accepted"].any()


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    return build_chat_model(tmp_path_factory.mktemp("chat"))


@pytest.mark.parametrize("position", ["front", "end", "inward", None])
def test_a_real_model_is_held_to_the_place(tmp_path, chat, position):
    model = {"weights": {"path": str(chat)}, "dtype": "float32", "device": "cpu", "batch_size": 16}
    sampling = {"temperature": 1.0, "top_p": 1.0, "structured_output": "json_schema", "max_new_tokens": 100}
    params = {"module": "writers.local", "writer": model | sampling, "prompt": PROMPT, "position": position}
    params["filters"] = LIMITS | {"candidates": 12, "length_ratio": [0.01, 9.0]}
    made = written_by_llm(tmp_path, dict(zip(("shard", "keyphrases", "parse"), tables(), strict=True)), params)
    ended = made["candidates"].filter(finish_reason="stop")
    assert len(ended) > 0
    assert not {"empty", "position"} & set(ended["reason"])
    phrases = made["sentences"].select("review_id", "sentence", "phrase")
    for text, phrase in ended.join(phrases, on=["review_id", "sentence"]).select("text", "phrase").iter_rows():
        assert phrase in " ".join(words(text))
    judged = made["candidates"].filter(pl.col("reason").is_null())
    assert judged["f1"].null_count() == 0
    assert made["candidates"].filter("taken").height == (made["sentences"]["outcome"] == "moved").sum()
    described = table_metadata(tmp_path / "variants/v/000.parquet")
    assert (described["prompt"], described["position"], described["unit"]) == (4, position, "sentence")
