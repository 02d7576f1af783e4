"""What is asked of a language model that writes, what it answers, and the two kinds of writers there are."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

from homogenization.run.errors import HomogenizationError


@dataclass(frozen=True)
class Request:
    """One text that a language model is to write.

    Attributes:
        name: The review_id, for messages; it is no part of what is asked.
        messages: The chat, {"role", "content"} each, as `homogenization.writers.prompts.render` makes it.
        schema: JSON Schema that the answer has to satisfy.
        candidate: Which of several answers to the same messages this is, from 0; it is part of the seed.
    """

    name: str
    messages: list[dict[str, str]]
    schema: dict[str, Any]
    candidate: int


@dataclass(frozen=True)
class Completion:
    """What a language model wrote.

    Attributes:
        text: The answer as it came; empty where there was none.
        finish_reason: "stop" where the model ended it, "length" where max_new_tokens did, or what the server says.
        usage: Counts of tokens, as far as they are known.
    """

    text: str
    finish_reason: str
    usage: dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """No answer, after all retries, and why."""

    reason: str


def request_seed(seed: int, request: Request) -> int:
    """A seed, below 2^63, that each request has for itself: equal seeds would make the candidates of reviews alike."""
    content = json.dumps([seed, request.candidate, request.messages, request.schema], sort_keys=True)
    return int.from_bytes(blake2b(content.encode(), digest_size=8).digest()) >> 1


class Writer(Protocol):
    """A language model that answers requests.

    Attributes:
        identity: What writes (JSON): with `parameters` it decides the answer, wherever the model runs.
        parameters: How it is asked to write (JSON): temperature, top_p, max_new_tokens, seed, structured_output.
    """

    identity: dict[str, Any]
    parameters: dict[str, Any]

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) for each request, in the order in which results come.

        Raises:
            HomogenizationError: no request can succeed: the server refuses the key, the model is unknown.
        """
        ...


def _openai(entry: Mapping[str, Any], seed: int, connections: int, timeout_seconds: float, max_retries: int) -> Writer:
    from homogenization.writers.endpoint import OpenAIWriter

    return OpenAIWriter(entry, seed, connections, timeout_seconds, max_retries)


def _transformers(
    entry: Mapping[str, Any], seed: int, connections: int, timeout_seconds: float, max_retries: int
) -> Writer:
    from homogenization.writers.local import LocalWriter

    return LocalWriter(entry, seed)


# A backend of your own is one function here
BACKENDS: dict[str, Callable[..., Writer]] = {"openai": _openai, "transformers": _transformers}


def make_writer(
    entry: Mapping[str, Any], seed: int, connections: int, timeout_seconds: float, max_retries: int
) -> Writer:
    """Make the writer that `entry` of `writers` describes.

    Args:
        entry: backend, temperature, top_p, max_new_tokens, and what the backend needs beside them.
        seed: Of all random numbers; see `request_seed`.
        connections: Requests at a time; backend "openai" alone.
        timeout_seconds: Longest wait for an answer; backend "openai" alone.
        max_retries: How often a request that failed in passing is sent again; backend "openai" alone.

    Raises:
        HomogenizationError: the backend is unknown, or the writer lacks what it needs.
    """
    if entry["backend"] not in BACKENDS:
        raise HomogenizationError(f"writers: backend '{entry['backend']}' is unknown. Allowed: {', '.join(BACKENDS)}.")
    return BACKENDS[entry["backend"]](entry, seed, connections, timeout_seconds, max_retries)
