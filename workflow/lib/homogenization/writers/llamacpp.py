"""A writer on llama.cpp: its server runs beside the job, on the CPU, and reads a GGUF file as it is."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, Any

import openai

from homogenization.models.built import GGUF_FILES
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage, gone, read_bytes, sha256_of
from homogenization.writers import llamacpp_server
from homogenization.writers.endpoint import OpenAIWriter
from homogenization.writers.requests import WHITE_SPACE, Completion, Failure, Request

logger = logging.getLogger(__name__)

_LONGEST_ANSWER_SECONDS = 3600
_LONGEST_STOP_SECONDS = 10
# threads wait asleep: spinning, they keep each other from the cores wherever other processes compute too
_ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}
_PLACE = "[here stands the last message]"


class _Client(OpenAIWriter):
    """Asks llama.cpp's server, as it is built here, one request after the other or several at a time.

    One after the other, what stands before the last message of a prompt is read once for all. The last bits of what is
    computed for a token depend on the tokens read with it; so each request finds the same in memory, whatever came
    before.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        super().__init__(entry, seed)
        self._remembers = entry["connections"] == 1
        self._start: tuple[list[dict[str, str]], str] | None = None  # messages, and what the template makes of them

    def _answer(self, request: Request) -> Completion | Failure:
        if self._remembers:
            try:
                self._remember(request.messages)
            except openai.APIError as error:
                self._start = None  # the request itself meets the same error, or is read from its beginning
                logger.debug("the beginning of a prompt could not be read alone (%s)", error)
        return super()._answer(request)

    def _remember(self, messages: list[dict[str, str]]) -> None:
        """Let the server's memory end where the last of `messages` begins."""
        *first, last = messages
        if self._start is None or self._start[0] != first:
            self._start = None
            content = {"messages": [*first, {**last, "content": _PLACE}]}
            start = self._client.post("/apply-template", cast_to=object, body=content)["prompt"].partition(_PLACE)[0]
            self._read(start, cache_prompt=False)
            self._start = first, start
        # of what is in memory already, the last token is read again
        self._read(self._start[1], cache_prompt=True)

    def _read(self, text: str, cache_prompt: bool) -> None:
        content = {"prompt": text, "n_predict": 0, "cache_prompt": cache_prompt}
        self._client.post("/completion", cast_to=object, body=content)

    def _form(self, request: Request) -> dict[str, Any]:
        """As in the job, JSON has little white space: a small model can repeat it for ever."""
        form = super()._form(request)
        if request.schema is not None and self.parameters["structured_output"] != "none":
            schema = {**request.schema, "x-guidance": WHITE_SPACE}
            form = {"extra_body": {"grammar": f"%llguidance {{}}\nstart: %json {json.dumps(schema)}"}}
        return {"extra_body": form.get("extra_body", {}) | {"cache_prompt": self._start is not None}}


class LlamaCppWriter:
    """Answers requests with llama.cpp's server, which the first request starts; it ends with the writer or the job.

    Args:
        entry: Entry of `writers`: weights (`built`: folder with the `GGUF_FILES`), context (tokens of prompt and answer
            together), parallel (requests at a time), structured_output ("json_schema" or "none"; regular expressions
            are enforced in any case), temperature (0: always the likeliest token), top_p, max_new_tokens; threads.
        seed: Seed from which the seed of each request is derived.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        self.parameters = {
            **{name: entry[name] for name in ("temperature", "top_p", "max_new_tokens", "structured_output")},
            "seed": seed,
        }
        self._entry, self._seed = entry, seed
        self._file, self._digest_file = (Path(entry["weights"]["built"], name) for name in GGUF_FILES.values())

    @cached_property
    def identity(self) -> dict[str, Any]:
        """SHA-256 of the file, which holds the chat template too, and the version of llama.cpp. Nothing is loaded.

        Raises:
            HomogenizationError: xllamacpp is not installed, or the file's digest is gone.
        """
        return {"gguf": self._digest, "xllamacpp": _version()}

    @cached_property
    def _digest(self) -> str:
        return read_bytes(self._digest_file).decode("utf-8", errors="replace").partition(" ")[0]

    @cached_property
    def _server(self) -> "_Server":
        try:
            found = sha256_of(self._file)
        except FileNotFoundError as error:
            raise gone(self._file) from error
        if found != self._digest:
            raise damage(self._file, f"its SHA-256 is {found}, and should be {self._digest}")
        options = {"file": str(self._file), "threads": self._entry["threads"]}
        return _Server(options | {"context": self._entry["context"], "slots": self._entry["parallel"]})

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) as answers arrive.

        Raises:
            HomogenizationError: the file is damaged, or the server does not start, or ends before its answers are
                written.
        """
        if not requests:
            return
        server = self._server
        entry = {
            **self.parameters,
            "model": "model",
            "revision": None,
            "base_url": server.address,
            "api_key_variable": "",
            "regex_dialect": "llguidance",
            "connections": self._entry["parallel"],
            "timeout_seconds": _LONGEST_ANSWER_SECONDS,
            "max_retries": 0,
        }
        for number, result in _Client(entry, self._seed).complete(requests):
            if isinstance(result, Failure) and (ended := server.ended()):
                raise ended
            yield number, result


class _Server:
    """llama.cpp's server as a child process.

    Attributes:
        address: Its address, without a path.
    """

    def __init__(self, options: Mapping[str, Any]):
        _version()
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        command = [sys.executable, "-P", llamacpp_server.__file__, json.dumps(options)]
        # closed pipes tell both sides that the other has ended, even where it was killed
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env={**os.environ, **_ENVIRONMENT},
        )
        self._stop = weakref.finalize(self, _stop, self._process)
        self.address = self._process.stdout.readline().decode().strip()
        if not self.address:
            self._process.wait()
            raise HomogenizationError(f"writers: llama.cpp could not load {options['file']}: {self._told()}")

    def ended(self) -> HomogenizationError | None:
        """The error for a server that has ended by itself; None while it runs."""
        try:
            status = self._process.wait(1)  # its connections break a moment before it has ended
        except subprocess.TimeoutExpired:
            return None
        killed = " by the system, perhaps for memory: lower context or parallel, or give the job more" * (status == -9)
        return HomogenizationError(
            f"writers: llama.cpp's server ended with status {status}{killed}: {self._told()} All answers received are "
            "kept: run the same command again."
        )

    def _told(self) -> str:
        """The last lines of its log that name an error, or the last ones."""
        self._log.seek(0)
        lines = [line for line in self._log.read().decode("utf-8", errors="replace").splitlines() if line.strip()]
        told = [line for line in lines if " E " in line or "rror" in line] or lines
        return " ".join(" ".join(told[-4:]).split())[-600:] or "it says nothing."


def _stop(process: subprocess.Popen) -> None:
    process.stdin.close()
    process.stdout.close()
    try:
        process.wait(_LONGEST_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _version() -> str:
    try:
        return version("xllamacpp")
    except PackageNotFoundError as error:
        raise HomogenizationError(
            "writers: the backend llamacpp needs the package xllamacpp, which is not installed: pip install -r "
            "envs/requirements.txt, or take another backend."
        ) from error


make_writer = LlamaCppWriter  # what the module of a backend is asked for
