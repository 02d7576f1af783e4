"""Installed Python packages that carry data."""

from importlib.util import find_spec
from pathlib import Path


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, found without running it or a package around a dotted name.

    None if the outermost package is not installed, or is a single module. The folder of an inner one may not be there.
    """
    top, *inner = package.split(".")
    spec = find_spec(top)
    places = spec and spec.submodule_search_locations
    return Path(next(iter(places)), *inner) if places else None
