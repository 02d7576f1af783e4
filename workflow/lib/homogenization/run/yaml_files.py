"""YAML files in which each key stands once: of a key that stands twice, a YAML reader takes the last without a word."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from homogenization.run.errors import HomogenizationError
from homogenization.run.regular_files import open_regular

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: str | Path) -> Any:
    """What a YAML file in UTF-8 holds.

    Raises:
        HomogenizationError: it can't be read, is no YAML, or a mapping has a key twice.
    """
    try:
        with open_regular(path) as file:
            text = file.read().decode("utf-8")
        node = yaml.compose(text, Loader=_LOADER)
        content = yaml.load(text, Loader=_LOADER)
    except FileNotFoundError:
        raise HomogenizationError(
            f"{path}: there is no such file; relative paths start at the working directory, {Path.cwd()}"
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise HomogenizationError(f"{path}: not readable as YAML ({' '.join(str(error).split())})") from error
    repeated = [f"{key!r} in line {line}, and before in line {first}" for key, first, line in _repeated(node)]
    if repeated:
        raise HomogenizationError(
            f"{path}: a mapping has a key twice: {'; '.join(repeated)}. Only the last counts; rename or remove one."
        )
    return content


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


def _repeated(node: yaml.Node | None) -> Iterator[tuple[str, int, int]]:
    """Keys that a mapping in `node` has twice, with the lines, from 1, of the first and of the next."""
    if isinstance(node, yaml.SequenceNode):
        for entry in node.value:
            yield from _repeated(entry)
    if isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value in lines:
                yield key.value, lines[key.value], line
            elif isinstance(key, yaml.ScalarNode):
                lines[key.value] = line
            yield from _repeated(value)
