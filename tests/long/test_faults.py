"""Faults on real runs: each is named, nothing is lost, and the same command run again comes to the same results."""

import subprocess
import sys
import time
from pathlib import Path

import psutil

from compare_runs import differences, hidden
from conftest import Project

STORE = "results/states/tiny/front/001.zarr.zip"
MATRICES = "results/measures/tiny/front/001/matrices.parquet"
VARIANT = "results/variants/front/001.parquet"
SIMILARITY = "results/tables/similarity.parquet"


def remove(project: Project, *files: str) -> None:
    for file in files:
        (project.folder / file).unlink()


def same_results(project: Project, finished_run: Path) -> None:
    """Every file of the results is there, with the values of the undisturbed run, and no other file is."""
    assert differences(finished_run / "results", project.folder / "results") == []
    assert hidden(project.folder / "results") == []


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a_store_and_a_table_that_are_cut_short_are_named_and_made_again_when_they_are_deleted(finished_run, finished):
    for made, target in ((STORE, MATRICES), (VARIANT, SIMILARITY)):
        path = finished.folder / made
        cut_short(path)
        remove(finished, target)
        done = finished.run("--cores", "2", target)
        assert done.returncode != 0, done.stdout
        assert made in done.stdout
        path.unlink()
        finished.make(target)
    same_results(finished, finished_run)


def process_of(run: subprocess.Popen, script: str) -> psutil.Process:
    """The process of a run in which `script` is at work, as soon as there is one."""
    while run.poll() is None:
        for process in psutil.Process(run.pid).children(recursive=True):
            try:
                name = process.cmdline()
            except psutil.Error:
                continue
            # the shell that starts it has its name too, in the command
            if name and "python" in name[0] and any(part.endswith(script) for part in name[1:]):
                return process
        time.sleep(0.01)
    raise AssertionError(f"{script} has not run: {run.stdout.read()}")


def test_a_job_that_the_kernel_kills_is_named_and_runs_again(finished_run, finished):
    """The memory killer takes one process of the job; Snakemake lives, and says which rule and which log."""
    log = "results/logs/states/tiny/front/001.log"
    remove(finished, STORE, log)
    command = [sys.executable, "-m", "snakemake", "--configfile", "test.yaml", "--cores", "2", STORE]
    run = subprocess.Popen(command, cwd=finished.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    process = process_of(run, "extract_states.py")
    while run.poll() is None and not (finished.folder / log).exists():
        time.sleep(0.01)
    process.kill()
    printed, _ = run.communicate()
    assert run.returncode != 0
    assert "Error in rule extract_states" in printed
    assert "SIGKILL" in printed
    assert log in printed
    assert not (finished.folder / STORE).exists()
    finished.make(STORE)
    same_results(finished, finished_run)
