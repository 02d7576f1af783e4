import json
import logging
import re
import time

import pytest

from bad_server import ENTRY, KEY, BadServer, user_message
from homogenization.run.errors import HomogenizationError
from homogenization.writers.endpoint import EndpointWriter
from homogenization.writers.requests import Completion, Failure, Request, request_seed

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
    return EndpointWriter(entry, seed)


def results_of(writer, requests):
    found = dict(writer.complete(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[number] for number in range(len(requests))]


def exchange(*texts, faults=None, seconds=0.0, candidate=0, **changes):
    """The results of requests for `texts` that a writer sends to a server, and the server."""
    with BadServer(shout, faults, seconds) as server:
        return results_of(writer_for(server, **changes), requests_for(*texts, candidate=candidate)), server


def shouted(text, result):
    """Whether a result is the answer to `text`."""
    counts = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    is_answer = isinstance(result, Completion) and (result.text, result.finish_reason) == (shout(text, 0), "stop")
    return is_answer and result.usage.items() >= counts.items()


def test_what_is_sent():
    (result,), server = exchange("hello", candidate=2, seed=40, connections=2, max_retries=0)
    assert shouted("hello", result)
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


@pytest.mark.parametrize(
    ("structured_output", "sent"), [("json_object", {"response_format": {"type": "json_object"}}), ("none", {})]
)
def test_the_form_that_is_asked_for(structured_output, sent):
    _, server = exchange("hello", structured_output=structured_output)
    assert {key: value for key, value in server.received[0].items() if key == "response_format"} == sent


def test_every_request_is_sent_a_seed_of_its_own_and_results_come_as_they_are_answered():
    with BadServer(shout, {"0": ["500"]}) as server:
        writer = writer_for(server, connections=2)
        order = [number for number, _ in writer.complete(requests_for(*map(str, range(5))))]
        results_of(writer, requests_for("0", "1", candidate=1))
    assert order[-1] == 0
    assert len({body["seed"] for body in server.received}) == 7


@pytest.mark.parametrize("fault", ["429", "500", "cut", "hang_up", "slow"])
def test_what_fails_in_passing_is_sent_again_and_the_log_has_no_line_of_it(fault, caplog):
    timeout = 1.0 if fault == "slow" else 10.0
    with caplog.at_level(logging.INFO):
        (result,), server = exchange("hello", faults={"hello": [fault]}, timeout_seconds=timeout)
    assert caplog.text == ""
    assert shouted("hello", result)
    assert 2 <= len(server.received) <= (3 if fault == "slow" else 2)


@pytest.mark.parametrize(
    "fault", ["429", "500", "cut", "hang_up", "not_json", "no_choices", "slow", "400", "400_context", "redirect"]
)
def test_a_request_that_keeps_failing_is_told_and_does_not_stop_the_others(fault):
    texts, timeout = [f"good {number}" for number in range(5)], 0.5 if fault == "slow" else 10.0
    (failure, *good), server = exchange(
        "bad", *texts, faults={"bad": [fault, "..."]}, max_retries=0, timeout_seconds=timeout
    )
    assert isinstance(failure, Failure)
    assert re.search(r"127\.0\.0\.1:\d+", failure.reason), failure.reason
    assert KEY not in failure.reason
    assert all(map(shouted, texts, good))
    assert len(server.received) == 6


@pytest.mark.parametrize("fault", ["malformed", "empty", "null", "length"])
def test_an_odd_answer_is_an_answer(fault):
    (answer,), server = exchange("hello", faults={"hello": [fault]})
    assert len(server.received) == 1
    assert answer.finish_reason == ("length" if fault == "length" else "stop")
    assert (answer.text == "") == (fault in ("empty", "null"))


@pytest.mark.parametrize("fault", ["401", "403", "404"])
def test_a_refusal_of_all_requests_ends_the_job_and_what_is_under_way_is_not_lost(fault):
    texts, found = ("one", "bad", *map(str, range(40))), []
    with BadServer(shout, {"bad": [fault]}, seconds=0.2) as server:
        writer = writer_for(server, connections=3)
        message = r"refuses all requests.*\[key\].*base_url.*'tiny'.*TEST_API_KEY"
        with pytest.raises(HomogenizationError, match=message) as caught:
            found.extend(texts[number] for number, _ in writer.complete(requests_for(*texts)))
    assert KEY not in str(caught.value)
    assert sorted(found) == sorted(user_message(body) for body in server.answered)
    assert "one" in found
    assert len(server.received) < 10


def test_concurrency_is_bounded_and_used():
    _, server = exchange(*map(str, range(9)), seconds=0.1, connections=3)
    assert server.most_at_once == 3


def test_a_consumer_that_stops_stops_the_requests():
    with BadServer(shout, seconds=0.05) as server:
        for _ in writer_for(server, connections=2).complete(requests_for(*map(str, range(50)))):
            break
        time.sleep(0.6)
        assert len(server.received) < 10


def test_a_redirect_is_not_followed():
    with BadServer(shout) as other, BadServer(shout, {"": ["redirect", "..."]}, moved_to=other.base_url) as server:
        (failure,) = results_of(writer_for(server), requests_for("hello"))
    assert isinstance(failure, Failure)
    assert other.received == []


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("TEST_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # of another server
    _, server = exchange("hello")
    assert server.authorizations == {"Bearer none"}


def test_the_address_comes_from_the_environment_of_the_job(monkeypatch):
    with BadServer(shout) as server:
        port = server.base_url.split(":")[2].split("/")[0]
        monkeypatch.setenv("VLLM_PORT", port)
        results_of(writer_for("http://127.0.0.1:${VLLM_PORT}/v1"), requests_for("hello"))
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        results_of(writer_for(server, base_url=None), requests_for("hello"))
    assert [user_message(body) for body in server.received] == ["hello", "hello"]
    monkeypatch.delenv("OPENAI_BASE_URL")
    for base_url, variable in ((None, "OPENAI_BASE_URL"), ("http://$NO_SUCH_HOST:8000/v1", "NO_SUCH_HOST")):
        with pytest.raises(HomogenizationError, match=f"needs the environment variable {variable}"):
            writer_for("", base_url=base_url)
