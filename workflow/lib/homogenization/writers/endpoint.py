"""A writer behind an OpenAI-compatible endpoint: vLLM, transformers serve, llama.cpp and others."""

import logging
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import openai

from homogenization.run.errors import HomogenizationError, first_line
from homogenization.writers.asking import Answer, Request

# they would refuse any other request too
_REFUSALS = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)


class EndpointWriter:
    """Sends requests over a bounded number of connections; the client repeats those that fail temporarily.

    Args:
        entry: Entry of `writers`: model, revision (a label that the user chooses), base_url ($VARIABLES are expanded;
            None: OPENAI_BASE_URL), api_key_variable (the environment variable with the key; unset: no key),
            temperature, top_p, max_new_tokens, connections, timeout_seconds, max_retries.

    Raises:
        HomogenizationError: base_url needs an environment variable that is not set.
    """

    def __init__(self, entry: Mapping[str, Any]):
        names = ("model", "revision", "temperature", "top_p", "max_new_tokens")
        self.identity = {name: entry[name] for name in names}
        self._connections, self._key_variable = entry["connections"], entry["api_key_variable"]
        self._key = os.environ.get(self._key_variable, "").strip() or "none"
        address = os.path.expandvars(entry["base_url"] or "$OPENAI_BASE_URL")
        if unset := re.search(r"\$\{?(\w+)", address):
            raise HomogenizationError(
                f"writers: base_url needs the environment variable {unset[1]}, which is not set in the job. Set it, or "
                "write the address out: http://host:8000/v1."
            )
        self._server = urlsplit(address).netloc.rpartition("@")[2]
        for library in ("openai", "httpx", "httpx2"):  # they log every request
            logging.getLogger(library).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            base_url=address,
            api_key=self._key,
            timeout=entry["timeout_seconds"],
            max_retries=entry["max_retries"],
            http_client=openai.DefaultHttpxClient(follow_redirects=False),  # key and texts are for this host alone
        )

    def complete(self, requests: Mapping[str, Request], keep: Callable[[str, Answer], None]) -> dict[str, str]:
        """As `Writer.complete`; answers under way when the server refuses all requests are kept."""
        with ThreadPoolExecutor(self._connections) as pool:
            reasons = pool.map(lambda one: self._answer(*one, keep), requests.items())
            return {key: reason for key, reason in zip(requests, reasons, strict=True) if reason}

    def _answer(self, key: str, request: Request, keep: Callable[[str, Answer], None]) -> str | None:
        """Keep the answer to one request, or say why there is none."""
        asked = {"model": self.identity["model"], "messages": request.messages, "seed": request.seed}
        asked |= {"max_tokens": self.identity["max_new_tokens"]}
        asked |= {name: self.identity[name] for name in ("temperature", "top_p")}
        try:
            choice = self._client.chat.completions.create(**asked).choices[0]
            answer = Answer(choice.message.content or "", choice.finish_reason or "unknown")
        except _REFUSALS as error:
            raise HomogenizationError(
                f"writers: {self._server} refuses all requests ({self._reason(error)}). Check base_url (most end in "
                f"/v1), that it serves the model '{asked['model']}', and the key in the environment variable "
                f"{self._key_variable}."
            ) from None
        except openai.APIError as error:
            return f"{self._server}: {type(error).__name__}: {self._reason(error)}"
        except (AttributeError, IndexError, TypeError, ValueError):  # the client checks no bodies
            return f"the answer of {self._server} is no chat completion"
        keep(key, answer)
        return None

    def _reason(self, error: Exception) -> str:
        """An error's first line, without the key, which servers repeat when they refuse it."""
        return first_line(error).replace(self._key, "[key]" if self._key != "none" else "none")[:300]


make_writer = EndpointWriter  # what the module of a backend is asked for
