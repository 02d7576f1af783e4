"""Reviews rewritten by a real server (`transformers serve`) and by the same model in the job, up to Snakemake runs."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from homogenization.writers.asking import Request
from homogenization.writers.endpoint import EndpointWriter
from homogenization.writers.local import LocalWriter
from tiny_chat import REVIEWS, build_chat_model

SAMPLING = {"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 32}
# the model says the same few things about every film, so it is held to nothing but to say something
LENIENT = {"candidates": 4, "min_coverage": 0.0, "max_distance": 1.0, "length_ratio": [0.01, 10.0]}
PROMPTS = {"front": "config/prompts/front.yaml", "paraphrase": "config/prompts/paraphrase.yaml"}


@dataclass
class Server:
    """A running server, the name of its model, and what it logged."""

    address: str
    model: str
    log: Path

    @property
    def n_requests(self) -> int:
        """Requests that it has answered; a line is written before its answer is sent."""
        return self.log.read_text().count("POST /v1/chat/completions")


@pytest.fixture(scope="module")
def chat(tmp_path_factory) -> Path:
    return build_chat_model(tmp_path_factory.mktemp("chat"))


def is_healthy(address: str) -> bool:
    try:
        with urlopen(address, timeout=5):
            return True
    except (URLError, ConnectionError, TimeoutError):
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def server(chat, tmp_path_factory) -> Iterator[Server]:
    """`transformers serve` on a free port of this machine."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log"
    command = [Path(sys.executable).with_name("transformers"), "serve", chat, "--host", "127.0.0.1"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--device", "cpu"], stdout=output, stderr=output, env=environment
        )
    try:
        while not is_healthy(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, log.read_text()
            time.sleep(0.2)
        yield Server(f"http://127.0.0.1:{port}/v1", str(chat), log)
    finally:
        process.terminate()
        process.wait(30)


def served(server: Server, **changes) -> dict:
    """The entry under `writers`."""
    return {"backend": "openai", "model": server.model, "base_url": server.address, **SAMPLING, **changes}


def test_greedy_answers_of_the_server_are_those_of_the_model_in_the_job(server, chat):
    texts = ("Dull.", "A film that I will not forget!", "Never again, and never without my umbrella. " * 5)
    system = {"role": "system", "content": "Be brief."}
    requests = {text: Request([system, {"role": "user", "content": text}], 0) for text in texts}
    weights = {"weights": {"path": str(chat)}, "dtype": "float32", "device": "cpu", "batch_size": 3}
    local = LocalWriter(weights | SAMPLING | {"temperature": 0.0})
    means = {"connections": 4, "timeout_seconds": 60, "max_retries": 2}
    entry = {"revision": None, "api_key_variable": "NO_SUCH_KEY", **means, **served(server, temperature=0.0)}
    here, there = {}, {}
    assert (
        local.complete(requests, here.__setitem__) == EndpointWriter(entry).complete(requests, there.__setitem__) == {}
    )
    assert here == there
    assert here.keys() == requests.keys()


def tables_in(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.name: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}


def test_a_workflow_run_asks_the_server_once(server, project):
    key = "not-for-any-file"
    environment = {"CHAT_SERVER": server.address, "CHAT_KEY": key}
    variants = {name: {"rewriter": "llm", "writer": "tiny", "prompt": prompt} for name, prompt in PROMPTS.items()}
    variants["front"]["position"] = "front"
    project.config |= {
        "writers": {"tiny": served(server, base_url="$CHAT_SERVER", api_key_variable="CHAT_KEY")},
        "variants": {"original": {"rewriter": "none"}, **variants},
        "rewriting": LENIENT,
    }
    before = server.n_requests
    done = project.run("--cores", "2", "variants", **environment)
    assert done.returncode == 0, done.stdout
    n_requests = server.n_requests - before
    results = project.folder / "results"
    corpus = pl.concat(tables_in(results / "corpus")[f"00{shard}.parquet"] for shard in (0, 1))
    made = {variant: tables_in(results / "variants" / variant) for variant in ("front", "paraphrase")}
    n_candidates = 0
    for tables in made.values():
        assert list(tables) == ["000.candidates.parquet", "000.parquet", "001.candidates.parquet", "001.parquet"]
        candidates = pl.concat([tables["000.candidates.parquet"], tables["001.candidates.parquet"]])
        rewritten = pl.concat([tables["000.parquet"], tables["001.parquet"]])
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
    for variant, tables in made.items():
        for name, table in tables_in(results / "variants" / variant).items():
            assert_frame_equal(table, tables[name])
    # neither the key nor the server's address is part of what was made
    for path in (path for folder in ("results", ".snakemake") for path in (project.folder / folder).rglob("*")):
        assert not path.is_file() or key.encode() not in path.read_bytes(), path
    for path in (results / "requests").rglob("*.json"):
        assert server.address not in path.read_text()
