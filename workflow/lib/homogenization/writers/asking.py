"""How a language model is asked: chats, its answers in JSON, and the folder of answers. No request is sent twice."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from homogenization.models.built import with_built_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import read_json, written_whole
from homogenization.run.log import progress

# The `Writer` of each module has an `identity` (JSON), all of the model and of its draws that decides an answer, and
# `complete(chats by key, keep)`, which hands each answer to `keep`, with its key, as soon as it arrives, and returns
# why the other chats got none.
_MODULES = {"transformers": "local", "openai": "endpoint"}
TOP_P = 0.95  # draws are from the likeliest tokens of this probability
_FENCED = re.compile(r"```(?:json)?\n(.*)\n```", re.DOTALL)
Chat = list[dict[str, str]]


class Answer(NamedTuple):
    """What it answers, and why it stopped: "stop", "length" (`max_new_tokens`), or a server's own reason."""

    text: str
    finish_reason: str

    def value(self, key: str) -> Any:
        """The value of the only key of a JSON object, which may stand in a fence of Markdown; None if malformed."""
        fenced = _FENCED.fullmatch(self.text.strip())
        with suppress(ValueError):
            content = json.loads(fenced[1] if fenced else self.text)
            return content[key] if isinstance(content, dict) and content.keys() == {key} else None


class Author(NamedTuple):
    """A language model that writes, the prompt by which it is asked, the study's seed, and the folder of answers."""

    writer: Any
    prompt: Mapping[str, Any]
    seed: int
    folder: Path

    def ask(self, chats: Mapping[str, Chat], candidate: int = 0) -> dict[str, Answer]:
        """The answers to chats by name, from the folder or from the writer; equal chats are sent once.

        Raises:
            HomogenizationError: chats got no answer; those to all others are in the folder.
        """
        keys = {name: self.key(messages, candidate) for name, messages in chats.items()}
        missing, answers = {keys[name]: messages for name, messages in chats.items()}, {}
        for key in list(missing):
            with suppress(FileNotFoundError, ValueError):  # one that was cut off is asked for again
                answers[key] = Answer(**read_json(self._path(key))["answer"])
                del missing[key]
        with progress(len(missing), "answers") as done:

            def keep(key: str, answer: Answer) -> None:
                answers[key] = answer
                content = {"writer": self.writer.identity, "messages": missing[key], "answer": answer._asdict()}
                with written_whole(self._path(key), shared=True) as partial:
                    partial.write_text(json.dumps(content, indent=2), encoding="utf-8")
                done(1)

            failed = self.writer.complete(missing, keep) if missing else {}
        if failed:
            reasons = [f"\n  - {name}: {failed[key]}" for name, key in keys.items() if key in failed]
            raise HomogenizationError(
                f"writers: {len(reasons)} of {len(chats)} reviews got no answer:{''.join(reasons[:10])}\nAll other "
                "answers are kept. Mend what the reasons name and run the same command again: it asks for the missing "
                "ones alone."
            )
        return {name: answers[key] for name, key in keys.items()}

    def key(self, messages: Chat, candidate: int) -> str:
        """The name of an answer's file, 32 hexadecimal digits: a hash of all that decides the answer."""
        content = json.dumps([self.writer.identity, messages, self.seed, candidate], sort_keys=True)
        return blake2b(content.encode(), digest_size=16).hexdigest()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def seed_of(key: str) -> int:
    """The seed of the draws of an answer."""
    return int(key[:7], 16)


def make_author(job: Any) -> Author:
    """The author that a job asks; answers are kept in the folder `requests` of its results.

    `job` is what the script gets: parameters writer, prompt and seed; resources connections and gpu; the input shard,
    and the files of weights that the workflow has built.
    """
    entry = with_built_weights(job.params.writer, job.input.get("weights", []))
    backend = import_module(f"homogenization.writers.{_MODULES[entry['backend']]}")
    writer = backend.Writer({**entry, "connections": job.resources.connections, "gpus": job.resources.gpu})
    return Author(writer, job.params.prompt, job.params.seed, Path(job.input.shard).parents[1] / "requests")
