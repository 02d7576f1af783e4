"""Snakemake in processes that find it imported: for the many dry runs, of which its import is a third."""

import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

_forks = multiprocessing.get_context("forkserver")
# never the library: each process takes that of the folder in which it runs
_forks.set_forkserver_preload(["snakemake.cli", "snakemake.dag", "pydantic", "numpy"])


def call_snakemake(folder: Path, arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Call Snakemake in `folder`, with an environment of its own.

    Returns:
        The exit status, and all that was printed.
    """
    with tempfile.NamedTemporaryFile("r") as printed:
        process = _forks.Process(target=_call, args=(folder, arguments, environment, printed.name))
        process.start()
        process.join()
        return process.exitcode, printed.read()


def _call(folder: Path, arguments: list[str], environment: dict[str, str], printed: str) -> None:
    from snakemake.cli import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    descriptor = os.open(printed, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.dup2(descriptor, sys.stderr.fileno())
    sys.argv = ["snakemake", *arguments]
    main(arguments)
