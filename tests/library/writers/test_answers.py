import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.run.errors import HomogenizationError
from homogenization.writers.answers import Author, RequestStore, answered, ask_in_rounds, passed
from homogenization.writers.requests import Answer, Completion, Failure, Request

COMPLETION = Completion('{"review": "Ein Früchtchen, 😀 fine."}', "stop", {"total_tokens": 12})


@dataclass
class Shouter:
    """A writer that shouts what it is told; it fails, or stops the job, at some messages."""

    identity: dict = field(default_factory=lambda: {"model": "shouter", "revision": None})
    parameters: dict = field(default_factory=lambda: {"temperature": 0.7, "seed": 0})
    asked: list = field(default_factory=list)

    def complete(self, requests):
        # in reverse order: results come as they come
        for number, request in reversed(list(enumerate(requests))):
            said = request.messages[0]["content"]
            self.asked.append(said)
            if said == "interrupt":
                raise KeyboardInterrupt
            yield number, Failure("deaf") if said == "fail" else Completion(said.upper(), "stop", {})


@pytest.fixture
def store(tmp_path):
    return RequestStore(tmp_path)


@pytest.fixture
def writer():
    return Shouter()


def request(text="hello", name="a review", candidate=0):
    return Request(name, [{"role": "user", "content": text}], {"type": "object"}, candidate)


def test_the_key_is_all_that_decides_the_answer_and_nothing_else(store, writer):
    key = store.key(writer, request())
    assert store.key(writer, replace(request(), name="another review")) == key
    assert store.key(Shouter(parameters={"seed": 0, "temperature": 0.7}), request()) == key
    others = [
        store.key(writer, request("Hello")),
        store.key(writer, request(candidate=1)),
        store.key(writer, replace(request(), schema={})),
        store.key(writer, replace(request(), messages=[{"role": "system", "content": "hello"}])),
        store.key(Shouter(identity={"model": "shouter", "revision": "2"}), request()),
        store.key(Shouter(parameters={"temperature": 0.7, "seed": 1}), request()),
    ]
    assert len({key, *others}) == 7


def test_a_damaged_answer_is_never_trusted(store, writer, tmp_path):
    key = store.key(writer, request())
    store.put(key, writer, request(), COMPLETION)
    path = tmp_path / key[:2] / f"{key}.json"
    whole = path.read_bytes()

    @given(cut=st.booleans(), place=st.integers(0, len(whole) - 2), bit=st.integers(0, 7))
    def damage(cut, place, bit):
        flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
        path.write_bytes(whole[:place] if cut else flipped)
        # white space between JSON's parts may change without harm
        assert store.get(key) in (None, COMPLETION)

    damage()
    path.write_bytes(whole)
    other = store.key(writer, request("another"))
    (tmp_path / other[:2]).mkdir()
    path.rename(tmp_path / other[:2] / f"{other}.json")
    assert store.get(other) is None


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b'{"request": 1, "completion": 2, "checksum": 3}'])
def test_a_damaged_answer_is_asked_for_again(store, writer, tmp_path, caplog, content):
    answered(store, writer, [request()])
    path = next(tmp_path.rglob("*.json"))
    whole = path.read_bytes()
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert answered(store, writer, [request()]) == [Completion("HELLO", "stop", {})]
    assert f"{path} is damaged" in caplog.text
    assert writer.asked == ["hello", "hello"]
    assert path.read_bytes() == whole


def test_nothing_is_asked_twice_and_order_is_kept(store, writer):
    requests = [request("b"), request("a"), request("b", name="the same again")]
    assert [result.text for result in answered(store, writer, requests)] == ["B", "A", "B"]
    assert sorted(writer.asked) == ["a", "b"]
    more = [request("c"), *requests, request("a", candidate=1)]
    assert [result.text for result in answered(store, writer, more)] == ["C", "B", "A", "B", "A"]
    assert sorted(writer.asked) == ["a", "a", "b", "c"]


def test_failures_are_not_stored_and_what_came_before_an_interruption_is(store, writer, tmp_path):
    requests = [request("fail"), request("fine")]
    assert answered(store, writer, requests) == [Failure("deaf"), Completion("FINE", "stop", {})]
    answered(store, writer, requests)
    assert writer.asked == ["fine", "fail", "fail"]
    requests = [request("late"), request("interrupt"), request("early")]
    with pytest.raises(KeyboardInterrupt):
        answered(store, writer, requests)
    assert store.get(store.key(writer, requests[2])) == Completion("EARLY", "stop", {})
    assert len(list(tmp_path.rglob("*.json"))) == 2


def test_several_jobs_may_store_the_same_answer(store, writer, tmp_path):
    key = store.key(writer, request())
    store.put(key, writer, request(), COMPLETION)

    def put_and_get(_):
        store.put(key, writer, request(), COMPLETION)
        return store.get(key)

    with ThreadPoolExecutor(4) as pool:
        assert all(completion == COMPLETION for completion in pool.map(put_and_get, range(40)))
    assert len(list((tmp_path / key[:2]).iterdir())) == 1


def test_a_stored_answer_says_what_was_asked(store, writer, tmp_path):
    store.put(store.key(writer, request()), writer, request(), COMPLETION)
    stored = json.loads(next(tmp_path.rglob("*.json")).read_text())
    assert stored["request"] == {
        "identity": {"model": "shouter", "revision": None},
        "messages": [{"role": "user", "content": "hello"}],
        "schema": {"type": "object"},
        "parameters": {"temperature": 0.7, "seed": 0, "candidate": 0},
    }
    assert stored["completion"]["usage"] == {"total_tokens": 12}


@dataclass
class Judged:
    """An answer, which passes unless it is refused."""

    text: str
    refused: frozenset = frozenset()

    @property
    def reason(self):
        return "refused" if self.text in self.refused else None


def about(task, number):
    return request(f"{task}{number}", name=task)


def test_what_passes_is_not_asked_about_again(store, writer):
    author = Author(writer, store, {})

    def judge(proposals):
        return [Judged(one.completion.text, frozenset({"A0"})) for one in proposals]

    judged = ask_in_rounds(author, ["a", "b"], about, judge, rounds=3, n_reviews=2)
    assert {
        task: [(asked.messages[0]["content"], one.text) for asked, one in found] for task, found in judged.items()
    } == {
        "a": [("a0", "A0"), ("a1", "A1")],
        "b": [("b0", "B0")],
    }
    assert [one.text for one in passed(judged["a"])] == ["A1"]


def test_reviews_without_an_answer_are_named_by_reason_after_all_else_is_asked(store, writer):
    def asked(task, number):
        return request("fail", name=task) if task in ("a", "c") else about(task, number)

    def judge(proposals):
        return [Judged(one.completion.text, frozenset({"B0"})) for one in proposals]

    with pytest.raises(HomogenizationError, match=r"(?s)2 of 9 reviews got no answer.*- a, c: deaf"):
        ask_in_rounds(Author(writer, store, {}), ["a", "b", "c"], asked, judge, rounds=3, n_reviews=9)
    assert sorted(writer.asked) == ["b0", "b1", "fail"]


class Film(Answer):
    names: list[str]


def test_an_answer_in_json_is_asked_for_and_read_as_it_is_described():
    names = {"type": "array", "items": {"type": "string"}}
    form = {"type": "object", "properties": {"names": names}, "required": ["names"], "additionalProperties": False}
    assert Film.model_json_schema() == form
    assert Film.read(Completion('{"names": ["Jaws"]}', "stop", {})).names == ["Jaws"]
    for text in ('{"names": "Jaws"}', '{"names": [], "note": ""}', "{}", "Jaws"):
        assert Film.read(Completion(text, "stop", {})) is None
