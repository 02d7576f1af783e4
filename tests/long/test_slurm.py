"""The untrained experiment on a real Slurm, which the tests start on this machine and take away again."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, copy_workflow
from slurm import single_node

needs_slurm = pytest.mark.skipif(single_node.why_not() is not None, reason=str(single_node.why_not()))

# few jobs: each starts Snakemake three times
OVERLAY = {
    "results": "results",
    "corpus": {"n_reviews": 16, "shard_size": 16},
    # front and the control
    "variants": {"end": None},
    "device": "auto",
    "metrics": ["effective_rank", "participation_ratio", "resultant_length", "first_token_attention_share"],
    "contrasts": {"metrics": ["resultant_length"]},
    "mauve": {"n_tokens": 500},
    "components": {},
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
LONGEST_SECONDS = 1200
HEADER = re.compile(r"INFO rule (\w+), host \S+, Slurm job (\w+), CUDA_VISIBLE_DEVICES=(\S+)\n")


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
        """The Slurm jobs of one extraction, one for each attempt."""
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
def run(slurm, tmp_path_factory, progress) -> Run:
    folder = checkout(tmp_path_factory.mktemp("slurm") / "project")
    cache = folder / "cache"
    cache.mkdir()
    environment = {**os.environ, "SNAKEMAKE_OUTPUT_CACHE": str(cache)}
    environment.pop("CUDA_VISIBLE_DEVICES", None)  # Slurm sets it
    printed = []
    with subprocess.Popen(
        SNAKEMAKE, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        watchdog = threading.Timer(LONGEST_SECONDS, process.kill)
        watchdog.start()
        for line in process.stdout:
            printed.append(line)
            if re.search(r"steps \(\d+%\) done|has been submitted|^Error", line):
                progress(f"Slurm: {line.strip()}")
        watchdog.cancel()
    return Run(folder, "".join(printed), process.returncode, single_node.jobs())


def asks_for_a_gpu(job: dict[str, str]) -> bool:
    return "gpu" in job.get("TresPerJob", "")


@needs_slurm
def test_the_embedded_experiment_runs_to_its_end(run):
    assert run.returncode == 0, run.output
    assert (run.folder / "results/report.html").is_file()
    assert (run.folder / "results/tables/summary.parquet").is_file()
    assert {job["JobState"] for job in run.jobs if job not in run.of_extraction(*STARVED)} == {"COMPLETED"}
    done_in_slurm = {job for _, job, _ in run.headers().values()}
    assert "none" not in done_in_slurm
    assert done_in_slurm <= {job["JobId"] for job in run.jobs}


@needs_slurm
def test_rules_with_the_gpu_tag_and_no_others_see_a_gpu(run):
    for log, (_, job, gpus) in run.headers().items():
        on_gpu = ("states/", "components/", "similarity/")
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
            end = time.monotonic() + LONGEST_SECONDS / 2
            while not any(job["JobState"] == "RUNNING" for job in single_node.jobs()[before:]):
                assert time.monotonic() < end, "no job started"
                time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=LONGEST_SECONDS / 2)
        finally:
            process.kill()
    assert {job["JobState"] for job in single_node.jobs()[before:]} <= {"CANCELLED", "COMPLETING"}


@needs_slurm
def test_a_preempted_job_is_queued_again_and_asks_for_no_more(slurm, tmp_path):
    """The first run of the job waits for ever; another one, which takes the whole node, ends it."""
    folder = checkout(tmp_path / "project")
    with (folder / "Snakefile").open("a") as snakefile:
        snakefile.write(
            "\n\nrule preempted:\n    output: 'done'\n    resources: mem_mb=lambda wildcards, attempt: 3000 * attempt,"
            " slurm_partition='spare'\n    shell: 'test -e began && touch {output} || (touch began && sleep 600)'\n"
        )
    before = len(single_node.jobs())
    with subprocess.Popen(
        (*SNAKEMAKE, "--", "done"), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            end = time.monotonic() + LONGEST_SECONDS / 2
            while not (folder / "began").exists():
                assert time.monotonic() < end, "no job started"
                time.sleep(0.2)
            urgent = ("--partition=urgent", "--exclusive", "--mem=0", "--output=/dev/null", "--wrap=true")
            subprocess.run(("sbatch", *urgent), check=True, cwd=folder)
            printed, _ = process.communicate(timeout=LONGEST_SECONDS / 2)
        finally:
            process.kill()
    assert process.returncode == 0, printed
    (job,) = [job for job in single_node.jobs()[before:] if job["Partition"] == "spare"]
    assert (job["Restarts"], job["JobState"], job["MinMemoryNode"]) == ("1", "COMPLETED", "3000M")
