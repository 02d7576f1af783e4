"""What comes from the hub, by its real clients, from a hub on loopback: each fault alone, and the paper's study."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
import yaml

from compare_runs import hidden
from conftest import ROOT, Project, copy_workflow
from flipped import flip_bit
from hub_client import HubClient, without_hub
from loopback_hub import LoopbackHub, Repository
from paper_repositories import MEMBER, USELESS, imdb_files, paper_repositories

PAPER = yaml.safe_load((ROOT / "config/paper.yaml").read_text())
STRANGER = "hf_of_somebody_else"
COMMIT, OTHER_COMMIT = "a" * 40, "b" * 40
WEIGHTS, TEXTS = "model.safetensors", "plain_text/train-00000-of-00001.parquet"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def hub() -> Iterator[LoopbackHub]:
    with LoopbackHub({}, accounts={MEMBER, STRANGER}) as running:
        yield running


@pytest.fixture(scope="module")
def client(hub, tmp_path_factory) -> Iterator[HubClient]:
    """A client with one cache for all tests: each asks for a repository of its own."""
    with HubClient(tmp_path_factory.mktemp("cache"), HF_ENDPOINT=hub.endpoint) as running:
        yield running


@pytest.fixture(params=["models", "datasets"])
def kind(request) -> str:
    return request.param


@pytest.fixture
def repository(hub, kind, request) -> str:
    """The id of a repository that only this test asks for."""
    name = f"someone/{request.node.name.translate({ord(c): '-' for c in '[]'}).strip('-')}"[:90]
    if kind == "models":
        files = {"config.json": b"{}", WEIGHTS: bytes(range(256)) * 400, **USELESS}
    else:
        files = imdb_files([{"text": f"Review {number} of {name}.", "label": "positive"} for number in range(9)])
    hub.repositories[name] = Repository(COMMIT, files, kind=kind)
    return name


def fetch(client: HubClient, kind: str, repository: str, revision: str = COMMIT, token: str | None = None):
    return (client.model if kind == "models" else client.reviews)(repository, revision, token)


def refuses(client: HubClient, kind: str, repository: str, revision: str = COMMIT, token: str | None = None) -> str:
    """The message, which names what was asked for."""
    answer, message = fetch(client, kind, repository, revision, token)
    assert answer == "refused", message
    assert repository in message
    assert revision in message
    return message


def fetches(client: HubClient, kind: str, repository: str, token: str | None = None) -> None:
    answer, fetched = fetch(client, kind, repository, token=token)
    assert answer == "fetched", fetched
    if kind == "models":
        assert {path.name for path in Path(fetched).iterdir()} == {"config.json", WEIGHTS}
    else:
        assert fetched == [f"Review {number} of {repository}." for number in range(9)]


def large(kind: str) -> str:
    return WEIGHTS if kind == "models" else TEXTS


def cached(client: HubClient, kind: str, repository: str) -> Path:
    """The link to the large file in the cache."""
    folder = client.home / "hub" / f"{kind}--{repository.replace('/', '--')}"
    return folder / "snapshots" / COMMIT / large(kind)


def partial_files(home: Path) -> list[Path]:
    return [*home.rglob("*.incomplete"), *home.rglob("reviews-*"), *home.rglob("*.tmp")]


def test_what_is_gated_says_whose_access_is_missing(hub, client, kind, repository):
    hub.repositories[repository].members = {MEMBER}
    page = f"https://huggingface.co/{repository if kind == 'models' else f'datasets/{repository}'}"
    message = refuses(client, kind, repository)
    assert f"it is gated. Accept its licence on {page}, log in with `hf auth login` or set HF_TOKEN" in message
    message = refuses(client, kind, repository, token=STRANGER)
    assert "the account of this token has no access" in message
    assert f"Accept the licence on {page} with this account" in message
    assert "does not know this token" in refuses(client, kind, repository, token="hf_revoked")
    fetches(client, kind, repository, MEMBER)
    assert hub.shown == {None}, "no other machine than the hub's is shown a token"


def test_what_the_hub_does_not_know_is_named(hub, client, kind, repository):
    assert f"{hub.endpoint} (HF_ENDPOINT) knows nothing of this name" in refuses(client, kind, "someone/nobody")
    assert "Check the spelling" in refuses(client, kind, "someone/nobody", token=MEMBER)
    assert "no such revision. Give a commit, branch or tag" in refuses(client, kind, repository, OTHER_COMMIT)
    assert "no such revision" in refuses(client, kind, repository, "no-branch")


def test_a_hub_that_has_no_time_is_asked_later(hub, client, kind, repository):
    try:
        hub.faults.status = 503
        assert "answers with an error (503). Run the same command again later" in refuses(client, kind, repository)
        hub.faults.status = 429
        assert "429, too many requests). Wait some minutes, log in" in refuses(client, kind, repository)
    finally:
        hub.faults.status = None
    fetches(client, kind, repository)


def test_a_download_that_breaks_off_is_taken_up_or_named(hub, client, kind, repository):
    path = repository, large(kind)
    hub.faults.cuts[path] = 1000
    message = refuses(client, kind, repository)
    assert "broke off" in message
    assert "Run the same command again" in message
    assert partial_files(client.home) == []
    assert not cached(client, kind, repository).exists()
    hub.faults.cuts[path] = 1
    fetches(client, kind, repository)
    assert hub.faults.cuts[path] == 0


def test_other_bytes_than_the_hub_promised_are_not_used(hub, client, kind, repository):
    """The client compares sizes alone."""
    hub.faults.altered.add((repository, large(kind)))
    answer, message = fetch(client, kind, repository)
    assert answer == "refused"
    link = cached(client, kind, repository)
    assert f"{link}: damaged (its SHA-256 is" in message
    assert ".damaged. Run the same command again, which fetches it again" in message
    assert not link.exists()
    hub.faults.altered.clear()
    fetches(client, kind, repository)
    # and now on the disk
    flip_bit(link.resolve())
    answer, message = fetch(client, kind, repository)
    assert answer == "refused"
    assert f"{link}: damaged" in message
    fetches(client, kind, repository)


def test_what_was_fetched_needs_no_hub(hub, client, kind, repository):
    """A commit stays what it is: the hub is not asked again. And the cache stands in for no other revision."""
    fetches(client, kind, repository)
    before = len(hub.requests)
    fetches(client, kind, repository)
    assert kind == "datasets" or hub.requests[before:] == []
    hub.requests.clear()
    with (
        # a cache that others have filled takes no copies
        HubClient(
            client.home, HF_ENDPOINT=hub.endpoint, HF_HUB_OFFLINE="1", HF_DATASETS_CACHE="/dev/null/none"
        ) as offline,
        HubClient(client.home, HF_ENDPOINT=NOWHERE) as without_network,
    ):
        fetches(offline, kind, repository)
        fetches(without_network, kind, repository)
        message = refuses(offline, kind, repository, OTHER_COMMIT)
        assert f"HF_HUB_OFFLINE is set, and the cache in {client.home}/hub does not hold all of its files" in message
        message = refuses(without_network, kind, repository, OTHER_COMMIT)
        assert f"there is no network, or {NOWHERE} (HF_ENDPOINT) is down ([Errno 111] Connection refused)" in message
        assert ("corpus.source" if kind == "datasets" else "weights: {path: ...}") in message
    assert hub.requests == []


def test_a_split_or_subset_that_is_not_there_names_those_that_are(hub, client):
    hub.repositories["someone/splits"] = Repository(
        COMMIT, imdb_files([{"text": "A.", "label": "negative"}]), kind="datasets"
    )
    assert client.reviews("someone/splits", COMMIT, split="test")[0] == "fetched"
    for asked, named in ({"split": "trian"}, "['train', 'test', 'unsupervised']"), ({"subset": "x"}, "['plain_text']"):
        answer, message = client.reviews("someone/splits", COMMIT, **asked)
        assert answer == "refused"
        assert named in message


@pytest.mark.parametrize("kind", ["models"])
def test_two_jobs_at_once_fetch_a_file_once(hub, tmp_path, repository):
    hub.faults.seconds = 0.5
    before = len(hub.requests)
    answers = []

    def job() -> None:
        with HubClient(tmp_path, HF_ENDPOINT=hub.endpoint) as client:
            answers.append(client.model(repository, COMMIT))

    jobs = [threading.Thread(target=job) for _ in range(2)]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    hub.faults.seconds = 0.0
    assert [answer for answer, _ in answers] == ["fetched", "fetched"]
    downloads = [path for method, path in hub.requests[before:] if method == "GET" and "/cdn/" in path]
    assert len(downloads) == 1


LLAMA, GEMMA, QWEN, WRITER, ENCODER = (
    "meta-llama/Meta-Llama-3-8B",
    "google/gemma-7b",
    "Qwen/Qwen2.5-7B",
    "Qwen/Qwen2.5-7B-Instruct",
    "FacebookAI/roberta-large",
)
# size alone, and a writer that says the same few things about every film is held to nothing but to say something
SMALLER = {
    "views": ["raw", "raw_without_first"],
    "metrics": ["effective_rank", "resultant_length", "first_token_attention_share"],
    "mauve": {"n_tokens": 50, "seeds": 1},
    "contrasts": {"draws": 200, "min_reviews": 6},
    "sensitivity": {"n_tokens": 16, "width": 16, "seeds": 2},
    "corpus": {"n_reviews": 6, "shard_size": 6},
    "writers": {"qwen2.5-7b-instruct": {"max_new_tokens": 32}},
    "rewriting": {"min_coverage": 0.0, "max_distance": 1.0, "length_ratio": [0.01, 10.0]},
}
EXTRACTED = [
    "results/paper/states/llama-3-8b/front/000.json",
    "results/paper/states/gemma-7b/original/000.json",
    "results/paper/states/qwen2.5-7b/original/000.json",
]


class Paper(Project):
    """The paper's configuration as it stands, under an overlay, with a hub and a cache of its own."""

    hub: LoopbackHub

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def call(self, *targets: str, **environment: str) -> tuple[bool, str]:
        """Run Snakemake: whether it came to its end, and what it printed, which is free of tracebacks."""
        hub = {"HF_ENDPOINT": self.hub.endpoint, "HF_HOME": str(self.home), "OMP_NUM_THREADS": "1"}
        (self.folder / "smaller.yaml").write_text(yaml.safe_dump(self.config))
        done = self.run("--cores", "2", "--keep-going", *targets, **hub, **environment)
        assert "Traceback" not in done.stdout, done.stdout
        return done.returncode == 0, done.stdout

    def _arguments(self, *arguments: str) -> list[str]:
        return [*arguments, "--configfile", "config/paper.yaml", "smaller.yaml"]

    def half_written(self) -> list[Path]:
        return [*hidden(self.folder / "results"), *partial_files(self.home)]


@pytest.fixture
def paper(hub, tmp_path, monkeypatch) -> Paper:
    for name in os.environ.keys() - without_hub().keys():
        monkeypatch.delenv(name)
    hub.repositories.update(paper_repositories(PAPER, tmp_path / "saved"))
    hub.requests.clear()
    copy_workflow(tmp_path / "project")
    project = Paper(tmp_path / "project", SMALLER)
    project.hub = hub
    return project


def weights_of(hub: LoopbackHub, repository: str) -> list[str]:
    """The shards that an index lists."""
    return sorted(path for path in hub.repositories[repository].files if path.startswith("model-"))


def test_the_paper_from_an_empty_cache(hub, paper):
    """Plan, rewritten reviews and states of three architectures through the faults of a bad day.

    Then the network goes, and the full cache carries the experiment to its report.
    """
    commit, hub.repositories[QWEN].commit = hub.repositories[QWEN].commit, OTHER_COMMIT
    ended, printed = paper.call("plan", HF_TOKEN=STRANGER)
    assert not ended
    for gated in (LLAMA, GEMMA):
        assert (
            f"the configuration of the hub model '{gated}' at revision {hub.repositories[gated].commit} could not be "
            "fetched: it is gated, and the account of this token has no access."
        ) in printed
    assert f"'{QWEN}' at revision {commit} could not be fetched: it has no such revision." in printed
    assert not (paper.folder / "results/paper/plan").exists() or not list(
        (paper.folder / "results/paper/plan").iterdir()
    )
    assert paper.half_written() == []
    hub.repositories[QWEN].commit = commit
    ended, printed = paper.call("plan", HF_TOKEN=MEMBER)
    assert ended, printed
    assert "\ntotal " in printed
    for model in (LLAMA, GEMMA, QWEN):
        assert hub.downloaded(model) == {
            "config.json",
            "generation_config.json",
            "model.safetensors.index.json",
            "tokenizer.json",
            "tokenizer_config.json",
        }
    assert hub.downloaded(WRITER) == hub.downloaded(ENCODER) == set()

    faults = [(repository, weights_of(hub, repository)[1]) for repository in (GEMMA, QWEN, ENCODER)]
    hub.faults.altered, hub.faults.cuts = {faults[0]}, {faults[1]: 1, faults[2]: 1000}
    ended, printed = paper.call(*EXTRACTED, HF_TOKEN=MEMBER)
    assert not ended
    assert f"{faults[0][1]}: damaged (its SHA-256 is" in printed
    assert f"the hub model '{ENCODER}' at revision {hub.repositories[ENCODER].commit} could not be fetched" in printed
    assert f"the download from {hub.endpoint} (HF_ENDPOINT) broke off" in printed
    made = [(paper.folder / file).exists() for file in EXTRACTED]
    assert made == [False, False, True]
    assert paper.half_written() == []

    hub.faults.altered, hub.faults.cuts = set(), {}
    ended, printed = paper.call(*EXTRACTED, HF_TOKEN=MEMBER)
    assert ended, printed
    asked = Counter(path for _, path in hub.requests)
    for repository in (LLAMA, GEMMA, QWEN, WRITER, ENCODER):
        fetched = hub.downloaded(repository)
        assert set(weights_of(hub, repository)) <= fetched
        assert fetched.isdisjoint(USELESS)
        # the commit that was not there was asked for twice
        listing = f"/api/models/{repository}/tree/{hub.repositories[repository].commit}"
        assert asked[listing] == (2 if repository == QWEN else 1)
    # each file once, however many jobs read it, but for those that did not come whole
    downloads = Counter(path for method, path in hub.requests if method == "GET" and "/cdn/" in path)
    again = {path for path, count in downloads.items() if count > 1}
    assert {path.rpartition("/")[2] for path in again} == {broken for _, broken in faults}
    assert {path[1:].partition("/cdn/")[0] for path in again} == {repository for repository, _ in faults}
    assert hub.shown == {None}

    hub.requests.clear()
    ended, printed = paper.call(HF_HUB_OFFLINE="1")
    assert ended, printed
    assert hub.requests == []
    assert (paper.folder / "results/paper/report.html").is_file()
    metrics = pl.read_parquet(paper.folder / "results/paper/tables/metrics.parquet")
    assert set(metrics["model"]) == set(PAPER["models"])
    assert set(metrics["variant"]) == set(PAPER["variants"])
    assert paper.half_written() == []
