"""Installed Python packages that carry data."""

from importlib.util import find_spec
from pathlib import Path


def package_folder(package: str) -> Path | None:
    """The folder of an installed package, found without running it; None if it is not installed."""
    top, *inner = package.split(".")
    spec = find_spec(top)
    folders = [Path(place, *inner) for place in (spec and spec.submodule_search_locations) or ()]
    return next(filter(Path.is_dir, folders), None)
