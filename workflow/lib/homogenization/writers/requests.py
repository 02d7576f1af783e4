"""Requests to a language model that writes, its answers, and the protocol of such a writer."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)


@dataclass(frozen=True)
class Request:
    """One text that a language model is to write.

    Attributes:
        name: The review_id, for errors; the model does not see it.
        messages: The chat, a list of {"role", "content"}, from `homogenization.writers.prompts.render`.
        schema: JSON Schema that the answer has to satisfy.
        candidate: Number of the answer among several to the same messages, from 0; it is part of the seed.
    """

    name: str
    messages: list[dict[str, str]]
    schema: dict[str, Any]
    candidate: int


@dataclass(frozen=True)
class Completion:
    """The answer of a language model.

    Attributes:
        text: The answer as received; empty if there was none.
        finish_reason: "stop" if the model ended the answer, "length" if max_new_tokens did, or the server's own reason.
        usage: Counts of tokens, as far as they are known.
    """

    text: str
    finish_reason: str
    usage: dict[str, Any]


def _plain(schema: dict[str, Any]) -> None:
    """Leave titles and defaults out, and ask for every key: some servers demand this."""
    for part in (schema, *schema["properties"].values()):
        part.pop("title")
        part.pop("default", None)
    schema["required"] = list(schema["properties"])


class Answer(BaseModel):
    """An answer in JSON: `model_json_schema` is what a request asks for, and no other key is taken."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra=_plain)

    @classmethod
    def read(cls, completion: Completion) -> Self | None:
        """The answer in a completion, which may stand in a fence of Markdown; None where it is malformed."""
        fenced = _FENCED.fullmatch(completion.text.strip())
        try:
            return cls.model_validate_json(fenced[1] if fenced else completion.text)
        except ValidationError:
            return None


@dataclass(frozen=True)
class Failure:
    """The reason why a request has no answer after all retries."""

    reason: str


def request_seed(seed: int, request: Request) -> int:
    """The seed of a request, below 2^63: a hash of `seed` and the request, so that candidates differ."""
    content = json.dumps([seed, request.candidate, request.messages, request.schema], sort_keys=True)
    return int.from_bytes(blake2b(content.encode(), digest_size=8).digest()) >> 1


def generation(entry: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The `parameters` of a writer, from its entry in the configuration and the study's seed."""
    names = ("temperature", "top_p", "max_new_tokens", "structured_output")
    return {**{name: entry[name] for name in names if name in entry}, "seed": seed}


class Writer(Protocol):
    """A language model that answers requests.

    Attributes:
        identity: Identity of the model (JSON). With `parameters`, it determines the answer, wherever the model runs.
        parameters: Settings of generation (JSON): temperature, top_p, max_new_tokens, seed, and structured_output
            of an endpoint.
    """

    identity: dict[str, Any]
    parameters: dict[str, Any]

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) for each request, in the order in which results arrive.

        Raises:
            HomogenizationError: no request can succeed, since, for example, the server refuses the key or the model
                is unknown.
        """
        ...
