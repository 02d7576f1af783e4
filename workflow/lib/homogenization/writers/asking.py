"""How a language model is asked: chats, its answers in JSON, and the folder of answers. No request is sent twice."""

import json
import logging
import re
from collections.abc import Callable, Mapping
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from homogenization.models.built import with_built_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.log import progress

_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)
Chat = list[dict[str, str]]


class Request(NamedTuple):
    """What a language model is asked: the messages, {"role", "content"} each, and the seed of its draws, from 0."""

    messages: Chat
    seed: int


class Answer(NamedTuple):
    """What it answers, and why it stopped: "stop", "length" (`max_new_tokens`), or a server's own reason."""

    text: str
    finish_reason: str

    def value(self, key: str) -> Any:
        """The value of the only key of a JSON object, which may stand in a fence of Markdown; None if malformed."""
        fenced = _FENCED.fullmatch(self.text.strip())
        try:
            content = json.loads(fenced[1] if fenced else self.text)
        except ValueError:
            return None
        return content[key] if isinstance(content, dict) and content.keys() == {key} else None


class Writer(Protocol):
    """A language model that answers requests; `identity` (JSON) is all that decides an answer besides its request."""

    identity: dict[str, Any]

    def complete(self, requests: Mapping[str, Request], keep: Callable[[str, Answer], None]) -> dict[str, str]:
        """Hand each answer to `keep`, with the key of its request, as soon as it arrives.

        Returns:
            Why requests got no answer, by key.

        Raises:
            HomogenizationError: no request can succeed.
        """
        ...


class Author(NamedTuple):
    """A language model that writes, the prompt by which it is asked, the study's seed, and the folder of answers.

    The name of an answer's file is a hash of the whole request: the writer's identity, the messages, the seed, and the
    number of the candidate among those to the same messages.
    """

    writer: Writer
    prompt: Mapping[str, Any]
    seed: int
    folder: Path

    def ask(self, chats: Mapping[str, Chat], candidate: int = 0) -> dict[str, Answer]:
        """The answers to chats by name, from the folder or from the writer; equal chats are sent once.

        Raises:
            HomogenizationError: chats got no answer; those to all others are in the folder.
        """
        keys = {name: self.key(messages, candidate) for name, messages in chats.items()}
        contents = {keys[name]: self._content(messages, candidate) for name, messages in chats.items()}
        answers = {key: self._kept(key, content) for key, content in contents.items()}
        missing = {key: content for key, content in contents.items() if answers[key] is None}
        with progress(len(missing), "answers") as done:

            def keep(key: str, answer: Answer) -> None:
                answers[key] = answer
                content = json.dumps({"request": missing[key], "answer": answer._asdict()}, indent=2, sort_keys=True)
                with written_whole(self._path(key), shared=True) as partial:
                    partial.write_text(content + "\n", encoding="utf-8")
                done(1)

            requests = {key: Request(content["messages"], int(key[:7], 16)) for key, content in missing.items()}
            failed = self.writer.complete(requests, keep) if requests else {}
        if failed:
            lines = "\n".join(f"  - {name}: {failed[key]}" for name, key in keys.items() if key in failed)
            raise HomogenizationError(
                f"writers: {len(failed)} of {len(chats)} reviews got no answer:\n{lines}\nAll other answers are kept. "
                "Mend what the reasons name and run the same command again: it asks for the missing ones alone."
            )
        return {name: answers[key] for name, key in keys.items()}

    def key(self, messages: Chat, candidate: int) -> str:
        """The name of an answer's file, and what decides the seed of its request: 32 hexadecimal digits."""
        content = json.dumps(self._content(messages, candidate), sort_keys=True)
        return blake2b(content.encode(), digest_size=16).hexdigest()

    def _content(self, messages: Chat, candidate: int) -> dict[str, Any]:
        return {"writer": self.writer.identity, "messages": messages, "seed": self.seed, "candidate": candidate}

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _kept(self, key: str, content: Mapping[str, Any]) -> Answer | None:
        """The answer in the folder; None if there is none, or if its file is damaged, which is told."""
        try:
            kept = json.loads(self._path(key).read_bytes())
            if kept["request"] == content:
                return Answer(**kept["answer"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            pass
        logging.warning("%s is damaged; its request is sent again", self._path(key))
        return None


def make_author(job: Any, results: Path) -> Author:
    """The author that a job asks; answers are kept in the folder `requests` of its results.

    Args:
        job: What the script gets: parameters module, writer, prompt and seed; the resources that are means; and the
            files of weights that the workflow has built.
        results: The folder of results.
    """
    means = {name: job.resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(job.params.writer, job.input.get("weights", []))
    backend = import_module(f"homogenization.{job.params.module}")  # so that a job reaches its own backend alone
    writer = backend.make_writer({**entry, **means, "gpus": job.resources.gpu})
    return Author(writer, job.params.prompt, job.params.seed, results / "requests")
