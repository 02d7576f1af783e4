"""A writer behind an OpenAI-compatible endpoint: vLLM, transformers serve, llama.cpp and others."""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from random import random
from typing import Any
from urllib.parse import urlsplit

import openai
from pydantic import BaseModel, Field, ValidationError

from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import WHITE_SPACE, Completion, Failure, Request, generation, matches, request_seed

RETRIED_STATUS = (408, 409, 429)  # and 500 and above, the same as the client's
LONGEST_REASON = 300
_ELSEWHERE = "x-redirect-elsewhere"  # header in which a response holds the host of a redirect that is not followed
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.5, 8.0
# OpenAI: code context_length_exceeded; vLLM: "maximum context length"; llama.cpp: type exceed_context_size_error
_CONTEXT = re.compile(r"context.(?:length|size)", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)")
# what a server is sent for a regular expression, by the name of the server or of its grammars
REGEX_DIALECTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "vllm": lambda regex: {"structured_outputs": {"regex": regex}},
    "sglang": lambda regex: {"regex": regex},
    "llguidance": lambda regex: {"grammar": f"%llguidance {{}}\nstart: /{_within_slashes(regex)}/"},
}


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Answer(BaseModel):
    """The parts of a chat completion that are read; servers differ in the rest."""

    choices: list[_Choice] = Field(min_length=1)
    usage: dict[str, Any] | None = None


class OpenAIWriter:
    """Sends requests over a bounded number of connections, and repeats those that fail temporarily.

    Args:
        entry: Entry of `writers`: model, revision (a label that the user chooses), base_url ($VARIABLES are expanded;
            None: OPENAI_BASE_URL), api_key_variable (the environment variable with the key; unset: no key),
            structured_output ("json_schema", "json_object" or "none"), regex_dialect (of `REGEX_DIALECTS`; absent: no
            regular expressions), temperature, top_p, max_new_tokens; connections (requests at a time), timeout_seconds
            (longest wait for an answer), max_retries (retries of a request, after exponential backoff with jitter or
            the time in the server's Retry-After).
        seed: Seed from which the seed of each request is derived.

    Raises:
        HomogenizationError: there is no base_url, or the key can't be sent.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        self.identity = {"model": entry["model"], "revision": entry["revision"]}
        self.parameters = generation(entry, seed)
        self._dialect = entry.get("regex_dialect")
        self._connections = entry["connections"]
        self._timeout_seconds = entry["timeout_seconds"]
        self._max_retries = entry["max_retries"]
        self._key_variable = entry["api_key_variable"]
        self._key = _key(self._key_variable)
        base_url = _base_url(entry["base_url"])
        self._server = urlsplit(base_url).netloc.rpartition("@")[2]
        for library in ("openai", "httpx", "httpx2"):  # they log every request
            logging.getLogger(library).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=self._key or "none",
            timeout=self._timeout_seconds,
            max_retries=self._max_retries,
            http_client=openai.DefaultHttpxClient(event_hooks={"response": [_stop_redirect_elsewhere]}),
        )

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) as answers arrive.

        Raises:
            HomogenizationError: the server refuses requests of this kind; results of requests under way are yielded
                first.
        """
        refusal = None
        pool = ThreadPoolExecutor(self._connections)
        try:
            numbers = {pool.submit(self._answer, request): number for number, request in enumerate(requests)}
            for future in as_completed(numbers):
                if future.cancelled():
                    continue
                try:
                    result = future.result()
                except HomogenizationError as error:
                    refusal = error
                    for waiting in numbers:
                        waiting.cancel()
                else:
                    yield numbers[future], result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        if refusal:
            raise refusal

    def _answer(self, request: Request) -> Completion | Failure:
        """The answer to one request; a body that isn't a chat completion is retried, like a status of 500."""
        for attempt in range(self._max_retries + 1):
            try:
                body = self._client.chat.completions.with_raw_response.create(**self._body(request)).content
                answer = _Answer.model_validate_json(body)
            except ValidationError as error:
                reason = _told(f"the answer of {self._server} is no chat completion: {error.errors()[0]}")
                if attempt < self._max_retries:
                    delay = min(FIRST_DELAY_SECONDS * 2**attempt, LONGEST_DELAY_SECONDS)
                    time.sleep(delay * (1 - 0.25 * random()))
            except openai.APITimeoutError:
                return Failure(f"no answer of {self._server} within {self._timeout_seconds:g} seconds")
            except openai.APIStatusError as error:
                return self._status_failure(error, request)
            except openai.APIConnectionError as error:
                cause = f"{type(error.__cause__).__name__}: {error.__cause__}"
                return Failure(_told(f"the connection to {self._server} failed ({cause})"))
            else:
                return self._checked(answer, request)
        return Failure(reason)

    def _checked(self, answer: _Answer, request: Request) -> Completion | Failure:
        """The answer; a failure if it ended against its regular expression. One that was cut off need not match."""
        choice = answer.choices[0]
        text, finish_reason = choice.message.content or "", choice.finish_reason or "unknown"
        if request.regex is not None and finish_reason != "length" and not matches(request.regex, text):
            return Failure(
                f"the server {self._server} did not enforce the regular expression that it was sent in the dialect "
                f"{self._dialect}: servers ignore what they do not know; check regex_dialect, and the server's version"
            )
        return Completion(text, finish_reason, answer.usage or {})

    def _body(self, request: Request) -> dict[str, Any]:
        """The arguments of the client's `create`."""
        return {
            "model": self.identity["model"],
            "messages": request.messages,
            "temperature": self.parameters["temperature"],
            "top_p": self.parameters["top_p"],
            "max_tokens": self.parameters["max_new_tokens"],
            "seed": request_seed(self.parameters["seed"], request) % 2**31,  # some servers take 32 bits
            **self._form(request),
        }

    def _form(self, request: Request) -> dict[str, Any]:
        """The arguments that hold an answer to its form."""
        if request.regex is not None:
            return {"extra_body": REGEX_DIALECTS[self._dialect](request.regex)}
        if self._dialect == "llguidance" and self.parameters["structured_output"] == "json_schema":
            schema = json.dumps({**request.schema, "x-guidance": WHITE_SPACE})
            return {"extra_body": {"grammar": f"%llguidance {{}}\nstart: %json {schema}"}}
        answer_format = {"name": "answer", "schema": request.schema, "strict": True}
        formats = {
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": answer_format}},
            "json_object": {"response_format": {"type": "json_object"}},
            "none": {},
        }
        return formats[self.parameters["structured_output"]]

    def _status_failure(self, error: openai.APIStatusError, request: Request) -> Failure:
        """The failure of a request, if other requests may succeed.

        Raises:
            HomogenizationError: the server would refuse any other request too.
        """
        status, message = error.status_code, _told(str(error))
        if elsewhere := error.response.headers.get(_ELSEWHERE):
            raise HomogenizationError(
                f"writers: {self._server} answered {status} and sends the request on to {_told(elsewhere)}. It was not "
                "sent there: key and texts are for the first alone. If you trust the other, give it as base_url."
            ) from None
        if status >= 500 or status in RETRIED_STATUS:
            return Failure(f"{self._server} answered {status} ({message})")
        if status == 400 and _CONTEXT.search(str(error)):
            return Failure(
                f"too long for the model's context ({message}); lower max_new_tokens or corpus max_words, or give the "
                "model a longer context, where the server is started or by the key context"
            )
        advice = {
            400: f"Check that it serves the model '{self.identity['model']}', or try another structured_output "
            "(json_object or none).",
            401: f"Set the environment variable {self._key_variable} to a key that it accepts.",
            403: f"The key in the environment variable {self._key_variable} has no right to this model.",
            404: f"Check base_url (most end in /v1) and that it serves the model '{self.identity['model']}'.",
            422: "It takes no request of this kind: try another structured_output (json_object or none).",
        }.get(status, "Check base_url, and what the server's own log says.")
        if request.regex is not None and status in (400, 422):
            advice = (
                f"Check that it serves the model '{self.identity['model']}', and that it takes a regular expression in "
                f"the dialect {self._dialect} (regex_dialect)."
            )
        raise HomogenizationError(f"writers: {self._server} answered {status} ({message}). {advice}") from None


def _stop_redirect_elsewhere(response: Any) -> None:
    """Let the client follow a redirect to the host that it asked, and no other; called with each `httpx` response."""
    if not response.has_redirect_location:
        return
    asked, target = response.request.url, response.request.url.join(response.headers["location"])
    upgraded = asked.host == target.host and (asked.scheme, target.scheme) == ("http", "https")
    if (asked.scheme, asked.host, asked.port) != (target.scheme, target.host, target.port) and not upgraded:
        del response.headers["location"]
        response.headers[_ELSEWHERE] = f"{target.scheme}://{target.netloc.decode().rpartition('@')[2]}"


def _told(text: str) -> str:
    """`text` as one shortened line."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_REASON else text[:LONGEST_REASON] + " …"


def _within_slashes(regex: str) -> str:
    """`regex` as Lark writes it between slashes."""
    slashed = re.sub(r"\\.|/", lambda found: r"\/" if found[0] == "/" else found[0], regex, flags=re.DOTALL)
    return slashed.replace("\n", r"\n")


make_writer = OpenAIWriter  # what the module of a backend is asked for


def _key(variable: str) -> str | None:
    """The key in the environment variable; None where it is unset."""
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise HomogenizationError(
            f"writers: the key in the environment variable {variable} holds characters that no HTTP header takes. "
            "Set it again, without line breaks and quotes."
        )
    return key or None


def _base_url(base_url: str | None) -> str:
    """The address with its variables filled in; None stands for $OPENAI_BASE_URL.

    Raises:
        HomogenizationError: a variable is unset, or the result isn't an HTTP address.
    """
    if base_url is None:
        base_url = "$OPENAI_BASE_URL"
    address = os.path.expandvars(base_url)
    unset = _VARIABLE.search(address)
    if unset:
        raise HomogenizationError(
            f"writers: base_url {base_url} needs the environment variable {unset[1]}, which is not set in the job. "
            "Set it, or write the address out: http://host:8000/v1."
        )
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise HomogenizationError(
            f"writers: base_url {base_url} is no address. Write it like http://host:8000/v1 or https://host/v1."
        )
    return address
