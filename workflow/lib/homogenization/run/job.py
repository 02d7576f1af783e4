"""The frame of every script of the workflow: log file, threads, and messages for the user."""

import logging
import os
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from threadpoolctl import threadpool_limits

from homogenization.run.errors import HomogenizationError
from homogenization.run.templates import Template


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of a script as a Snakemake job.

    Standard output, standard error and Python's logging go to the job's log file. Numerical libraries use the job's
    number of threads, whatever the number of cores: the order of sums, and so their rounding, depends on it. A
    `HomogenizationError` ends the job with only its message in the log; any other exception leaves its traceback there.
    """
    with (
        open(snakemake.log[0], "w", encoding="utf-8", buffering=1) as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        logging.basicConfig(stream=log, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
        logging.info(
            f"rule {snakemake.rule}, host {socket.gethostname()}, Slurm job {os.environ.get('SLURM_JOB_ID', 'none')}, "
            f"CUDA_VISIBLE_DEVICES={os.environ.get('CUDA_VISIBLE_DEVICES', 'unset')}"
        )
        try:
            with threadpool_limits(snakemake.threads):
                if torch := sys.modules.get("torch"):
                    torch.set_num_threads(snakemake.threads)
                yield
        except HomogenizationError as error:
            print(f"error: {error}")
            sys.exit(1)
        except Exception:
            traceback.print_exc()
            sys.exit(1)


def announce(warning: str) -> None:
    """Log a warning, and show it on the terminal of the run too."""
    logging.warning(warning)
    print(f"warning: {warning}", file=sys.__stderr__, flush=True)


def arguments(snakemake: Any) -> dict[str, Any]:
    """The parameters that the module takes: all but `code`, `module` and `made_with`; a template as its text."""
    return {
        name: "".join(value) if isinstance(value, Template) else value
        for name, value in snakemake.params.items()
        if name not in ("code", "module", "made_with")
    }
