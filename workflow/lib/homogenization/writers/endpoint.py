"""A writer behind an OpenAI-compatible endpoint: vLLM, transformers serve, llama.cpp and others."""

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any
from urllib.parse import urlsplit

import openai

from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import Completion, Failure, Request, generation, request_seed

_VARIABLE = re.compile(r"\$\{?(\w+)")
# they would refuse any other request too
_REFUSALS = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
_LONGEST_REASON = 300


class EndpointWriter:
    """Sends requests over a bounded number of connections; the client repeats those that fail temporarily.

    Args:
        entry: Entry of `writers`: model, revision (a label that the user chooses), base_url ($VARIABLES are expanded;
            None: OPENAI_BASE_URL), api_key_variable (the environment variable with the key; unset: no key),
            structured_output ("json_schema", "json_object" or "none"), temperature, top_p, max_new_tokens; connections
            (requests at a time), timeout_seconds (longest wait for an answer), max_retries (retries of a request).
        seed: Seed from which the seed of each request is derived.

    Raises:
        HomogenizationError: base_url needs an environment variable that is not set.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        self.identity = {"model": entry["model"], "revision": entry["revision"]}
        self.parameters = generation(entry, seed)
        self._connections = entry["connections"]
        self._key_variable = entry["api_key_variable"]
        self._key = os.environ.get(self._key_variable, "").strip() or "none"
        base_url = _base_url(entry["base_url"])
        self._server = urlsplit(base_url).netloc.rpartition("@")[2]
        for library in ("openai", "httpx", "httpx2"):  # they log every request
            logging.getLogger(library).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=self._key,
            timeout=entry["timeout_seconds"],
            max_retries=entry["max_retries"],
            # key and texts are for this host alone
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) as answers arrive.

        Raises:
            HomogenizationError: the server refuses all requests; results of requests under way are yielded first.
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
        """The answer to one request."""
        try:
            answer = self._client.chat.completions.create(**self._body(request))
            choice = answer.choices[0]
            usage = answer.usage.model_dump() if answer.usage else {}
            return Completion(choice.message.content or "", choice.finish_reason or "unknown", usage)
        except _REFUSALS as error:
            raise HomogenizationError(
                f"writers: {self._server} refuses all requests ({self._told(error)}). Check base_url (most end in "
                f"/v1), that it serves the model '{self.identity['model']}', and the key in the environment variable "
                f"{self._key_variable}."
            ) from None
        except openai.APIError as error:
            return Failure(self._told(f"{self._server}: {type(error).__name__}: {error}"))
        except (AttributeError, IndexError, TypeError, ValueError):  # the client checks no bodies
            return Failure(f"the answer of {self._server} is no chat completion")

    def _body(self, request: Request) -> dict[str, Any]:
        """The arguments of the client's `create`."""
        answer_format = {"name": "answer", "schema": request.schema, "strict": True}
        formats = {
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": answer_format}},
            "json_object": {"response_format": {"type": "json_object"}},
            "none": {},
        }
        return {
            "model": self.identity["model"],
            "messages": request.messages,
            "temperature": self.parameters["temperature"],
            "top_p": self.parameters["top_p"],
            "max_tokens": self.parameters["max_new_tokens"],
            "seed": request_seed(self.parameters["seed"], request) % 2**31,  # some servers take 32 bits
            **formats[self.parameters["structured_output"]],
        }

    def _told(self, text: object) -> str:
        """One shortened line without the key, which servers repeat when they refuse it."""
        line = " ".join(str(text).replace(self._key, "[key]" if self._key != "none" else "none").split())
        return line if len(line) <= _LONGEST_REASON else line[:_LONGEST_REASON] + " …"


make_writer = EndpointWriter  # what the module of a backend is asked for


def _base_url(base_url: str | None) -> str:
    """The address with its variables filled in; None stands for $OPENAI_BASE_URL."""
    address = os.path.expandvars(base_url or "$OPENAI_BASE_URL")
    if unset := _VARIABLE.search(address):
        raise HomogenizationError(
            f"writers: base_url needs the environment variable {unset[1]}, which is not set in the job. Set it, or "
            "write the address out: http://host:8000/v1."
        )
    return address
