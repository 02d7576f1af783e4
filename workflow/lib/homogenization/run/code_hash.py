"""A hash of what a script does: its syntax and that of the library modules it imports, without comments and docstrings.

Each rule carries it as a parameter. An edited formula reruns the rules that use it; a comment, a docstring, a touched
file or a fresh checkout reruns nothing. An edit in the package `run` reruns nothing either: `run` decides how a job
runs (its log, its messages, how it writes files), and no result depends on it.

What is kept of a file is noted in the user's cache under a digest of the file's content: parsing the library is half of
the start of Snakemake, which on a cluster starts three times for a job.
"""

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from homogenization.run.user_cache import noted

LIBRARY = Path(__file__).parents[1]
PACKAGE = LIBRARY.name
WITHOUT_EFFECT = "run"


def code_hash(script: Path, *modules: str, library: Path = LIBRARY) -> str:
    """A hash of a script and of every module of the library that it reaches.

    Args:
        script: file that runs.
        modules: names of modules that the script gets as parameters and imports, such as "figures.lines".
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

    def parsed() -> tuple[list[str], str]:
        # the tree goes when this function returns: trees of all files take the garbage collector longer than parsing
        tree = ast.parse(content.decode("utf-8"), filename=str(path))
        return sorted(set(_imported_names(tree, path))), repr(_canonical(tree))

    names, meaning = noted("code", _reader() + content, parsed)
    return _Source(frozenset(names), meaning.encode())


@cache
def _reader() -> bytes:
    """What a note depends on besides the file: the parser, and this module."""
    return sys.version.encode() + Path(__file__).read_bytes()


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
