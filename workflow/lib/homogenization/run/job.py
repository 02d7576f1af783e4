"""The frame of every script of the workflow: log file, threads, job record, messages for the user, and a quick end.

A script imports this module first: it makes the imports after it faster.
"""

import gc
import io
import logging
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from homogenization.run.digested import DigestedText
from homogenization.run.errors import HomogenizationError
from homogenization.run.made_by import job_key, mark
from homogenization.run.secrets import masked
from homogenization.run.usage import imported_libraries

# Snakemake starts a script in a process of its own, as its main module, and defines `snakemake` there first
_OWN_PROCESS = hasattr(sys.modules["__main__"], "snakemake")
if _OWN_PROCESS:
    # Python's 700 has the garbage collector search the growing modules again and again: a fifth of all import time
    gc.set_threshold(50_000)

_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch", "transformers")
_record: ContextVar[dict[str, Any] | None] = ContextVar("record", default=None)


class _Log(io.TextIOWrapper):
    """A file for text without secrets."""

    def write(self, text: str) -> int:
        super().write(masked(text))
        return len(text)


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of a script as a Snakemake job.

    Standard output, standard error and Python's logging go to the job's log file. Numerical libraries use the job's
    number of threads, whatever the number of cores: the order of sums, and so their rounding, depends on it. Tables
    and stores that the job writes name its rule, parameters and key. A `HomogenizationError` ends the job with only its
    message in the log; any other exception leaves its traceback there. The log holds no secret (`masked`). Its last
    lines name the heavy libraries that the job imported, and its key (`run.made_by`).

    A job that succeeds in a process of its own ends here: the interpreter is not taken down, which takes a second where
    torch is imported. So this is the outermost context of a script, and nothing follows it.
    """
    with _Log(open(snakemake.log[0], "wb"), encoding="utf-8", line_buffering=True) as log:
        stdout, stderr = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = log
        logging.basicConfig(stream=log, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
        logging.info(_whereabouts(snakemake.rule))
        params = dict(snakemake.params.items())
        key = job_key(params, snakemake.input)
        token = _record.set({"rule": snakemake.rule, "params": params, "key": key})
        try:
            with threadpool_limits(snakemake.threads):
                if torch := sys.modules.get("torch"):
                    torch.set_num_threads(snakemake.threads)
                yield
            logging.info(f"imported {', '.join(imported_libraries()) or 'no heavy library'}")
            logging.info(mark(key))
        except HomogenizationError as error:
            print(f"error: {error}", file=log)
            sys.exit(1)
        except Exception as error:
            from homogenization.run.files import is_disk_full, more_room  # not in each job

            traceback.print_exc(file=log)
            if is_disk_full(error):
                print(f"error: a file system is full ({error}). {more_room(Path.cwd())}", file=log)
            sys.exit(1)
        finally:
            _record.reset(token)
            sys.stdout, sys.stderr = stdout, stderr
    if _OWN_PROCESS:
        stdout.flush()
        stderr.flush()
        os._exit(0)


def announce(warning: str) -> None:
    """Log a warning, and show it on the terminal of the run too."""
    logging.warning(warning)
    if _OWN_PROCESS:
        print(f"warning: {masked(warning)}", file=sys.__stderr__, flush=True)


def arguments(snakemake: Any) -> dict[str, Any]:
    """The parameters of the rule that its module takes: all except `code` and `module`; a digested text as the text."""
    return {
        name: "".join(value) if isinstance(value, DigestedText) else value
        for name, value in snakemake.params.items()
        if name not in ("code", "module")
    }


def job_record() -> dict[str, Any]:
    """Rule, parameters, key and library versions of the running job; empty outside of a job."""
    record = _record.get()
    return record | {"libraries": {name: version(name) for name in _LIBRARIES}} if record else {}


def _whereabouts(rule: str) -> str:
    """Rule, machine, Slurm job and visible GPUs: the first line of each log."""
    slurm_job = os.environ.get("SLURM_JOB_ID", "none")
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
    return f"rule {rule}, host {socket.gethostname()}, Slurm job {slurm_job}, CUDA_VISIBLE_DEVICES={gpus}"
