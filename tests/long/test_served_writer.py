"""Reviews rewritten by a real server (`transformers serve`) and by the same model in the job, up to Snakemake runs."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import polars as pl
import pytest

from homogenization.writers import endpoint, local
from tiny_chat import REVIEWS, build_chat_model, hold_to_nothing

PROMPTS = {"front": "config/prompts/front.yaml", "paraphrase": "config/prompts/paraphrase.yaml"}


class Server(NamedTuple):
    """A running server, its model, and what it logged."""

    address: str
    model: Path
    log: Path

    @property
    def n_requests(self) -> int:
        """Requests that it has answered; a line is written before its answer is sent."""
        return self.log.read_text().count("POST /v1/chat/completions")


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    """`transformers serve` on a free port of this machine."""
    chat, log = build_chat_model(tmp_path_factory.mktemp("chat")), tmp_path_factory.mktemp("server") / "log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = ["--host", "127.0.0.1", "--port", str(probe.getsockname()[1])]
    command = [Path(sys.executable).with_name("transformers"), "serve", chat, *address, "--device", "cpu"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process:
        try:
            wait_until_healthy(f"http://127.0.0.1:{address[-1]}/health", process, log)
            yield Server(f"http://127.0.0.1:{address[-1]}/v1", chat, log)
        finally:
            process.terminate()


def wait_until_healthy(address: str, process: subprocess.Popen, log: Path) -> None:
    for _ in range(3000):
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"the server did not start: {log.read_text()}")


def test_greedy_answers_of_the_server_are_those_of_the_model_in_the_job(server):
    texts = ("Dull.", "A film that I will not forget!", "Never again, and never without my umbrella. " * 5)
    system = {"role": "system", "content": "Be brief."}
    chats = {f"{number:07x}": [system, {"role": "user", "content": text}] for number, text in enumerate(texts)}
    drawn, here, there = {"temperature": 0.0, "max_new_tokens": 32}, {}, {}
    weights = {"weights": {"path": str(server.model)}, "device": "cpu", "gpus": 0, "batch_size": 3}
    served = {"model": str(server.model), "base_url": server.address, "connections": 4}
    assert local.Writer(weights | drawn).complete(chats, here.__setitem__) == {}
    assert endpoint.Writer(served | drawn).complete(chats, there.__setitem__) == {}
    assert here == there
    assert here.keys() == chats.keys()


def test_a_workflow_run_asks_the_server_once(server, project):
    key = "not-for-any-file"
    environment = {"CHAT_SERVER": server.address, "OPENAI_API_KEY": key}
    variants = {name: {"rewriter": "llm", "writer": "tiny", "prompt": prompt} for name, prompt in PROMPTS.items()}
    variants["front"]["position"] = "front"
    writer = {"backend": "openai", "model": str(server.model), "base_url": "$CHAT_SERVER"}
    project.config["writers"] = {"tiny": writer | {"temperature": 1.0, "max_new_tokens": 32}}
    project.config["variants"] = {"original": {"rewriter": "none"}, **variants}
    hold_to_nothing(project.folder)
    before, results = server.n_requests, project.folder / "results"
    done = project.run("--cores", "2", "variants", **environment)
    assert done.returncode == 0, done.stdout
    n_requests = server.n_requests - before
    made = {path: pl.read_parquet(path) for name in PROMPTS for path in results.glob(f"variants/{name}/*.parquet")}
    corpus = pl.read_parquet(results / "corpus/0*.parquet")
    n_candidates = 0
    for variant in PROMPTS:
        candidates = pl.concat(table for path, table in made.items() if path.match(f"{variant}/*.candidates.parquet"))
        rewritten = pl.concat(table for path, table in made.items() if path.match(f"{variant}/???.parquet"))
        assert set(candidates["review_id"]) == set(corpus["review_id"])
        assert set(rewritten["review_id"]) == set(candidates.filter(pl.col("reason").is_null())["review_id"])
        assert set(rewritten["text"]) & set(REVIEWS)
        n_candidates += len(candidates)
    assert n_requests == n_candidates == len(list((results / "requests").rglob("*.json")))
    assert "Nothing to be done" in project.ask("--dry-run", "variants", **environment)
    # the jobs run again, and find every answer
    done = project.run("--cores", "2", "variants", "--forcerun", "rewrite_with_llm", **environment)
    assert done.returncode == 0, done.stdout
    assert server.n_requests - before == n_requests
    assert all(pl.read_parquet(path).equals(table) for path, table in made.items())
    # neither the key nor the server's address is part of what was made
    for path in (path for folder in ("results", ".snakemake") for path in (project.folder / folder).rglob("*")):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path
    for path in (results / "requests").rglob("*.json"):
        assert server.address not in path.read_text()
