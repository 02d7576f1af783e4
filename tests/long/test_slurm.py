"""The embedded experiment on a real Slurm, which the tests start on this machine and take away again."""

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from snakemake.cli import get_argument_parser

from conftest import ROOT, copy_workflow
from slurm import single_node

needs_slurm = pytest.mark.skipif(single_node.why_not() is not None, reason=str(single_node.why_not()))

PROFILE = ROOT / "profiles/slurm"
# rules that the profile leaves out of its groups: on a GPU, long, or waited for by nothing of their kind
ALONE = {
    "build_random_model",
    "extract_states",
    "extract_components",
    "extract_keyphrases_with_llm",
    "rewrite_with_llm",
    "count_tokens",
    "plan_extraction",
    "make_report",
}
OVERLAY = {
    # one model and the encoder of BERTScore ask for a GPU, the other model does not
    "models": {"minilm": {"device": "auto"}},
    "similarity": {"device": "auto"},
    # half the jobs, and each starts Snakemake anew
    "corpus": {"shard_size": 64},
    "metrics": ["effective_rank", "stable_rank", "resultant_length", "first_token_attention_share"],
    "contrasts": {"metrics": ["resultant_length"], "draws": 1000},
    "components": {"models": ["minilm"]},
}
# this job gets too little memory at first, and enough when it is tried again
STARVED = ("random-llama", "front", "000")
MEMORY = f"500 * attempt ** 2 if tuple(wildcards) == {STARVED} else 4000"
SNAKEMAKE = (
    sys.executable,
    *("-m", "snakemake", "--workflow-profile", "profiles/slurm"),
    *("--configfile", "config/config.yaml", "overlay.yaml"),
    # no accounting database here; and no time to lose
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "4"),
    *("--set-resources", f"extract_states:mem_mb={MEMORY}", "--set-threads", "extract_states=1"),
)
RULES = {
    match[1]: match[0]
    for file in (ROOT / "workflow/rules").glob("*.smk")
    for match in re.finditer(r"^rule (\w+):\n(?:(?:    .*)?\n)+", file.read_text(), re.MULTILINE)
}
HEADER = re.compile(r"INFO rule (\w+), host \S+, Slurm job (\w+), CUDA_VISIBLE_DEVICES=(\S+)\n")


def profile(**environment: str) -> dict:
    """What Snakemake makes of the profile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SNAKEMAKE_OUTPUT_CACHE", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        return vars(get_argument_parser(profiles=[PROFILE]).parse_args([]))


def test_every_line_of_the_profile_reaches_snakemake():
    """Some misspelt keys are passed over in silence."""
    defaults = vars(get_argument_parser().parse_args([]))
    written = [key for key in yaml.safe_load((PROFILE / "config.yaml").read_text()) if key[0].isalpha()]
    assert len(written) > 10
    read = profile()
    for key in written:
        assert read[key.replace("-", "_")] != defaults[key.replace("-", "_")], key


def test_the_profile_caches_where_there_is_a_cache():
    assert profile()["cache"] is None
    cached = profile(SNAKEMAKE_OUTPUT_CACHE="/shared/cache")["cache"]
    assert set(cached) == {rule for rule, text in RULES.items() if "    cache:" in text}


def test_the_profile_has_a_place_for_every_rule():
    grouped = profile()["groups"]
    assert not grouped.keys() & ALONE
    assert grouped.keys() | ALONE == RULES.keys()
    assert profile()["group_components"].keys() <= set(grouped.values())


@dataclass
class Run:
    """A finished run: its folder, what Snakemake printed, and the Slurm jobs."""

    folder: Path
    output: str
    returncode: int
    jobs: list[dict[str, str]]

    def headers(self) -> dict[str, tuple[str, str, str]]:
        """Log file below results/logs -> rule, Slurm job, visible GPUs."""
        logs = self.folder / "results/logs"
        found = {str(log.relative_to(logs)): HEADER.match(log.read_text()) for log in logs.rglob("*.log")}
        missing = [name for name, header in found.items() if header is None]
        assert not missing, f"logs without a first line of job.logged: {missing}"
        return {name: header.groups() for name, header in found.items()}

    def of_extraction(self, *wildcards: str) -> list[dict[str, str]]:
        """The Slurm jobs of one extraction, a job an attempt."""
        comment = "_".join(("rule_extract_states_wildcards", *wildcards))
        return [job for job in self.jobs if job["Comment"] == comment]


@pytest.fixture(scope="module")
def slurm():
    single_node.start()
    yield
    single_node.stop()


def checkout(folder: Path) -> Path:
    copy_workflow(folder)
    (folder / "overlay.yaml").write_text(yaml.safe_dump(OVERLAY))
    return folder


@pytest.fixture(scope="module")
def run(slurm, tmp_path_factory) -> Run:
    folder = checkout(tmp_path_factory.mktemp("slurm") / "project")
    cache = folder / "cache"
    cache.mkdir()
    done = subprocess.run(
        SNAKEMAKE,
        cwd=folder,
        env={**os.environ, "SNAKEMAKE_OUTPUT_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    return Run(folder, done.stdout, done.returncode, single_node.jobs())


def asks_for_a_gpu(job: dict[str, str]) -> bool:
    return "gpu" in job.get("TresPerJob", "")


@needs_slurm
def test_the_embedded_experiment_runs_to_its_end(run):
    assert run.returncode == 0, run.output
    assert (run.folder / "results/report.html").is_file()
    assert (run.folder / "results/tables/summary.csv").is_file()
    assert {job["JobState"] for job in run.jobs if job not in run.of_extraction(*STARVED)} == {"COMPLETED"}
    done_in_slurm = {job for _, job, _ in run.headers().values()}
    assert "none" not in done_in_slurm
    assert done_in_slurm <= {job["JobId"] for job in run.jobs}


@needs_slurm
def test_rules_with_the_gpu_tag_and_no_others_see_a_gpu(run):
    for log, (_, job, gpus) in run.headers().items():
        on_gpu = ("states/minilm/", "components/minilm/", "similarity/")
        tagged = log.startswith(on_gpu)
        assert gpus == ("0" if tagged else "unset"), f"{log}, Slurm job {job}"


@needs_slurm
def test_jobs_go_to_the_partition_that_has_what_they_ask_for(run):
    assert {(asks_for_a_gpu(job), job["Partition"]) for job in run.jobs} == {(True, "gpu"), (False, "cpu")}


@needs_slurm
def test_jobs_on_one_gpu_run_one_after_the_other(run):
    times = sorted(
        (datetime.fromisoformat(job["StartTime"]), datetime.fromisoformat(job["EndTime"]))
        for job in run.jobs
        if asks_for_a_gpu(job)
    )
    assert len(times) >= 2
    for (_, end), (start, _) in pairwise(times):
        assert end <= start
    # they did not merely come one by one: they waited for each other
    submitted = sorted(job["SubmitTime"] for job in run.jobs if asks_for_a_gpu(job))
    assert datetime.fromisoformat(submitted[1]) < times[0][1]


@needs_slurm
def test_a_job_killed_for_memory_is_tried_again_with_more(run):
    first, second = run.of_extraction(*STARVED)
    assert (first["MinMemoryNode"], second["MinMemoryNode"]) == ("500M", "2000M")
    assert (first["JobState"], second["JobState"]) == ("FAILED", "COMPLETED")
    assert "exceeded memory limit" in Path(first["StdOut"]).read_text()
    assert (run.folder / "results/states" / "/".join(STARVED)).with_suffix(".zarr.zip").is_file()


@needs_slurm
def test_jobs_share_what_the_cache_holds(run):
    states = list((run.folder / "results/states").rglob("*.zarr.zip"))
    assert states
    for file in (*states, run.folder / "results/corpus/raw.parquet"):
        assert file.resolve().parent == run.folder / "cache"


@needs_slurm
def test_an_interrupt_cancels_the_jobs(slurm, tmp_path):
    before = len(single_node.jobs())
    with subprocess.Popen(
        SNAKEMAKE, cwd=checkout(tmp_path / "project"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            end = time.monotonic() + 60
            while not any(job["JobState"] == "RUNNING" for job in single_node.jobs()[before:]):
                assert time.monotonic() < end, "no job started"
                time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        finally:
            process.kill()
    assert {job["JobState"] for job in single_node.jobs()[before:]} <= {"CANCELLED", "COMPLETING"}
