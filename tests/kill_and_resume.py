"""Kill a real run again and again, in every stage of the workflow, resume it each time, and compare with a quiet run.

Of three kills, one is Ctrl-C: the processes of the terminal get SIGINT when the chosen job has made a file of which
Snakemake does not know yet that it is whole, and the same command goes on. In the others, all processes of the run get
SIGKILL at once, which leaves them no time to tidy up: as when the machine loses its power or the memory killer strikes;
half of these wait until the chosen job has begun to write a file.
"""

import copy
import json
import os
import random
import signal
import subprocess
import sys
import time
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml

from compare_runs import hidden, unreadable
from conftest import SMALL, Project


@dataclass(frozen=True)
class Job:
    """A job of the quiet run: its rule, its stage (the folder of its files), its files, and its time in seconds."""

    rule: str
    stage: str
    outputs: tuple[str, ...]
    begun: float
    seconds: float


@dataclass(frozen=True)
class Kill:
    """A kill and what it left: attempts (hidden, half-written), files of cut-off jobs, and files that are not whole."""

    job: Job
    by: str  # SIGKILL, or SIGINT (Ctrl-C)
    attempts: list[str]
    finished_files: list[str]
    not_whole: list[str]


def kill_and_resume(
    folder: Path, reference: Path, kills: int, seed: int, progress: Callable[[str], None] = print
) -> list[Kill]:
    """Run the small study in `folder`, kill it `kills` times on the way, and let it come to its end.

    Every stage gets its share of the kills; which job of a stage it hits, and when, is drawn.

    Args:
        folder: a copy of the workflow, nothing run yet.
        reference: the folder of a complete, quiet run of the same study.
        kills: number of kills.
        seed: the seed of the draws.
        progress: gets a line about each kill.
    """
    drawn = random.Random(seed)
    jobs = jobs_of(reference)
    wanted = _share_out(kills, list(dict.fromkeys(job.stage for job in jobs.values())), drawn)
    project = Project(folder, copy.deepcopy(SMALL))
    (folder / "test.yaml").write_text(yaml.safe_dump(SMALL, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--configfile", "test.yaml"]
    command += ["--cores", "2"]  # the profile reruns what is incomplete
    done, whole = [], {}
    while True:
        begun = time.time() - 0.1  # file systems round
        with open(folder / "run.txt", "w") as printed:
            run = subprocess.Popen(
                command,
                cwd=folder,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONHASHSEED": "2"},
            )
            by = signal.SIGINT if len(done) % 3 == 1 else signal.SIGKILL
            kill = _kill_in_time(run, folder, by, begun, jobs, wanted, drawn)
        if kill is None:
            assert run.returncode == 0, (folder / "run.txt").read_text()
            if not wanted.total():
                return done
            # jobs of some stages were over before their turn: one of them is made again, and what follows from it
            stage = next(stage for stage, left in wanted.items() if left)
            for output in max((job for job in jobs.values() if job.stage == stage), key=lambda job: job.begun).outputs:
                (folder / output).unlink()
            continue
        job, moment, seconds = kill
        broken = unreadable(folder / "results", whole)
        done.append(Kill(job, by.name, *_left_behind(folder, begun), broken))
        progress(f"{by.name} {len(done)} of {kills}: {job.rule} {moment}, {seconds:.2f} s after its start")
        if len(done) == 1:
            refused = project.run("--cores", "2")
            assert refused.returncode != 0, refused.stdout
            assert "--unlock" in refused.stdout, refused.stdout
        if by == signal.SIGKILL:
            project.ask("--unlock")


def jobs_of(folder: Path) -> dict[str, Job]:
    """The jobs of a finished run, by each of their files, in the order in which they ran: from Snakemake's memory."""
    records = {_decoded(path.name): json.loads(path.read_text()) for path in (folder / ".snakemake/metadata").iterdir()}
    jobs = {}
    for record in sorted(records.values(), key=lambda record: record["starttime"]):
        # a log belongs to one job
        outputs = tuple(sorted(output for output, other in records.items() if other["log"] == record["log"]))
        begun = record["starttime"]
        job = Job(record["rule"], Path(outputs[0]).parts[1], outputs, begun, record["endtime"] - begun)
        jobs |= dict.fromkeys(outputs, job)
    return jobs


def _decoded(name: str) -> str:
    """The file that a record of Snakemake's is about, from the record's name."""
    return urlsafe_b64decode(name).decode()


def _share_out(kills: int, stages: list[str], drawn: random.Random) -> Counter[str]:
    """How many kills each stage gets: one in turn, and what is left over to stages that are drawn."""
    turns = [stages[i % len(stages)] for i in range(kills - kills % len(stages))]
    return Counter(turns + drawn.sample(stages, kills % len(stages)))


def _kill_in_time(
    run: subprocess.Popen,
    folder: Path,
    by: signal.Signals,
    begun: float,
    jobs: dict[str, Job],
    wanted: Counter[str],
    drawn: random.Random,
) -> tuple[Job, str, float] | None:
    """Wait for a job of a wanted stage, and kill the run in the midst of it; None if the run comes to its end."""
    ahead = {job for job in jobs.values() if not _is_done(folder, job)}
    while run.poll() is None:
        started = {jobs[output] for output in _unfinished(folder, begun)} & ahead
        for job in sorted(started, key=lambda job: job.outputs):
            chance = wanted[job.stage] / sum(other.stage == job.stage for other in ahead)
            ahead.remove(job)
            if drawn.random() >= chance:
                continue
            start, earlier = time.monotonic(), _attempts(folder, job)
            moment = drawn.choice(["at any moment", "while it writes"])
            if by == signal.SIGINT:  # with a file under its name, Snakemake asks what to do unless the profile says it
                moment = "when it had written"
                while not any((folder / output).exists() for output in job.outputs) and run.poll() is None:
                    time.sleep(0.0005)
            elif moment == "at any moment":
                time.sleep(drawn.uniform(0, 0.8 * job.seconds))
            else:
                while not _attempts(folder, job) - earlier and run.poll() is None and not _is_done(folder, job):
                    time.sleep(0.0005)
            seconds = time.monotonic() - start
            if not (_kill_all(run, folder) if by == signal.SIGKILL else _interrupt(run, folder)):
                return None
            wanted[job.stage] -= 1
            if moment == "while it writes" and not _attempts(folder, job) - earlier:
                moment = "when it had written"
            return job, moment, seconds
        time.sleep(0.005)
    return None


def _unfinished(folder: Path, begun: float = 0) -> list[str]:
    """Files of jobs that have begun, at `begun` or later, and not ended, as Snakemake notes them."""
    markers = folder / ".snakemake/incomplete"
    if not markers.is_dir():
        return []
    times = {path.name: _time_of(path) for path in markers.iterdir()}
    return [_decoded(name) for name, written in times.items() if written is not None and written >= begun]


def _time_of(path: Path) -> float | None:
    """When `path` was last written to; None if it is gone meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None


def _is_done(folder: Path, job: Job) -> bool:
    unfinished = set(_unfinished(folder))
    return not unfinished & set(job.outputs) and all((folder / output).exists() for output in job.outputs)


def _attempts(folder: Path, job: Job) -> set[Path]:
    """Hidden files that are to become files of `job`."""
    return {path for output in job.outputs for path in (folder / output).parent.glob(f".{Path(output).name}.*/*")}


def _kill_all(run: subprocess.Popen, folder: Path) -> bool:
    """SIGKILL to every process of the run, and wait until none is left; False if the run had ended by itself."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    while left := [process for process in psutil.process_iter() if _works_in(process, folder)]:
        for process in left:
            process.kill()
        time.sleep(0.01)
    return run.wait() == -signal.SIGKILL


def _interrupt(run: subprocess.Popen, folder: Path) -> bool:
    """Ctrl-C: SIGINT to the processes that a terminal would send it to; False if the run had ended by itself."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGINT)
    status = run.wait()
    while any(_works_in(process, folder) for process in psutil.process_iter()):
        time.sleep(0.01)
    return status != 0


def _works_in(process: psutil.Process, folder: Path) -> bool:
    """Whether a process runs in `folder`: those of a run all do, in whatever session they are."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(folder.resolve())
    except psutil.Error:
        return False


def _left_behind(folder: Path, begun: float) -> tuple[list[str], list[str]]:
    """What the kill of a run left: hidden attempts, and those files of the jobs that it cut off that exist.

    Args:
        folder: the folder of the workflow.
        begun: the time when the run began; what earlier ones left is left out.
    """
    results = folder / "results"
    attempts = sorted(
        str(path.relative_to(results))
        for path in hidden(results)
        if path.is_file() and path.parent.stat().st_mtime >= begun
    )
    return attempts, [output for output in sorted(_unfinished(folder, begun)) if (folder / output).exists()]
