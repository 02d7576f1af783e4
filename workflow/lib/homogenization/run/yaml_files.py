"""YAML in files and on the command line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from homogenization.run.errors import HomogenizationError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: str | Path) -> Any:
    """What a YAML file in UTF-8 holds, or a JSON file (.json).

    Raises:
        HomogenizationError: it can't be read, or is no YAML or JSON.
    """
    try:
        text = Path(path).read_text("utf-8")
        return json.loads(text) if Path(path).suffix == ".json" else yaml.load(text, Loader=_LOADER)
    except FileNotFoundError:
        raise HomogenizationError(
            f"{path}: there is no such file; relative paths start at the working directory, {Path.cwd()}"
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise HomogenizationError(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from error


def read_arguments(arguments: Iterable[str] | None) -> dict[str, Any]:
    """The mappings, lists and nulls among arguments `key=value` of the command line, each value as YAML."""
    nested: dict[str, Any] = {}
    for key, text in (argument.partition("=")[::2] for argument in arguments or ()):
        try:
            value = yaml.load(text, Loader=_LOADER)
        except yaml.YAMLError:  # a text to Snakemake, too
            continue
        if value is None or isinstance(value, (dict, list)):
            nested[key] = value
    return nested
