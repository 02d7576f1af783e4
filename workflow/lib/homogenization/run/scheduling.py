"""How a run on this machine picks jobs: without a limit of jobs in a second."""

from typing import Any

_DEFAULT = (100, 1)  # jobs and seconds, if the user names no limit (--max-jobs-per-timespan)


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
