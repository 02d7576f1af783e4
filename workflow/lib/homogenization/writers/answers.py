"""Language models that write: who is asked, in which rounds, and the store of answers. No request is sent twice."""

import json
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from homogenization.models.built import with_built_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.log import progress
from homogenization.writers.requests import Completion, Failure, Request, Writer

logger = logging.getLogger(__name__)


class RequestStore:
    """A folder with one JSON file for each answered request; jobs on several machines may use it at once.

    The name of a file is a hash of its request: the writer's identity, the messages, the form of the answer, and the
    parameters with seed and number of the candidate. The file holds the request, the completion and a checksum of both.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def key(self, writer: Writer, request: Request) -> str:
        """Hash of all that determines the answer: 32 hexadecimal digits."""
        return _hash(_described(writer, request))

    def get(self, key: str) -> Completion | None:
        """The stored completion; None if there is none, or if the file is damaged, which is logged as a warning."""
        path = self._path(key)
        try:
            stored = json.loads(path.read_bytes())
            request, completion = stored["request"], stored["completion"]
            intact = _hash(request) == key and _hash([request, completion]) == stored["checksum"]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            intact = False
        if not intact:
            logger.warning("%s is damaged; its request is sent again", path)
            return None
        return Completion(**completion)

    def put(self, key: str, writer: Writer, request: Request, completion: Completion) -> None:
        """Store a completion, whole.

        Raises:
            HomogenizationError: the disk or the quota is full.
        """
        content = _described(writer, request)
        answer = {"text": completion.text, "finish_reason": completion.finish_reason, "usage": completion.usage}
        stored = {"request": content, "completion": answer, "checksum": _hash([content, answer])}
        with written_whole(self._path(key), shared=True) as partial:
            partial.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def _described(writer: Writer, request: Request) -> dict[str, Any]:
    """All that determines the answer to a request, as JSON."""
    return {
        "identity": writer.identity,
        "messages": request.messages,
        "schema": request.schema,
        "parameters": {**writer.parameters, "candidate": request.candidate},
    }


def _hash(content: Any) -> str:
    """Hash of the canonical JSON of `content`: 32 hexadecimal digits."""
    return blake2b(json.dumps(content, sort_keys=True, separators=(",", ":")).encode(), digest_size=16).hexdigest()


def answered(store: RequestStore, writer: Writer, requests: Sequence[Request]) -> list[Completion | Failure]:
    """Answer each request from `store` or by `writer`; each new completion is stored as soon as it arrives.

    Returns:
        One result for each request, in the order of `requests`; equal requests are sent once.

    Raises:
        HomogenizationError: no request can succeed, or the disk is full.
    """
    keys = [store.key(writer, request) for request in requests]
    results: dict[str, Completion | Failure | None] = {key: store.get(key) for key in dict.fromkeys(keys)}
    missing = {key: request for key, request in zip(keys, requests, strict=True) if results[key] is None}
    if missing:
        unanswered = list(missing.items())
        with progress(len(unanswered), "answers") as done:
            for number, result in writer.complete([request for _, request in unanswered]):
                key, request = unanswered[number]
                if isinstance(result, Completion):
                    store.put(key, writer, request, result)
                results[key] = result
                done(1)
    return [results[key] for key in keys]


@dataclass(frozen=True)
class Author:
    """A language model that writes, the store of its answers, and the prompt by which it is asked.

    Attributes:
        writer: The language model.
        store: Store of its answers.
        prompt: Prompt from `homogenization.writers.prompts.load_prompt`.
    """

    writer: Writer
    store: RequestStore
    prompt: Mapping[str, Any]

    def key(self, request: Request) -> str:
        """The name of the answer in the store."""
        return self.store.key(self.writer, request)


class Judgement(Protocol):
    """What is made of an answer; `reason` says why it is refused, and is None if it passes."""

    reason: str | None


class Proposal(NamedTuple):
    """An answer, with its request and what that is about."""

    task: Hashable
    request: Request
    completion: Completion


def ask_in_rounds(
    author: Author,
    tasks: Iterable[Hashable],
    request: Callable[[Any, int], Request],
    judge: Callable[[list[Proposal]], Sequence[Judgement]],
    *,
    rounds: int,
    n_reviews: int,
) -> dict[Any, list[tuple[Request, Any]]]:
    """Ask about each task, round by round, until an answer passes.

    Args:
        author: Who is asked.
        tasks: What is asked about.
        request: (task, number of the round from 0) -> what is asked about it in this round.
        judge: Called once in each round, with all answers of the round; gives the judgement of each.
        rounds: Largest number of rounds.
        n_reviews: Number of reviews in the shard, for the message of the error.

    Returns:
        The requests about each task with their judgements, in the order in which they were asked.

    Raises:
        HomogenizationError: reviews got no answer (the answers to all other requests are stored first), or no request
            can succeed.
    """
    judged: dict[Hashable, list[tuple[Request, Judgement]]] = {task: [] for task in tasks}
    failures: dict[str, Failure] = {}
    waiting = list(judged)
    for number in range(rounds):
        asked = [(task, request(task, number)) for task in waiting]
        answers = answered(author.store, author.writer, [one for _, one in asked])
        answers = list(zip(asked, answers, strict=True))
        failures |= {one.name: answer for (_, one), answer in answers if isinstance(answer, Failure)}
        if failures and number == rounds - 1:
            break  # nothing more is asked, and no judgement avoids the error
        proposals = [Proposal(*of, answer) for of, answer in answers if isinstance(answer, Completion)]
        for proposal, judgement in zip(proposals, judge(proposals), strict=True):
            judged[proposal.task].append((proposal.request, judgement))
        unanswered = {task for (task, _), answer in answers if isinstance(answer, Failure)}
        waiting = [task for task in waiting if task not in unanswered and not passed(judged[task])]
        if not waiting:
            break
    if failures:  # all answers received are in the store by now
        by_reason: dict[str, list[str]] = {}
        for name, failure in failures.items():
            by_reason.setdefault(failure.reason, []).append(name)
        lines = "\n".join(f"  - {', '.join(names)}: {reason}" for reason, names in by_reason.items())
        raise HomogenizationError(
            f"writers: {len(failures)} of {n_reviews} reviews got no answer:\n{lines}\nAll other answers are kept. "
            "Mend what the reasons name and run the same command again: it asks for the missing ones alone."
        )
    return judged


def passed(judged: Iterable[tuple[Request, Judgement]]) -> list[Any]:
    """The judgements of answers that pass."""
    return [judgement for _, judgement in judged if judgement.reason is None]


def make_author(job: Any, results: Path) -> Author:
    """The author that a job asks; answers are stored in the folder `requests` of its results.

    Args:
        job: What the script of the job gets: parameters module, writer, prompt and seed; the resources that are means;
            and the files of weights that the workflow has built.
        results: The folder of results.

    Raises:
        HomogenizationError: the backend can't be set up from the entry; for example, it has no address.
    """
    means = {name: job.resources[name] for name in ("connections", "timeout_seconds", "max_retries")}
    entry = with_built_weights(job.params.writer, job.input.get("weights", []))
    backend = import_module(f"homogenization.{job.params.module}")  # so that a job reaches its own backend alone
    writer = backend.make_writer({**entry, **means, "gpus": job.resources.gpu}, job.params.seed)
    return Author(writer, RequestStore(results / "requests"), job.params.prompt)
