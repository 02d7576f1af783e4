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
from homogenization.writers.asking import TOP_P, Answer, Chat, seed_of

MAX_RETRIES = 6  # of what fails in passing: a time-out, a cut connection, status 429, a server's error


class Writer:
    """Sends requests over a bounded number of connections; the client repeats those that fail in passing.

    `entry` is one of `writers`; no `base_url` stands for $OPENAI_BASE_URL. The key is in the environment variable
    OPENAI_API_KEY, if there is one.

    Raises:
        HomogenizationError: base_url needs an environment variable that is not set.
    """

    def __init__(self, entry: Mapping[str, Any]):
        self.identity = {name: entry[name] for name in ("model", "temperature", "max_new_tokens")}
        self._connections = entry["connections"]
        self._key = os.environ.get("OPENAI_API_KEY", "").strip() or "none"
        address = os.path.expandvars(entry["base_url"] or "$OPENAI_BASE_URL")
        if unset := re.search(r"\$\{?(\w+)", address):
            raise HomogenizationError(
                f"writers: base_url needs the environment variable {unset[1]}, which is not set in the job. Set it, or "
                "write the address out: http://host:8000/v1."
            )
        self._server = urlsplit(address).netloc.rpartition("@")[2]
        for library in ("openai", "httpx", "httpx2"):  # they log every request
            logging.getLogger(library).setLevel(logging.WARNING)
        self._client = openai.OpenAI(base_url=address, api_key=self._key, max_retries=MAX_RETRIES)

    def complete(self, chats: Mapping[str, Chat], keep: Callable[[str, Answer], None]) -> dict[str, str]:
        """Hand each answer to `keep`; return why the other chats got none, by key."""
        with ThreadPoolExecutor(self._connections) as pool:
            reasons = pool.map(lambda one: self._answer(*one, keep), chats.items())
            return {key: reason for key, reason in zip(chats, reasons, strict=True) if reason}

    def _answer(self, key: str, chat: Chat, keep: Callable[[str, Answer], None]) -> str | None:
        asked = {"seed": seed_of(key), "temperature": self.identity["temperature"], "top_p": TOP_P}
        asked |= {"model": self.identity["model"], "max_tokens": self.identity["max_new_tokens"]}
        try:
            choice = self._client.chat.completions.create(messages=chat, **asked).choices[0]
            answer = Answer(choice.message.content or "", choice.finish_reason or "unknown")
        except openai.APIError as error:
            # servers repeat the key when they refuse it
            said = first_line(error).replace(self._key, "[OPENAI_API_KEY]")[:300]
            return f"{self._server}: {type(error).__name__}: {said}"
        except (AttributeError, IndexError, TypeError, ValueError):  # the client checks no bodies
            return f"the answer of {self._server} is no chat completion; check base_url (most end in /v1)"
        keep(key, answer)
        return None
