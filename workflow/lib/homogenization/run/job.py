"""The frame of every script of the workflow: log file, threads, job record, and messages for the user."""

import logging
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import Any

from threadpoolctl import threadpool_limits

from homogenization.run.errors import HomogenizationError

_LIBRARIES = ("numpy", "polars", "scikit-learn", "scipy", "torch", "transformers")
_record: ContextVar[dict[str, Any] | None] = ContextVar("record", default=None)


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of a script as a Snakemake job.

    Standard output, standard error and Python's logging go to the job's log file. Numerical libraries use the job's
    number of threads, whatever the number of cores: the order of sums, and so their rounding, depends on it. Tables
    and stores that the job writes name its rule and parameters. A `HomogenizationError` ends the job with only its
    message in the log; any other exception leaves its traceback there.
    """
    with open(snakemake.log[0], "w", buffering=1, encoding="utf-8") as log:
        stdout, stderr = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = log
        logging.basicConfig(stream=log, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
        logging.info(_whereabouts(snakemake.rule))
        token = _record.set(_described(snakemake.rule, dict(snakemake.params.items())))
        try:
            with threadpool_limits(snakemake.threads):
                if torch := sys.modules.get("torch"):
                    torch.set_num_threads(snakemake.threads)
                yield
        except HomogenizationError as error:
            print(f"error: {error}", file=log)
            sys.exit(1)
        except Exception:
            traceback.print_exc(file=log)
            sys.exit(1)
        finally:
            _record.reset(token)
            sys.stdout, sys.stderr = stdout, stderr


def arguments(snakemake: Any) -> dict[str, Any]:
    """The parameters of the rule that its module takes: all except `code` and `module`."""
    return {name: value for name, value in snakemake.params.items() if name not in ("code", "module")}


def job_record() -> dict[str, Any]:
    """Rule, parameters and library versions of the running job; empty outside of a job."""
    return dict(_record.get() or {})


def _described(rule: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"rule": rule, "params": params, "libraries": {name: version(name) for name in _LIBRARIES}}


def _whereabouts(rule: str) -> str:
    """Rule, machine, Slurm job and visible GPUs: the first line of each log."""
    slurm_job = os.environ.get("SLURM_JOB_ID", "none")
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
    return f"rule {rule}, host {socket.gethostname()}, Slurm job {slurm_job}, CUDA_VISIBLE_DEVICES={gpus}"
