"""What every script of the workflow shares: its log file, and errors that speak to the user."""

import logging
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import describe_job


@contextmanager
def logged(snakemake: Any) -> Iterator[None]:
    """Send standard output, standard error and Python's logging of a job to its log file, and note what the job is.

    A `HomogenizationError` ends the job with its message alone; anything else keeps its traceback in the log.
    """
    with open(snakemake.log[0], "w", buffering=1, encoding="utf-8") as log:
        stdout, stderr = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = log
        logging.basicConfig(stream=log, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
        logging.info(_whereabouts(snakemake.rule))
        describe_job(snakemake.rule, dict(snakemake.params.items()))
        try:
            yield
        except HomogenizationError as error:
            print(f"error: {error}", file=log)
            sys.exit(1)
        except Exception:
            traceback.print_exc(file=log)
            sys.exit(1)
        finally:
            sys.stdout, sys.stderr = stdout, stderr


def _whereabouts(rule: str) -> str:
    """Rule, machine, Slurm job and visible GPUs: the first line of each log."""
    slurm_job = os.environ.get("SLURM_JOB_ID", "none")
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
    return f"rule {rule}, host {socket.gethostname()}, Slurm job {slurm_job}, CUDA_VISIBLE_DEVICES={gpus}"
