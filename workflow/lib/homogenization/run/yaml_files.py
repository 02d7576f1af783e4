"""Files of a configuration, read as YAML or JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from homogenization.run.errors import HomogenizationError


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """It refuses a mapping that has a key twice: YAML takes the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if lines.setdefault(key.value if isinstance(key, yaml.ScalarNode) else "", line) != line:
                raise ValueError(
                    f"the key {key.value!r} stands in line {lines[key.value]} and in line {line}, and only the last "
                    "counts: rename or remove one"
                )
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path) -> Any:
    """What a YAML file in UTF-8 holds, or a JSON file, whose characters beyond U+FFFF YAML can't read.

    Raises:
        HomogenizationError: it can't be read, is no YAML, or a mapping has a key twice.
    """
    kind = Path(path).suffix[1:].upper()
    try:
        text = Path(path).read_text("utf-8")
        return json.loads(text) if kind == "JSON" else yaml.load(text, Loader=_Loader)
    except FileNotFoundError:
        raise HomogenizationError(
            f"{path}: there is no such file; relative paths start at the working directory, {Path.cwd()}"
        ) from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        where = " ".join(str(error).replace('in "<unicode string>", ', "in ").split())
        raise HomogenizationError(f"{path}: not readable as {kind} ({where})") from error


def read_arguments(arguments: Iterable[str] | None) -> dict[str, Any]:
    """The mappings, lists and nulls among arguments `key=value` of the command line, each value as YAML."""
    nested: dict[str, Any] = {}
    for key, text in (argument.partition("=")[::2] for argument in arguments or ()):
        try:
            value = yaml.load(text, Loader=_Loader)
        except yaml.YAMLError:  # a text to Snakemake, too
            continue
        if value is None or isinstance(value, (dict, list)):
            nested[key] = value
    return nested
