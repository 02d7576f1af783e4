"""What the columns of a table mean: the comments `#:` beside them in the schemas of the library."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from homogenization import claims, statistics, tables

_LIBRARY = Path(__file__).parents[1]


def schema_of(name: str) -> tuple[str, dict[str, Any]] | None:
    """Name and content of the schema of a table by the name of its file, with or without suffix; None without one."""
    for module in _modules():
        schema = getattr(module, "SCHEMAS", {}).get(name.partition(".")[0])
        if schema is not None:
            return next(known for known, value in vars(module).items() if value is schema), schema
    return None


@cache
def _modules() -> list[ModuleType]:
    """The modules that make tables."""
    packages = (tables, statistics, claims)
    names = (f"{package.__name__}.{found.name}" for package in packages for found in iter_modules(package.__path__))
    return [import_module(name) for name in names]


@cache
def meanings(schema: str) -> dict[str, str]:
    """Column -> meaning, of a schema by its name in the library, and of the columns that many tables share."""
    shared = dict(_comments("COLUMNS"))
    if any("condition_columns(" in line for line in _lines(schema)):
        shared |= dict(_comments("CONDITION_COLUMNS"))
    return shared | dict(_comments(schema))


def _comments(schema: str) -> Iterator[tuple[str, str]]:
    """The columns with a comment behind them, or on the lines above them."""
    above: list[str] = []
    for line in _lines(schema):
        entry, _, behind = line.partition("#:")
        if part := re.search(r"\*\*([A-Z_]+),", entry):
            yield from _comments(part[1])
        for column in re.findall(r'"(\w+)"', entry):
            for end in ("", "_low", "_high") if "with_ends" in entry else ("",):
                if meaning := behind or " ".join(above):
                    yield f"{column}{end}", re.sub(r"\[([^]]+)]\([^)]+\)", r"\1", meaning.strip())
        above = [] if entry.strip() else [*above, behind.strip()]


def _lines(schema: str) -> list[str]:
    """The lines of a schema, between its braces."""
    for file in _LIBRARY.rglob("*.py"):
        if found := re.search(rf"^{schema} = {{\n(.*?)^}}", file.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            return found[1].splitlines()
    return []
