"""Snakemake in processes that find it imported: for the many dry runs and small runs, of which imports are the most."""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import job_server

_forks = multiprocessing.get_context("forkserver")
# never the library: each process takes that of the folder in which it runs
_forks.set_forkserver_preload(["snakemake.cli", "snakemake.dag", "pydantic", "numpy"])
# variables that no library reads when it is imported
_READ_LATER = {"PYTEST_CURRENT_TEST", "PYTHONPATH", "SNAKEMAKE_OUTPUT_CACHE", "OMP_NUM_THREADS"}


def call_snakemake(
    folder: Path, arguments: list[str], environment: dict[str, str], imported: bool = False
) -> tuple[int, str]:
    """Call Snakemake in `folder`, with an environment of its own; the exit status, and all that was printed.

    If `imported`, jobs find their libraries imported too (`job_server`), unless `environment` has variables that
    libraries may read when they are imported.
    """
    python = sys.executable
    if imported:
        address, known = job_server_of_this_process()
        if {name for name, _ in known.items() ^ environment.items()} <= _READ_LATER:
            environment = environment | {job_server.ADDRESS: address}
            python = f"{sys.executable} -IS {job_server.__file__}"
    with tempfile.NamedTemporaryFile("r") as printed:
        process = _forks.Process(target=_call, args=(folder, arguments, environment, printed.name, python))
        process.start()
        process.join()
        return process.exitcode, printed.read()


@cache
def job_server_of_this_process() -> tuple[str, dict[str, str]]:
    """The address of a server of jobs, which ends with this process, and the environment in which it imports."""
    folder = tempfile.TemporaryDirectory()
    address, environment = f"{folder.name}/socket", dict(os.environ)
    server = subprocess.Popen(
        [sys.executable, job_server.__file__, "serve", address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    atexit.register(lambda: (server.stdin.close(), server.wait(), folder.cleanup()))
    assert server.stdout.readline() == b"ready\n"
    return address, environment


def _call(folder: Path, arguments: list[str], environment: dict[str, str], printed: str, python: str) -> None:
    from snakemake.cli import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    descriptor = os.open(printed, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    sys.argv = ["snakemake", *arguments]
    sys.executable = python  # what Snakemake starts scripts with
    main(arguments)
