"""A hash of what a script does: its syntax and that of the library modules it imports, without comments and docstrings.

Each rule carries it as a parameter. An edited formula reruns the rules that use it; a comment, a docstring, a touched
file or a fresh checkout reruns nothing. An edit in the package `run` reruns nothing either: `run` decides how a job
runs (its log, its messages, how it writes files), and no result depends on it.

What is kept of a file is noted in the user's cache under a digest of the file's content: parsing the library is half of
the start of Snakemake, which on a cluster starts three times for a job.
"""

import ast
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from homogenization.run.user_cache import user_cache

LIBRARY = Path(__file__).parents[1]
PACKAGE = LIBRARY.name
WITHOUT_EFFECT = "run"


def code_hash(script: Path, *modules: str, library: Path = LIBRARY) -> str:
    """A hash of a script and of every module of the library that it reaches.

    Args:
        script: file that runs.
        modules: names of modules that the script gets as parameters and imports, such as "figures.mauve".
        library: folder of the package.

    Returns:
        16 hexadecimal digits.

    Raises:
        FileNotFoundError: there is no such script or module.
        ValueError: an import is relative; the hash would miss its module.
    """
    digest = hashlib.blake2b(digest_size=8)
    for path in [script, *sorted(reached(script, *modules, library=library))]:
        digest.update(_read(path).meaning)
    return digest.hexdigest()


def reached(script: Path, *modules: str, library: Path = LIBRARY) -> set[Path]:
    """The files of the library that `code_hash` reads: `modules`, and all modules that they and the script import."""
    files = {library.joinpath(*module.split(".")).with_suffix(".py") for module in modules}
    waiting = [script, *files]
    while waiting:
        for module in _imported_modules(waiting.pop(), library) - files:
            files.add(module)
            waiting.append(module)
    return files


def imported_names(file: Path) -> frozenset[str]:
    """The dotted names in the import statements of a file, at any depth of its code."""
    return _read(file).names


@cache
def _imported_modules(path: Path, library: Path) -> frozenset[Path]:
    """Files of `library` that the file at `path` names in its import statements, at any depth of its code."""
    modules = set()
    for name in _read(path).names:
        first, *rest = name.split(".")
        if first == PACKAGE and rest[:1] != [WITHOUT_EFFECT]:
            # importing a module runs its parents too
            packages = (library.joinpath(*rest[:depth], "__init__.py") for depth in range(len(rest) + 1))
            modules.update(file for file in packages if file.is_file())
            if rest:
                modules.update(file for file in (library.joinpath(*rest).with_suffix(".py"),) if file.is_file())
    return frozenset(modules)


class _Source(NamedTuple):
    """What is kept of a file: dotted names in its imports, and its syntax without comments and docstrings."""

    names: frozenset[str]
    meaning: bytes


@cache
def _read(path: Path) -> _Source:
    content = path.read_bytes()
    note = _note_of(content)
    if note is not None and (noted := _noted(note)) is not None:
        return noted
    # the tree goes when this function returns: trees of all files take the garbage collector longer than parsing takes
    tree = ast.parse(content.decode("utf-8"), filename=str(path))
    source = _Source(frozenset(_imported_names(tree, path)), repr(_canonical(tree)).encode())
    if note is not None:
        _keep(note, source)
    return source


def _note_of(content: bytes) -> Path | None:
    """The note on a file of this content, which may not be there; None for a user without a home."""
    name = hashlib.blake2b(_reader() + content, digest_size=16).hexdigest()
    return folder / "code" / f"{name}.json" if (folder := user_cache()) else None


@cache
def _reader() -> bytes:
    """What a note depends on beside the file: the parser, and this module."""
    return sys.version.encode() + Path(__file__).read_bytes()


def _noted(note: Path) -> _Source | None:
    try:
        names, meaning = json.loads(note.read_text(encoding="utf-8"))
        return _Source(frozenset(names), meaning.encode())
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _keep(note: Path, source: _Source) -> None:
    with suppress(OSError):  # no place for it: the next process parses the file
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=note.parent, delete=False) as partial:
            json.dump([sorted(source.names), source.meaning.decode()], partial)
        os.replace(partial.name, note)


def _imported_names(tree: ast.Module, path: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from package import name`: the name may be a module or something inside the package
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level > 0:
            raise ValueError(f"{path}: relative import in line {node.lineno}; write it from {PACKAGE!r} on")


def _canonical(node: Any) -> Any:
    """The syntax tree as nested tuples: no positions, no docstrings, no empty fields (these differ between Pythons)."""
    if isinstance(node, ast.AST):
        fields = ((name, _canonical(value)) for name, value in ast.iter_fields(node) if name != "type_comment")
        return (type(node).__name__, *((name, value) for name, value in fields if value not in (None, ())))
    if isinstance(node, list):
        return tuple(_canonical(item) for item in node if not _is_docstring(item))
    # a constant's type matters: 1, 1.0 and True compare equal
    return node if node is None else (type(node).__name__, repr(node))


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
