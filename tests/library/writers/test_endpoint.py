"""A writer behind an endpoint, against a server that misbehaves: what is sent, what is tried again, what is told."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.writers import endpoint
from homogenization.writers.asking import Answer

KEY = "sk-the-secret-key"
ENTRY = {"model": "tiny", "base_url": None, "temperature": 0.7, "max_new_tokens": 64, "connections": 4}


def completion(content, reason="stop"):
    message = {"role": "assistant", "content": content}
    return 200, {"id": "x", "object": "chat.completion", "choices": [{"message": message, "finish_reason": reason}]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.received.append((body, self.headers["Authorization"]))
        said = body["messages"][-1]["content"]
        status, content = next(self.server.faults.get(said, iter(())), completion(said.upper()))
        sent = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server on loopback, at OPENAI_BASE_URL, which answers in capitals after the faults that a text meets."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.received, running.faults = [], {}
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{running.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")  # as a file with secrets ends, which no header takes
        monkeypatch.setattr(endpoint, "MAX_RETRIES", 1)
        yield running
        running.shutdown()


def exchange(*texts):
    """What is kept and what failed, by text."""
    kept, names = {}, {f"{number:07x}": text for number, text in enumerate(texts)}
    chats = {key: [{"role": "user", "content": text}] for key, text in names.items()}
    failed = endpoint.Writer(ENTRY).complete(chats, lambda key, answer: kept.update({names[key]: answer}))
    return kept, {names[key]: reason for key, reason in failed.items()}


def test_what_is_sent(server, monkeypatch):
    assert exchange("hello") == ({"hello": Answer("HELLO", "stop")}, {})
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "hello"}], "seed": 0}
    assert server.received == [(asked | {"temperature": 0.7, "top_p": 0.95, "max_tokens": 64}, f"Bearer {KEY}")]
    monkeypatch.delenv("OPENAI_API_KEY")
    exchange("hello")
    assert server.received[1][1] == "Bearer none"


@pytest.mark.parametrize(
    ("fault", "n_sent"),
    [
        ((400, {"error": {"message": "too long"}}), 1),
        ((401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}), 1),
        ((429, {"error": {"message": "too many requests"}}), 2),
        ((500, {}), 2),
        ((200, {"error": {"code": 500}}), 1),
        ((200, "<html>Bad gateway</html>"), 1),
    ],
)
def test_what_keeps_failing_is_told_and_does_not_stop_the_others(server, fault, n_sent, caplog):
    server.faults["bad"] = iter([fault] * 9)
    kept, failed = exchange("bad", "good", "better")
    assert kept == {"good": Answer("GOOD", "stop"), "better": Answer("BETTER", "stop")}
    assert failed.keys() == {"bad"}
    assert f"127.0.0.1:{server.server_port}" in failed["bad"]
    assert KEY not in failed["bad"]
    assert len(server.received) == 2 + n_sent
    assert caplog.text == ""


def test_what_fails_in_passing_is_sent_again_and_an_odd_answer_is_an_answer(server):
    server.faults |= {"a": iter([(500, {})]), "b": iter([completion(None)]), "c": iter([completion("Sure", "length")])}
    kept, failed = exchange("a", "b", "c")
    assert failed == {}
    assert kept == {"a": Answer("A", "stop"), "b": Answer("", "stop"), "c": Answer("Sure", "length")}
    assert len(server.received) == 4


def test_an_address_with_an_unknown_variable_is_refused(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://$HOST_OF_MODEL/v1")
    with pytest.raises(HomogenizationError, match="environment variable HOST_OF_MODEL"):
        endpoint.Writer(ENTRY)
