"""Types of keys that hold paths, and checks that what they name can be read."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from homogenization.run.sections import refused

_WORKFLOW = Path(__file__).parents[4]
one_path = refused(lambda path: set(path) & set("{}\n"), "{!r}: a path has no braces (Snakemake's wildcards) or breaks")


def _expanded(path: str) -> str:
    """`path` with ~ and $VARIABLES replaced, so that one configuration serves several machines."""
    result = os.path.expandvars(os.path.expanduser(path))
    if unset := re.search(r"\$\{?(\w+)", result):
        raise ValueError(f"{path!r}: the environment variable {unset[1]!r} is not set; set it or write the path out")
    return one_path(result)


def _placed(path: str) -> str:
    """`path`, or the workflow's own file in `config/`, where the working directory has none of this name."""
    own = _WORKFLOW / path
    return str(own) if path.startswith("config/") and own.is_file() and not os.path.exists(path) else path


ExpandedPath = Annotated[str, AfterValidator(_expanded)]
InputPath = Annotated[ExpandedPath, AfterValidator(_placed)]


def readable(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A validator: what a value names can be read."""

    def check(value: Any) -> Any:
        if value is not None:
            read(value)
        return value

    return check
