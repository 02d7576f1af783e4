# Results in a storage of objects; what jobs are told and given that run on machines without the files of this one.
from homogenization.run.storage import is_apart, is_in_storage, tell_jobs, tell_scripts

IN_STORAGE = is_in_storage(workflow)

if IN_STORAGE:
    if Path(STUDY.results).is_absolute() or STUDY.results.startswith(".."):
        raise WorkflowError(
            f"{files}: results: {STUDY.results!r} leads out of the storage; name a folder below "
            "--default-storage-prefix"
        )
    tell_scripts(workflow)

if is_apart(workflow) and workflow.is_main_process:
    logger.warning("Jobs that read texts, folders of models or GGUF files of this machine run on it; others do not.")
    tell_jobs(workflow, __name__, STUDY.read_beforehand, STUDY.texts_read)

# files in which rows of an earlier run stay; in a storage they are made anew, as Snakemake does not fetch its outputs
grown = str if IN_STORAGE else update
