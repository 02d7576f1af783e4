"""What a language model that writes is asked, and what it answers."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol


@dataclass(frozen=True)
class Request:
    """One text that a language model is to write.

    Attributes:
        name: The review_id, for messages; the model does not see it.
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
    """The reason why a request has no answer after all retries."""

    reason: str


def request_seed(seed: int, request: Request) -> int:
    """The seed of a request, below 2^63; with one seed for all, the candidates of reviews would be alike."""
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
