"""Results in a storage of objects: what the scripts of jobs inherit of it from the Snakemake that starts them.

Every parse of the Snakefile imports this module.
"""

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

_ARGUMENTS = "HOMOGENIZATION_STORAGE_ARGUMENTS"
_FOLDER = "HOMOGENIZATION_STORAGE_FOLDER"


def tell_scripts(arguments: Sequence[str], folder: str | Path) -> None:
    """Let the scripts that this process starts know the storage.

    Args:
        arguments: those of Snakemake that reach it, as a shell takes them.
        folder: where Snakemake puts copies of objects.
    """
    os.environ |= {_ARGUMENTS: " ".join(arguments), _FOLDER: os.path.abspath(folder)}


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
