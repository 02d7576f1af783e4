"""The untrained experiment on a real Slurm, which the tests start on this machine and take away again."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, copy_workflow
from slurm import single_node

pytestmark = pytest.mark.skipif(single_node.why_not() is not None, reason=str(single_node.why_not()))

# few jobs: each starts Snakemake three times
OVERLAY = {
    "results": "results",
    "corpus": {"n_reviews": 16, "shard_size": 16},
    "variants": {"end": None, "front-inward": None},
    # the encoder of BERTScore and one model, which ask for a GPU
    "models": {"minilm": None},
    "device": "auto",
    "metrics": ["effective_rank", "participation_ratio", "resultant_length", "first_token_attention_share"],
    "contrasts": {"metrics": ["resultant_length"]},
    "mauve": {"n_tokens": 500},
    "components": None,
    "figures": {"labels": {"minilm": None}},
}
# this job gets too little memory at first, and enough when it is tried again
STARVED = ("random-llama", "front", "000")
MEMORY = f"500 * attempt ** 2 if tuple(wildcards) == {STARVED} else 4000"
SNAKEMAKE = (
    sys.executable,
    str(ROOT / "tests/slurm/impatient_snakemake.py"),
    *("--workflow-profile", "profiles/slurm"),
    *("--configfile", "config/untrained.yaml", "overlay.yaml"),
    # no accounting database here
    *("--slurm-status-command", "squeue"),
    *("--set-resources", f"extract_states:mem_mb={MEMORY}", "--set-threads", "extract_states=1"),
)
HEADER = re.compile(r"INFO rule \w+, host \S+, Slurm job (\w+), CUDA_VISIBLE_DEVICES=(\S+)\n")


@dataclass
class Run:
    """A finished run: its folder, what Snakemake printed, and the Slurm jobs."""

    folder: Path
    output: str
    returncode: int
    jobs: list[dict[str, str]]

    def headers(self) -> dict[str, tuple[str, str]]:
        """Log file below results/logs -> Slurm job, visible GPUs: what `homogenization.run.job` writes first."""
        logs = self.folder / "results/logs"
        return {str(log.relative_to(logs)): HEADER.match(log.read_text()).groups() for log in logs.rglob("*.log")}

    def starved(self) -> list[dict[str, str]]:
        """The Slurm jobs of the starved extraction, one for each attempt."""
        comment = "_".join(("rule_extract_states_wildcards", *STARVED))
        return [job for job in self.jobs if job["Comment"] == comment]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("slurm") / "project"
    copy_workflow(folder)
    (folder / "overlay.yaml").write_text(yaml.safe_dump(OVERLAY))
    # Slurm sets the variable
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    printed = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    single_node.start()
    try:
        done = subprocess.run(SNAKEMAKE, cwd=folder, env=environment, timeout=1200, **printed)
        yield Run(folder, done.stdout, done.returncode, single_node.jobs())
    finally:
        single_node.stop()


def test_a_study_runs_to_its_end_in_slurm_alone(run):
    assert run.returncode == 0, run.output
    assert (run.folder / "results/report.html").is_file()
    assert {job["JobState"] for job in run.jobs if job not in run.starved()} == {"COMPLETED"}
    assert {job for job, _ in run.headers().values()} <= {job["JobId"] for job in run.jobs}


def test_jobs_that_ask_for_a_gpu_and_no_others_see_one_and_have_their_partition(run):
    for log, (job, gpus) in run.headers().items():
        asks = log.startswith(("states/", "components/", "similarity/"))
        assert gpus == ("0" if asks else "unset"), f"{log}, Slurm job {job}"
    placed = {("gpu" in job.get("TresPerJob", ""), job["Partition"]) for job in run.jobs}
    assert placed == {(True, "gpu"), (False, "cpu")}


def test_a_job_killed_for_memory_is_tried_again_with_more(run):
    first, second = run.starved()
    assert (first["MinMemoryNode"], second["MinMemoryNode"]) == ("500M", "2000M")
    assert (first["JobState"], second["JobState"]) == ("FAILED", "COMPLETED")
    assert "exceeded memory limit" in Path(first["StdOut"]).read_text()
    assert (run.folder / "results/states" / "/".join(STARVED)).with_suffix(".zarr.zip").is_file()
