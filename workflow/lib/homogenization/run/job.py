"""The frame of every script of the workflow: log file, threads, and messages for the user.

Scripts import it first: from here to the job, nothing is searched for garbage, which takes a quarter of the time that
the imports of torch and transformers take, and of the exit.
"""

import gc
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

gc.disable()


@contextmanager
def job(snakemake: Any) -> Iterator[None]:
    """Run the body of a script as a Snakemake job.

    All that is printed or logged goes to the job's log file. Numerical libraries use the job's number of threads, on
    which the order of sums, and so their rounding, depends. Of a `HomogenizationError`, the log has the message alone.
    """
    gc.freeze()  # what is imported stays
    gc.enable()
    with open(snakemake.log[0], "w", 1, "utf-8") as log, redirect_stdout(log), redirect_stderr(log):
        logging.basicConfig(stream=log, level=logging.INFO, format="%(levelname)s %(message)s", force=True)
        slurm, gpus = os.environ.get("SLURM_JOB_ID", "none"), os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
        logging.info(
            f"rule {snakemake.rule}, host {socket.gethostname()}, Slurm job {slurm}, CUDA_VISIBLE_DEVICES={gpus}"
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


def arguments(snakemake: Any) -> dict[str, Any]:
    """The parameters that a function of the library takes: all but `code`, `module` and `made_with_…`."""
    named = snakemake.params.items()
    return {k: v for k, v in named if k not in ("code", "module") and not k.startswith("made_with_")}
