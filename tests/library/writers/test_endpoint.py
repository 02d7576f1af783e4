import json
import logging
import re
import time
from dataclasses import replace

import httpx2
import pytest
from llguidance import LLMatcher, LLTokenizer

from bad_server import ENTRY, KEY, BadServer, user_message
from homogenization.run.errors import HomogenizationError
from homogenization.writers import endpoint
from homogenization.writers.answers import RequestStore, answered
from homogenization.writers.endpoint import REGEX_DIALECTS, OpenAIWriter
from homogenization.writers.requests import Completion, Failure, Request, matches, request_seed

SCHEMA = {"type": "object", "properties": {"review": {"type": "string"}}}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The key, with the line break at the end of a file with secrets, which no header takes."""
    monkeypatch.setenv("TEST_API_KEY", f"{KEY}\n")


def shout(message, candidate):
    return json.dumps({"review": message.upper()})


def requests_for(*texts, candidate=0):
    return [Request(text, [{"role": "user", "content": text}], SCHEMA, candidate) for text in texts]


def writer_for(server, seed=0, **changes):
    entry = {**ENTRY, "base_url": server if isinstance(server, str) else server.base_url, **changes}
    return OpenAIWriter(entry, seed)


def results_of(writer, requests):
    found = dict(writer.complete(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[number] for number in range(len(requests))]


def exchange(*texts, faults=None, seconds=0.0, candidate=0, **changes):
    """The results of requests for `texts` that a writer sends to a server, and the server."""
    with BadServer(shout, faults, seconds) as server:
        return results_of(writer_for(server, **changes), requests_for(*texts, candidate=candidate)), server


def shouted(text):
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    return Completion(shout(text, 0), "stop", usage)


def test_what_is_sent():
    results, server = exchange("hello", candidate=2, seed=40, connections=2, max_retries=0)
    assert results == [shouted("hello")]
    assert server.received == [
        {
            "model": "tiny",
            "messages": [{"role": "user", "content": "hello"}],
            "temperature": 0.7,
            "top_p": 0.95,
            "max_tokens": 64,
            "seed": request_seed(40, requests_for("hello", candidate=2)[0]) % 2**31,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
            },
        }
    ]
    assert server.authorizations == {f"Bearer {KEY}"}
    assert writer_for(server, revision="2026-01").identity == {"model": "tiny", "revision": "2026-01"}


def test_every_request_is_sent_a_seed_of_its_own_and_results_come_as_they_are_answered():
    with BadServer(shout, {"0": ["500"]}) as server:
        writer = writer_for(server, connections=2)
        order = [number for number, _ in writer.complete(requests_for(*map(str, range(5))))]
        results_of(writer, requests_for("0", "1", candidate=1))
    assert order[-1] == 0
    assert len({body["seed"] for body in server.received}) == 7


@pytest.mark.parametrize(
    ("structured_output", "sent"), [("json_object", {"response_format": {"type": "json_object"}}), ("none", {})]
)
def test_the_form_that_is_asked_for(structured_output, sent):
    _, server = exchange("hello", structured_output=structured_output)
    assert {key: value for key, value in server.received[0].items() if key == "response_format"} == sent


def bound(*texts, regex):
    return [replace(request, schema=None, regex=regex) for request in requests_for(*texts)]


def grammar_takes(grammar: str, content: bytes) -> bool:
    """Whether LLGuidance takes the whole content, by a grammar as llama.cpp is sent it."""
    matcher = LLMatcher(LLTokenizer("byte"), LLMatcher.grammar_from_lark(grammar.split("\n", 1)[1]))
    assert not matcher.is_error(), matcher.get_error()
    return matcher.consume_tokens(list(content)) and matcher.is_accepting()


@pytest.mark.parametrize(
    ("dialect", "sent"),
    [
        ("vllm", {"structured_outputs": {"regex": "A/[^\\n]+"}}),
        ("sglang", {"regex": "A/[^\\n]+"}),
        ("llguidance", {"grammar": "%llguidance {}\nstart: /A\\/[^\\n]+/"}),
    ],
)
def test_a_regular_expression_is_sent_in_the_dialect_of_the_server(dialect, sent):
    with BadServer(lambda message, candidate: f"A/{message}") as server:
        writer = writer_for(server, regex_dialect=dialect)
        mixed = [*bound("hello", regex=r"A/[^\n]+"), *requests_for("hello")]
        assert [answer.text for answer in results_of(writer, mixed)] == ["A/hello"] * 2
    plain = {"model", "messages", "temperature", "top_p", "max_tokens", "seed"}
    forms = [{key: value for key, value in body.items() if key not in plain} for body in server.received]
    with_regex, of_schema = sorted(forms, key=lambda form: form != sent)
    assert with_regex == sent
    if dialect == "llguidance":
        assert grammar_takes(of_schema["grammar"], b'{"review":\n"A"}')
        assert not grammar_takes(of_schema["grammar"], b'{"review":  "A"}')  # a small model goes on with white space
    else:
        assert of_schema.keys() == {"response_format"}


@pytest.mark.parametrize(
    ("regex", "text"),
    [("a/b", "a/b"), (r"a\/b", "a/b"), (r"[/]\\/", "/\\/"), ("a\nb", "a\nb"), (r'"\n[^\n]{1,3}\.', '"\né!?.')],
)
def test_llguidance_reads_the_regular_expression_that_was_meant(regex, text):
    assert re.fullmatch(regex, text)
    grammar = REGEX_DIALECTS["llguidance"](regex)["grammar"]
    assert grammar_takes(grammar, text.encode())
    assert not grammar_takes(grammar, text.encode()[:-1] + b"x/")


def test_a_server_that_does_not_enforce_a_regular_expression_is_noticed():
    regex = r"On Monday, [^\n]+\."
    answers = {"good": "On Monday, I saw it.", "late": "I saw it on Monday.", "broken": "On Monday, I\nsaw it."}
    with BadServer(lambda message, candidate: answers.get(message, "I saw"), {"cut": ["length"]}) as server:
        results = results_of(writer_for(server, regex_dialect="vllm"), bound(*answers, "cut", regex=regex))
    assert [getattr(result, "text", None) for result in results] == [answers["good"], None, None, "I saw"]
    for failure in results[1:3]:
        assert re.search(r"127\.0\.0\.1:\d+ did not enforce the .* dialect vllm.*check regex_dialect", failure.reason)


def test_an_answer_is_compared_in_time_that_grows_with_its_length():
    """A single capital is a word with small letters behind it and one in capitals: for Python's `re`, 2^n ways."""
    regex = r"(?:(?:[A-Z][a-z]*|[A-Z][A-Z]*)(?:'[A-Z]+){0,2} ){0,300}end\."
    assert matches(regex, "I'M " * 200 + "end.")
    assert not matches(regex, "I'M " * 200 + "end!")
    assert not matches(regex, "I'M end.\n")
    assert matches("|".join(f"a{number}{{0,900}}" for number in range(400)), "a39")  # over 10 MB as an automaton


def test_a_server_that_refuses_a_regular_expression_is_told_with_the_cure():
    refused = pytest.raises(HomogenizationError, match=r"answered 400 .*in the dialect sglang \(regex_dialect\)")
    with BadServer(shout, {"": ["400", "..."]}) as server, refused:
        results_of(writer_for(server, regex_dialect="sglang"), bound("hello", regex="a+"))


@pytest.mark.parametrize("fault", ["429", "500", "cut", "hang_up", "not_json", "no_choices", "slow"])
def test_what_fails_in_passing_is_sent_again_and_the_log_has_no_line_of_it(fault, caplog):
    timeout = 1.0 if fault == "slow" else 10.0
    with caplog.at_level(logging.INFO):
        results, server = exchange("hello", faults={"hello": [fault]}, timeout_seconds=timeout)
    assert caplog.text == ""
    assert results == [shouted("hello")]
    assert 2 <= len(server.received) <= (3 if fault == "slow" else 2)
    waited = server.times[1] - server.times[0]
    assert waited >= (1.0 if fault == "429" else 0.37)  # Retry-After; half a second, less a quarter by chance


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("429", r"127\.0\.0\.1:\d+ answered 429 .*Too many requests"),
        ("500", r"127\.0\.0\.1:\d+ answered 500 .*Internal error"),
        ("cut", r"the connection to 127\.0\.0\.1:\d+ failed \(RemoteProtocolError"),
        ("hang_up", r"the connection to 127\.0\.0\.1:\d+ failed \(RemoteProtocolError"),
        ("not_json", r"the answer of 127\.0\.0\.1:\d+ is no chat completion"),
        ("no_choices", r"the answer of 127\.0\.0\.1:\d+ is no chat completion: .*choices"),
        ("slow", r"no answer of 127\.0\.0\.1:\d+ within 0\.5 seconds"),
        ("400_context", "too long for the model's context .*lower max_new_tokens"),
    ],
)
def test_a_request_that_keeps_failing_does_not_stop_the_others(fault, reason):
    texts, timeout = [f"good {number}" for number in range(5)], 0.5 if fault == "slow" else 10.0
    (failure, *good), server = exchange(
        "bad", *texts, faults={"bad": [fault, "..."]}, max_retries=0, timeout_seconds=timeout
    )
    assert isinstance(failure, Failure)
    assert re.search(reason, failure.reason), failure.reason
    assert KEY not in failure.reason
    assert good == list(map(shouted, texts))
    assert len(server.received) == 6


@pytest.mark.parametrize("fault", ["malformed", "empty", "null", "length"])
def test_an_odd_answer_is_an_answer(fault):
    (answer,), server = exchange("hello", faults={"hello": [fault]})
    assert len(server.received) == 1
    assert answer.finish_reason == ("length" if fault == "length" else "stop")
    assert (answer.text == "") == (fault in ("empty", "null"))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("400", r"answered 400 .*response_format.*try another structured_output"),
        ("401", r"answered 401 .*\[key\].*Set the environment variable TEST_API_KEY"),
        ("403", r"answered 403 .*TEST_API_KEY has no right"),
        ("404", r"answered 404 .*Check base_url .* 'tiny'"),
    ],
)
def test_a_refusal_of_all_requests_ends_the_job_at_once(fault, message):
    with BadServer(shout, {"": [fault, "..."]}, seconds=0.05) as server:
        writer = writer_for(server, connections=2)
        with pytest.raises(HomogenizationError, match=message) as caught:
            results_of(writer, requests_for(*(f"text {number}" for number in range(50))))
    assert KEY not in str(caught.value)
    assert f"127.0.0.1:{server.base_url.split(':')[2].split('/')[0]}" in str(caught.value)
    assert len(server.received) < 10


def test_what_is_under_way_at_a_refusal_is_not_lost():
    texts, found = ("one", "bad", *"abcdef"), []
    with BadServer(shout, {"bad": ["404"]}, seconds=0.2) as server:
        writer = writer_for(server, connections=3)
        with pytest.raises(HomogenizationError, match="answered 404"):
            found.extend(texts[number] for number, _ in writer.complete(requests_for(*texts)))
    assert sorted(found) == sorted(user_message(body) for body in server.answered)
    assert "one" in found


def test_concurrency_is_bounded_and_used():
    _, server = exchange(*map(str, range(9)), seconds=0.1, connections=3)
    assert server.most_at_once == 3


def test_a_consumer_that_stops_stops_the_requests():
    with BadServer(shout, seconds=0.05) as server:
        for _ in writer_for(server, connections=2).complete(requests_for(*map(str, range(50)))):
            break
        time.sleep(0.6)
        assert len(server.received) < 10


def test_a_key_in_an_answer_or_a_header_is_not_kept(tmp_path):
    """In the text, the reason of the end and the counts; also where JSON spells it otherwise."""
    store, requests = RequestStore(tmp_path), requests_for("hello")
    with BadServer(shout, {"hello": ["key"]}) as server:
        (answer,) = answered(store, writer_for(server), requests)
    assert answer == Completion("I was asked with Bearer [key].", "Bearer [key]", {"Bearer [key]": ["Bearer [key]"]})
    (kept,) = tmp_path.rglob("*.json")
    assert KEY not in kept.read_text()
    assert store.get(kept.stem) == answer
    (failure,), _ = exchange("hello", faults={"hello": ["odd_header", "..."]}, max_retries=0)
    assert "[key]" in failure.reason
    assert KEY not in failure.reason


def test_a_redirect_to_another_host_is_not_followed():
    with BadServer(shout) as other, BadServer(shout, {"": ["redirect", "..."]}, moved_to=other.base_url) as server:
        hosts = [one.base_url.split("/")[2] for one in (server, other)]
        refused = pytest.raises(
            HomogenizationError, match=f"{hosts[0]} answered 307 .*on to http://{hosts[1]}.*base_url"
        )
        with refused as caught:
            results_of(writer_for(server), requests_for("hello"))
    assert len(server.received) == 1
    assert other.received == []
    assert KEY not in str(caught.value)


def test_a_redirect_on_the_same_host_is_followed():
    with BadServer(shout, {"hello": ["redirect"]}, moved_to="/v1/elsewhere") as server:
        assert results_of(writer_for(server), requests_for("hello")) == [shouted("hello")]
    assert len(server.received) == 2
    assert server.authorizations == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    ("asked", "location", "elsewhere"),
    [
        ("http://host/v1", "https://host/v1", None),
        ("https://host/v1", "http://host/v1", "http://host"),
        ("http://host:8000/v1", "http://host:9000/v1", "http://host:9000"),
        ("http://host/v1", "//other/v1", "http://other"),
        ("https://host/v1", "https://user:secret@sub.host/v1", "https://sub.host"),
        ("https://host/v1", "https://HOST:443/v2", None),
    ],
)
def test_what_another_host_is(asked, location, elsewhere):
    response = httpx2.Response(308, headers={"Location": location}, request=httpx2.Request("POST", asked))
    endpoint._stop_redirect_elsewhere(response)
    assert response.headers.get("x-redirect-elsewhere") == elsewhere
    assert response.has_redirect_location == (elsewhere is None)


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("TEST_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # of another server
    _, server = exchange("hello")
    assert server.authorizations == {"Bearer none"}


@pytest.mark.parametrize("value", ["sk-\nsecret", "sk-sécret"])
def test_a_key_that_no_header_takes_is_refused_without_showing_it(monkeypatch, value):
    monkeypatch.setenv("TEST_API_KEY", value)
    with pytest.raises(HomogenizationError, match="environment variable TEST_API_KEY") as caught:
        writer_for("http://host:1/v1")
    assert "cret" not in str(caught.value)


def test_the_address_comes_from_the_environment_of_the_job(monkeypatch):
    with BadServer(shout) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        monkeypatch.setenv("VLLM_PORT", port)
        results_of(writer_for("http://127.0.0.1:${VLLM_PORT}/v1"), requests_for("hello"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        results_of(writer_for(server, base_url=None), requests_for("hello"))
    assert [user_message(body) for body in server.received] == ["hello", "hello"]


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("http://$VLLM_HOST:8000/v1", "needs the environment variable VLLM_HOST"),
        (None, "needs the environment variable OPENAI_BASE_URL"),
        ("localhost:8000/v1", "is no address"),
        ("http:///v1", "is no address"),
    ],
)
def test_an_address_that_is_none_is_named(monkeypatch, base_url, message):
    monkeypatch.delenv("VLLM_HOST", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(HomogenizationError, match=message):
        writer_for("", base_url=base_url)
