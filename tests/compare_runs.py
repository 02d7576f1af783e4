"""What two runs left, compared file for file; and whether each file is whole. Times and memory are left out."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import zarr
from safetensors import safe_open

from homogenization.run.parquet import read_table
from homogenization.states.store import open_store

# how long something took and what it took: never the same twice
MEASURED = ("seconds_total",)
# Matplotlib names a clip path by all bits of its place, of which the layout solver leaves the last to chance
CLIP_PATH = re.compile(r"\bp[0-9a-f]{10}\b")


def hidden(results: Path) -> list[Path]:
    """Everything below `results` that has a hidden name, or lies in a folder that has."""
    return [path for path in results.rglob("*") if any(part[0] == "." for part in path.relative_to(results).parts)]


def result_files(results: Path) -> list[Path]:
    """All finished files of a run; without logs and hidden files."""
    visible = {path for path in results.rglob("*") if path.is_file()} - {*hidden(results)}
    return sorted(path for path in visible if path.relative_to(results).parts[0] != "logs")


def unreadable(results: Path, known: dict[Path, tuple[int, int]]) -> list[str]:
    """Files under their final name that are not whole; `known` remembers those that were looked at."""
    broken = []
    for path in result_files(results):
        state = (path.stat().st_mtime_ns, path.stat().st_ino)
        if known.get(path) == state:
            continue
        try:
            read_whole(path)
            known[path] = state
        except Exception as error:  # each format has errors of its own
            broken.append(f"{path.relative_to(results)}: {error}")
    return broken


def read_whole(path: Path) -> object:
    """The contents of a file of results, all of it, in a form that can be compared."""
    match path.suffix:
        case ".parquet":
            table = read_table(path)
            return table.drop(MEASURED, strict=False)
        case ".zip":
            with open_store(path) as store:
                members = store._group.members(max_depth=None)
                return {name: array[...] for name, array in members if isinstance(array, zarr.Array)}, store.attributes
        case ".safetensors":
            with safe_open(path, framework="np") as tensors:
                return {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
        case ".json":
            record = json.loads(path.read_text())
            return {key: value for key, value in record.items() if key not in MEASURED}
        case ".svg":
            drawing = ElementTree.tostring(ElementTree.parse(path).getroot(), encoding="unicode")
            return CLIP_PATH.sub("clip path", drawing)
        case ".html":
            text = path.read_text()
            assert text.rstrip().endswith("</html>"), "cut short"
            return len(text) > 100_000  # it shows when it was made
    return path.read_bytes()


def differences(reference: Path, results: Path) -> list[str]:
    """In what the results of two runs differ, file for file and value for value; times and memory aside."""
    files, other = ([path.relative_to(root) for path in result_files(root)] for root in (reference, results))
    missing = [f"{name}: only in one of both" for name in set(files) ^ set(other)]
    pairs = ((name, read_whole(reference / name), read_whole(results / name)) for name in files if name in other)
    return missing + [f"{name}: other values" for name, a, b in pairs if not _equal(a, b)]


def _equal(a: object, b: object) -> bool:
    """Equality to the bit of tables, arrays, and what they are nested in."""
    match a, b:
        case pl.DataFrame(), pl.DataFrame():
            return a.schema == b.schema and a.equals(b)
        case np.ndarray(), np.ndarray():
            return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        case dict(), dict():
            return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
        case tuple(), tuple():
            return all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return a == b
