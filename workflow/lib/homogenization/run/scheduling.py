"""How a run on this machine picks jobs: without a limit of jobs in a second, with one of the bytes in stores."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

_DEFAULT = (100, 1)  # jobs and seconds, if the user names no limit (--max-jobs-per-timespan)
STORES = "store_mb"  # the resource of the rules that make stores


def lift_rate_limit(workflow: Any) -> None:
    """Lift the default limit of jobs per second from a run on this machine; called when the run starts.

    With a limit, Snakemake looks at all ready jobs again a second after each look. Each job that ends adds a look of
    its own, so a run of some hundred jobs looks at them a hundred times a second, and a processor is busy with that.
    The limit is for schedulers of clusters, where it stays, as does a limit that the user names.

    Args:
        workflow: Snakemake's own object, which every Snakefile finds under this name.
    """
    scheduler = workflow.scheduler
    limit = scheduler.job_rate_limiter
    if workflow.local_exec and limit is not None and (limit.max_jobs, limit.timespan) == _DEFAULT:
        scheduler.job_rate_limiter = None


def count_lying_stores(workflow: Any) -> None:
    """Let stores that wait for their measures count against the resource `store_mb`; called when the run starts.

    Snakemake counts a resource while a job runs. A store is made in minutes and measured in an hour: with nothing else,
    all stores of a study lie there at once. Here, what temporary stores take on the disk is withheld from `store_mb`
    whenever jobs are picked. Where nothing else runs that could free a store, the next one is made all the same.

    Args:
        workflow: Snakemake's own object. Without a limit (`--resources store_mb=...`) nothing changes.
    """
    scheduler = workflow.scheduler
    if STORES not in scheduler.global_resources:
        return
    pick = scheduler.job_selector
    jobs = [job for job in workflow.dag.needrun_jobs() if STORES in job.rule.resources]
    stores = [Path(file) for job in jobs for file in job.temp_output]

    def picked(ready: Iterable[Any]) -> Any:
        free = scheduler.resources[STORES]
        withheld = min(free, sum(map(_megabytes, stores)))
        scheduler.resources[STORES] -= withheld
        try:
            chosen = pick(ready)
        finally:
            scheduler.resources[STORES] += withheld
        return chosen or (chosen if scheduler.running else pick(ready))

    scheduler.job_selector = picked


def _megabytes(file: Path) -> int:
    """Size of a file, rounded up; 0 where there is none."""
    try:
        return -(-file.stat().st_size // 10**6)
    except FileNotFoundError:
        return 0
