"""The schemas of tables, by the names of their files."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from homogenization import claims, statistics, tables


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """By the name of a table, without suffix, the types of its columns."""
    packages = (tables, statistics, claims)
    names = [f"{package.__name__}.{found.name}" for package in packages for found in iter_modules(package.__path__)]
    modules = map(import_module, names)
    return {name: schema for module in modules for name, schema in getattr(module, "SCHEMAS", {}).items()}


def schema_of(file: str) -> dict[str, Any]:
    """The types of the columns of a table, by the name of its file."""
    return schemas()[file.partition(".")[0]]
