"""An OpenAI-compatible server on loopback that misbehaves as a test has it, and keeps count of what it is asked."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def user_message(body: dict) -> str:
    """What the user says in the chat of a request."""
    return next((message["content"] for message in body["messages"] if message["role"] == "user"), "")


KEY = "sk-the-secret-key"
#: An entry of `writers` for such a server, less its address.
ENTRY = {
    "backend": "openai",
    "model": "tiny",
    "revision": None,
    "api_key_variable": "TEST_API_KEY",
    "temperature": 0.7,
    "top_p": 0.95,
    "max_new_tokens": 64,
    "connections": 4,
    "timeout_seconds": 10.0,
    "max_retries": 2,
}


class BadServer:
    """Answers chat completions from a thread; use it in a `with` block.

    Args:
        write: User message -> content of the answer.
        faults: For requests whose user message holds the marker: what happens to the first of them, the second, and so
            on; "..." behind the last fault makes it stay. After its faults a request is answered well.
        seconds: How long every answer takes.
        moved_to: Address to which the fault "redirect" sends a request on.

    Attributes:
        base_url: What a client needs.
        received: Bodies of all requests, in the order in which they came.
        answered: Bodies of the requests to which a chat completion was sent.
        authorizations: All values of the header with the key.
        most_at_once: The largest number of requests that were under way at one time.
    """

    def __init__(
        self,
        write: Callable[[str], str],
        faults: Mapping[str, Sequence[str]] | None = None,
        seconds: float = 0.0,
        moved_to: str = "",
    ):
        self.write = write
        self.moved_to = moved_to
        self.faults = {marker: list(coming) for marker, coming in (faults or {}).items()}
        self.seconds = seconds
        self.received: list[dict] = []
        self.answered: list[dict] = []
        self.authorizations: set[str | None] = set()
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"

    def __enter__(self) -> "BadServer":
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._ending.set()
        self._http.shutdown()
        self._http.server_close()

    def begin(self, body: dict, authorization: str | None) -> str | None:
        """Note a request; the fault that it meets."""
        with self._lock:
            self.received.append(body)
            self.authorizations.add(authorization)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            for marker, coming in self.faults.items():
                if marker in user_message(body) and coming:
                    return coming[0] if coming[1:] == ["..."] else coming.pop(0)
        return None

    def end(self, body: dict, is_answered: bool) -> None:
        """Note that a request is over."""
        with self._lock:
            self._at_once -= 1
            if is_answered:
                self.answered.append(body)

    def wait(self, seconds: float) -> None:
        """Let time pass, unless the server is to end."""
        self._ending.wait(seconds)


# a fault of the answer's content is a chat completion all the same: asked twice, it would be the same again
CONTENT_FAULTS = {
    "malformed": 'Sure! Here it is: {"review": "fine"}',
    "empty": "",
    "null": None,
}
STATUS_FAULTS = {
    "400": {"message": "Extra inputs are not permitted: response_format", "code": None},
    "401": {"message": "Incorrect API key provided", "code": "invalid_api_key"},
    "403": {"message": "No access to this model", "code": None},
    "404": {"message": "The model does not exist", "code": "model_not_found"},
    "429": {"message": "Too many requests", "code": "rate_limit_exceeded"},
    "500": {"message": "Internal error", "code": None},
}


def _handler(server: BadServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fault = server.begin(body, self.headers["Authorization"])
            is_answered = fault is None or fault == "length" or fault in CONTENT_FAULTS
            server.wait(30 if fault == "slow" else server.seconds)
            # before it is sent: a client that has its answer may look at the counts, or send the next request
            server.end(body, is_answered)
            with suppress(BrokenPipeError, ConnectionResetError):
                if fault in CONTENT_FAULTS:
                    self.send(200, _completion(CONTENT_FAULTS[fault], "stop"))
                elif is_answered:
                    content = server.write(user_message(body))
                    self.send(200, _completion(content, "length" if fault == "length" else "stop"))
                elif fault == "redirect":
                    self.send(307, b"", {"Location": server.moved_to})
                elif fault in STATUS_FAULTS:
                    self.refuse(int(fault[:3]), STATUS_FAULTS[fault])
                elif fault == "cut":
                    self.send(200, _completion("cut", "stop"), sent=0.5)
                elif fault in ("hang_up", "slow"):
                    self.close_connection = True
                elif fault == "not_json":
                    self.send(200, b"<html>Bad gateway</html>")
                elif fault == "no_choices":
                    self.send(200, json.dumps({"error": {"code": 500, "message": "out of slots"}}).encode())
                else:
                    raise AssertionError(f"no fault {fault!r}")

        def refuse(self, status: int, error: dict) -> None:
            """Send an error that repeats the key, as careless servers do."""
            said = {**error, "message": f"{error['message']} ({self.headers['Authorization']})"}
            self.send(status, json.dumps({"error": said}).encode())

        def send(
            self, status: int, content: bytes, headers: Mapping[str, str] | None = None, sent: float = 1.0
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("X-Asked-With", str(self.headers["Authorization"]))  # as careless servers do
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if status == 429:
                self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(content[: int(len(content) * sent)])
            self.close_connection = self.close_connection or sent < 1

        def log_message(self, *_) -> None:
            pass

    return Handler


def _completion(content: str | None, finish_reason: str) -> bytes:
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": finish_reason}]
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    return json.dumps({"id": "x", "object": "chat.completion", "choices": choices, "usage": usage}).encode()
