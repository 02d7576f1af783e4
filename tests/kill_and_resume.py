"""Kill a real run in every stage of the workflow, resume it each time, and look at what each kill left.

Kills come in turn: all processes of the run get SIGKILL at once in the midst of a job, or when it has begun to write a
file, as when the machine loses its power; or Ctrl-C: the processes of the terminal get SIGINT when the job has made a
file of which Snakemake does not know yet that it is whole.
"""

import copy
import json
import os
import signal
import subprocess
import sys
import time
from base64 import urlsafe_b64decode
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import psutil

from compare_runs import hidden, unreadable
from conftest import SMALL, Project


@dataclass(frozen=True)
class Job:
    """A job of the quiet run: its rule and log, its stage (the folder of its files), its files, and its seconds."""

    rule: str
    log: str
    stage: str
    outputs: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Kill:
    """A kill and what it left: attempts (hidden, half-written), files of cut-off jobs, and files that are not whole."""

    stage: str
    moment: str
    attempts: list[str]
    finished_files: list[str]
    not_whole: list[str]


def kill_and_resume(folder: Path, reference: Path) -> list[Kill]:
    """Run the small study in `folder`, kill it in a job of each stage, and let it come to its end.

    `folder` is a copy of the workflow, nothing run yet, and `reference` a complete, quiet run of the same study.
    """
    jobs = jobs_of(reference)
    wanted = {job.stage: job for job in jobs.values()}
    moments = cycle(["at any moment", "Ctrl-C", "while it writes"])
    project = Project(folder, copy.deepcopy(SMALL))
    # the profile reruns what is incomplete
    command = [sys.executable, "-m", "snakemake", *project._arguments("--cores", "2")]
    kills, whole = [], {}
    while True:
        begun = time.time() - 0.1  # file systems round
        with open(folder / "run.txt", "w") as printed:
            run = subprocess.Popen(
                command, cwd=folder, stdout=printed, stderr=printed, start_new_session=True, env=_WITH_ANOTHER_SEED
            )
            job = _first_job(run, folder, begun, [job for job in jobs.values() if job.stage in wanted])
            moment = next(moments) if job else None
            killed = job and _kill(run, folder, job, moment, begun)
        if not killed:
            assert run.wait() == 0, (folder / "run.txt").read_text()
            if not wanted:
                return kills
            # jobs of some stages were over before their turn: one of each is made again, and what follows from it
            for output in (output for job in wanted.values() for output in job.outputs):
                (folder / output).unlink(missing_ok=True)
            continue
        del wanted[job.stage]
        kills.append(Kill(job.stage, moment, *_left_behind(folder, begun), unreadable(folder / "results", whole)))
        if len(kills) == 1:
            refused = project.run("--cores", "2")
            assert refused.returncode != 0, refused.stdout
            assert "--unlock" in refused.stdout, refused.stdout
        if moment != "Ctrl-C":
            project.ask("--unlock")


_WITH_ANOTHER_SEED = {**os.environ, "PYTHONHASHSEED": "2"}


def jobs_of(folder: Path) -> dict[str, Job]:
    """The jobs of a finished run, by each of their files, in the order in which they ran: from Snakemake's memory."""
    records = {_decoded(path.name): json.loads(path.read_text()) for path in (folder / ".snakemake/metadata").iterdir()}
    jobs = {}
    for record in sorted(records.values(), key=lambda record: record["starttime"]):
        # a log belongs to one job
        outputs = tuple(sorted(output for output, other in records.items() if other["log"] == record["log"]))
        stage, seconds = Path(outputs[0]).parts[1], record["endtime"] - record["starttime"]
        jobs |= dict.fromkeys(outputs, Job(record["rule"], *record["log"], stage, outputs, seconds))
    return jobs


def _decoded(name: str) -> str:
    """The file that a record of Snakemake's is about, from the record's name."""
    return urlsafe_b64decode(name).decode()


def _first_job(run: subprocess.Popen, folder: Path, begun: float, jobs: list[Job]) -> Job | None:
    """The first of these jobs that the run begins; None if it comes to its end."""
    while run.poll() is None:
        started = set(_unfinished(folder, begun))
        for job in jobs:
            if started & {*job.outputs}:
                return job
        time.sleep(0.005)
    return None


def _unfinished(folder: Path, begun: float) -> list[str]:
    """Files of jobs that have begun, at `begun` or later, and not ended, as Snakemake notes them."""
    found = []
    for path in (folder / ".snakemake/incomplete").glob("*"):
        with suppress(FileNotFoundError):  # gone meanwhile
            if path.stat().st_mtime >= begun:
                found.append(_decoded(path.name))
    return found


def _kill(run: subprocess.Popen, folder: Path, job: Job, moment: str, begun: float) -> bool:
    """Kill the run at a moment of a job, and wait until no process of it is left; False if it had ended by itself."""
    earlier = _attempts(folder, job)
    if moment == "at any moment":
        log = folder / job.log
        while run.poll() is None and not (log.exists() and log.stat().st_mtime >= begun):  # libraries come first
            time.sleep(0.005)
        time.sleep(0.4 * job.seconds)
    while moment == "while it writes" and run.poll() is None and not _attempts(folder, job) - earlier:
        if any((folder / output).exists() for output in job.outputs):
            break
        time.sleep(0.0005)
    while moment == "Ctrl-C" and run.poll() is None and not any((folder / output).exists() for output in job.outputs):
        time.sleep(0.0005)
    sent = signal.SIGINT if moment == "Ctrl-C" else signal.SIGKILL
    with suppress(ProcessLookupError):
        os.killpg(run.pid, sent)
    while left := [process for process in psutil.process_iter() if _works_in(process, folder)]:
        for process in left if sent == signal.SIGKILL else []:
            process.kill()
        time.sleep(0.01)
    return run.wait() != 0


def _attempts(folder: Path, job: Job) -> set[Path]:
    """Hidden files that are to become files of `job`."""
    return {path for output in job.outputs for path in (folder / output).parent.glob(f".{Path(output).name}.*/*")}


def _works_in(process: psutil.Process, folder: Path) -> bool:
    """Whether a process runs in `folder`: those of a run all do, in whatever session they are."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder.resolve())
    except psutil.Error:
        return False


def _left_behind(folder: Path, begun: float) -> tuple[list[str], list[str]]:
    """Hidden attempts since `begun`, when the killed run began; and those files of the jobs it cut off that exist."""
    results = folder / "results"
    attempts = [path for path in hidden(results) if path.is_file() and path.parent.stat().st_mtime >= begun]
    cut_off = [output for output in sorted(_unfinished(folder, begun)) if (folder / output).exists()]
    return sorted(str(path.relative_to(results)) for path in attempts), cut_off
