"""A writer behind an endpoint, against a scripted server: what is sent, what is tried again, what is told."""

import json
import logging
import re

import pytest

from bad_server import ENTRY, KEY, BadServer, user_message
from homogenization.run.errors import HomogenizationError
from homogenization.writers.asking import Answer, Request
from homogenization.writers.endpoint import EndpointWriter


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The key, with the line break at the end of a file with secrets, which no header takes."""
    monkeypatch.setenv("TEST_API_KEY", f"{KEY}\n")


def shout(message):
    return json.dumps({"review": message.upper()})


def exchange(*texts, faults=None, seconds=0.0, moved_to="", **changes):
    """What is kept and what failed, by text, when a writer asks a server; and the server."""
    kept = {}
    with BadServer(shout, faults, seconds, moved_to) as server:
        writer = EndpointWriter({**ENTRY, "base_url": server.base_url, **changes})
        requests = {text: Request([{"role": "user", "content": text}], number) for number, text in enumerate(texts)}
        try:
            failed = writer.complete(requests, kept.__setitem__)
        except HomogenizationError as error:
            failed = error
    return kept, failed, server


def answer(text):
    return Answer(shout(text), "stop")


def test_what_is_sent():
    kept, failed, server = exchange("hello")
    assert (kept, failed) == ({"hello": answer("hello")}, {})
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "seed": 0}
    assert server.received == [asked | {"temperature": 0.7, "top_p": 0.95, "max_tokens": 64}]
    assert server.authorizations == {f"Bearer {KEY}"}


@pytest.mark.parametrize("fault", ["429", "500", "cut", "hang_up", "slow"])
def test_what_fails_in_passing_is_sent_again_without_a_line_in_the_log(fault, caplog):
    timeout = 1.0 if fault == "slow" else 10.0
    with caplog.at_level(logging.INFO):
        kept, failed, server = exchange("hello", faults={"hello": [fault]}, timeout_seconds=timeout)
    assert (kept, failed, caplog.text) == ({"hello": answer("hello")}, {}, "")
    assert 2 <= len(server.received) <= (3 if fault == "slow" else 2)


@pytest.mark.parametrize("fault", ["429", "500", "cut", "hang_up", "not_json", "no_choices", "slow", "400", "redirect"])
def test_a_request_that_keeps_failing_is_told_and_does_not_stop_the_others(fault):
    texts, timeout = [f"good {number}" for number in range(5)], 0.5 if fault == "slow" else 10.0
    faults = {"bad": [fault, "..."]}
    kept, failed, server = exchange("bad", *texts, faults=faults, max_retries=0, timeout_seconds=timeout)
    assert kept == {text: answer(text) for text in texts}
    assert failed.keys() == {"bad"}
    assert re.search(r"127\.0\.0\.1:\d+", failed["bad"])
    assert KEY not in failed["bad"]
    assert len(server.received) == 6


@pytest.mark.parametrize("fault", ["malformed", "empty", "null", "length"])
def test_an_odd_answer_is_an_answer(fault):
    kept, _, server = exchange("hello", faults={"hello": [fault]})
    assert len(server.received) == 1
    assert kept["hello"].finish_reason == ("length" if fault == "length" else "stop")
    assert (kept["hello"].text == "") == (fault in ("empty", "null"))


@pytest.mark.parametrize("fault", ["401", "403", "404"])
def test_a_refusal_of_all_requests_ends_the_job_and_what_is_under_way_is_kept(fault):
    texts = ("one", "bad", *map(str, range(40)))
    kept, failed, server = exchange(*texts, faults={"bad": [fault]}, seconds=0.2, connections=3)
    assert re.search(r"refuses all requests.*\[key\].*base_url.*'tiny'.*TEST_API_KEY", str(failed))
    assert KEY not in str(failed)
    assert sorted(kept) == sorted(user_message(body) for body in server.answered)
    assert "one" in kept
    assert len(server.received) < 10


def test_connections_are_bounded_and_used():
    assert exchange(*map(str, range(9)), seconds=0.1, connections=3)[2].most_at_once == 3


def test_a_redirect_takes_neither_key_nor_text_along():
    with BadServer(shout) as other:
        kept, failed, _ = exchange("hello", faults={"": ["redirect", "..."]}, moved_to=other.base_url)
    assert (kept, failed.keys(), other.received) == ({}, {"hello"}, [])


def test_without_a_key_none_is_sent(monkeypatch):
    monkeypatch.delenv("TEST_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)  # of another server
    assert exchange("hello")[2].authorizations == {"Bearer none"}


def test_the_address_comes_from_the_environment_of_the_job(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://$HOST_OF_MODEL/v1")
    with pytest.raises(HomogenizationError, match="environment variable HOST_OF_MODEL"):
        EndpointWriter(ENTRY | {"base_url": None})
    with BadServer(shout) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        EndpointWriter(ENTRY | {"base_url": None}).complete({"a": Request([], 0)}, lambda *_: None)
    assert len(server.received) == 1
