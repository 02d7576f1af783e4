"""Files that were made by something else than is asked for, and that Snakemake takes for current.

Snakemake compares the parameters of a job with its own record of them. It drops the record when the job fails, and has
none of results that were moved; and the parameters of a job do not hold those of the jobs above it. So each file says
itself what it was made by (`run.made_by`). That is compared here with what is asked, along the whole chain.
"""

from collections.abc import Iterable, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from homogenization.names.files import ORIGIN_FILE
from homogenization.run.made_by import PLACES, file_key, key_of, marked_key, recorded_key

_SHOWN = 5  # files in a message


def remake_outdated(workflow: Any, config: MutableMapping[str, Any]) -> None:
    """Let a run make outdated files again, or tell them where it does not rerun for parameters (--rerun-triggers).

    Args:
        workflow: Snakemake's own object, which every Snakefile finds under this name.
        config: its configuration; under `outdated` it gets all files that would be made again, for a report.
    """
    build = workflow._build_dag

    def build_and_compare() -> None:
        build()
        dag = workflow.dag
        if files := outdated_files(dag):
            reruns = "PARAMS" in {trigger.name for trigger in workflow.rerun_triggers}
            logger.warning(
                f"{_named(files)}: not made by what this run asks for"
                + (
                    ", of which Snakemake has no record (a job failed after an edit, or results were moved without "
                    ".snakemake). Made again."
                    if reruns
                    else ". Not made again: --rerun-triggers leaves out params."
                )
            )
            if reruns:
                dag.forcefiles.update(files)
                workflow.async_run(dag.update_needrun())
        waiting = (file for job in dag.needrun_jobs() for file in job.output if Path(file).exists())
        config["outdated"] = sorted({*files, *map(str, waiting)})

    workflow._build_dag = build_and_compare


def outdated_files(dag: Any) -> list[str]:
    """The files of jobs that are not to run, and whose files say that something else made them.

    Args:
        dag: Snakemake's graph of jobs, with its own decision on which of them run.
    """
    files: list[str] = []
    asked: dict[str, str | None] = {}  # key of each file that a job makes; None where it can't be known
    run = set()
    key_of_file = cache(file_key)  # a model's files are read by many jobs
    for job in (job for level in dag.toposorted() for job in level):
        if job.params.get("code") is None:  # nothing that this workflow's scripts make
            continue
        above = dag.dependencies[job]
        made = {file for of_job in above.values() for file in of_job}
        read = [asked.get(file) if file in made else key_of_file(file) for file in job.input]
        key = None if None in read else key_of(dict(job.params.items()), read)
        there = {file: recorded_key(file) for file in job.output if Path(file).exists()}
        if dag.needrun(job) or not run.isdisjoint(above):
            run.add(job)
        elif there and not _fits(key, there.values(), job, dag):
            run.add(job)
            files += map(str, job.output)
        holds_keys = any(Path(file).name == ORIGIN_FILE for file in job.output)
        for file in job.output:
            if file in there:
                asked[file] = there[file] or file_key(file)
            else:
                asked[file] = key if holds_keys or Path(file).suffix in PLACES else None
    return sorted(files)


def _fits(key: str | None, recorded: Iterable[str | None], job: Any, dag: Any) -> bool:
    """Whether the files of a job say that `key` made them; where they do not say what did, whether Snakemake knows."""
    found = {*recorded, marked_key(job.log[0])} - {None} if None in recorded else {*recorded}
    if key is not None and found:
        return found == {key}
    return all(dag.workflow.persistence.has_metadata(of_job) for of_job in [job, *dag.dependencies[job]])


def _named(files: list[str]) -> str:
    return ", ".join(files[:_SHOWN]) + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")
