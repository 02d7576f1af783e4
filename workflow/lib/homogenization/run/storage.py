"""Results in a storage of objects, and jobs on machines that share no other files with the one that sends them.

Such a job gets what the sending process read of the files that it lacks as an argument of the command line. Scripts
inherit from their environment how Snakemake reaches the storage.
"""

import json
import os
import shlex
from base64 import b64decode, b64encode
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

_ARGUMENTS = "HOMOGENIZATION_STORAGE_ARGUMENTS"
_FOLDER = "HOMOGENIZATION_STORAGE_FOLDER"


def is_in_storage(workflow: Any) -> bool:
    """Whether the results of this run, as Snakemake's object `workflow` has it, lie in a storage."""
    return workflow.storage_settings.default_storage_provider is not None


def is_apart(workflow: Any) -> bool:
    """Whether jobs run on machines that share no files with the one that sends them."""
    return "INPUT_OUTPUT" not in {usage.name for usage in workflow.storage_settings.shared_fs_usage}


def read_beforehand(workflow: Any, config: MutableMapping[str, Any], module: str) -> Mapping[str, Any] | None:
    """What the sending process told this job; nothing in the sending process itself, None where files are shared.

    Args:
        workflow: Snakemake's object.
        config: its configuration, which loses the argument.
        module: name of the module, or empty.
    """
    config.pop(_key(module), None)
    told = workflow.config_settings.config.get(_key(module))
    return json.loads(b64decode(told)) if told else {} if is_apart(workflow) else None


def tell_jobs(workflow: Any, module: str, read: Mapping[str, Any], texts: Sequence[str]) -> None:
    """Let jobs know what was `read`, and send the files `texts` along with the sources of the workflow."""
    told = b64encode(json.dumps(read).encode()).decode()
    workflow.config_settings.config_args = [*(workflow.config_settings.config_args or ()), f"{_key(module)}={told}"]
    workflow.configfiles.extend(map(Path, texts))


def tell_scripts(workflow: Any) -> None:
    """Let scripts that this process starts know how to reach the storage, and where Snakemake copies objects to."""
    factory = workflow.spawned_job_args_factory
    arguments = [factory.get_default_storage_provider_args(), *factory.get_storage_provider_args()]
    arguments += ["--shared-fs-usage none"] * is_apart(workflow)
    folder = os.path.abspath(workflow.storage_settings.local_storage_prefix)
    os.environ.update({_ARGUMENTS: " ".join(arguments), _FOLDER: folder, **factory.get_storage_provider_envvars()})


def arguments_of_storage() -> list[str]:
    """Arguments with which Snakemake reaches the storage; none where files lie in folders."""
    return shlex.split(os.environ.get(_ARGUMENTS, ""))


def object_of(path: str | Path) -> str | None:
    """The object that the file at `path` is a copy of, `provider://key`; None for a file that is no copy."""
    copies, place = os.environ.get(_FOLDER), Path(path).absolute()
    if not copies or not place.is_relative_to(copies):
        return None
    provider, *key = place.relative_to(copies).parts
    return f"{provider}://{'/'.join(key)}"


def _key(module: str) -> str:
    return f"beforehand_{module or 'study'}"
