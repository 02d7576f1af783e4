"""Editing what a rule does changes its hash; editing anything else does not."""

import os
from pathlib import Path

import pytest

from homogenization.run import code_hash as module
from homogenization.run.code_hash import code_hash
from homogenization.run.user_cache import CACHE_VARIABLE

SCRIPT = '"""A script."""\nfrom homogenization.formula import area\n\n\ndef main(r):\n    return area(r)\n'
FORMULA = '''"""A module."""
from homogenization import constants


def area(r):
    """Area."""
    return constants.PI * r**2
'''


@pytest.fixture
def tree(tmp_path):
    """A script, a library whose module `formula` it imports, `constants` behind that, and one it has no use for."""
    library = tmp_path / "homogenization"
    library.mkdir()
    (library / "__init__.py").write_text("")
    (library / "formula.py").write_text(FORMULA)
    (library / "constants.py").write_text("PI = 3\n")
    (library / "unrelated.py").write_text("X = 1\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def hash_of(tree: Path, *modules: str) -> str:
    for cached in (module._read, module._imported_modules):
        cached.cache_clear()
    return code_hash(tree / "script.py", *modules, library=tree / "homogenization")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def add_import(tree: Path, module: str) -> None:
    edit(tree / "homogenization/formula.py", "from homogenization", f"from {module} import X\nfrom homogenization")


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("script.py", "area(r)", "area(2 * r)"),
        ("homogenization/formula.py", "r**2", "r**3"),
        ("homogenization/constants.py", "PI = 3", "PI = 4"),
        # equal to Python, not to a computation
        ("homogenization/constants.py", "PI = 3", "PI = 3.0"),
        ("homogenization/constants.py", "PI = 3", "PI = True"),
        ("homogenization/__init__.py", "", "x = 1\n"),
    ],
)
def test_a_changed_formula_changes_the_hash(tree, file, old, new):
    before = hash_of(tree)
    edit(tree / file, old, new)
    assert hash_of(tree) != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("script.py", "def main", "# why\ndef main"),
        ("script.py", '"""A script."""', '"""Another word."""'),
        ("homogenization/formula.py", '    """Area."""\n', ""),
        ("homogenization/formula.py", "constants.PI * r**2", "(constants.PI *\n        r**2)"),
        ("homogenization/unrelated.py", "X = 1", "X = 2"),
    ],
)
def test_comments_docstrings_layout_and_unused_modules_do_not(tree, file, old, new):
    before = hash_of(tree)
    edit(tree / file, old, new)
    assert hash_of(tree) == before


def test_touching_and_moving_change_nothing(tree, tmp_path):
    before = hash_of(tree)
    for path in tree.rglob("*.py"):
        os.utime(path, (1, 1))
    assert hash_of(tree) == before
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("homogenization", "script.py"):
        (tree / name).rename(moved / name)
    assert hash_of(moved) == before


def test_an_import_inside_a_function_counts(tree):
    edit(tree / "script.py", "return area(r)", "from homogenization.unrelated import X\n    return area(r) * X")
    before = hash_of(tree)
    edit(tree / "homogenization/unrelated.py", "X = 1", "X = 2")
    assert hash_of(tree) != before


def test_a_relative_import_is_refused_because_it_would_be_missed(tree):
    edit(tree / "homogenization/formula.py", "from homogenization import constants", "from . import constants")
    with pytest.raises(ValueError, match="relative import"):
        hash_of(tree)


def test_how_a_job_runs_is_not_what_it_computes(tree):
    (tree / "homogenization/run").mkdir()
    for name in ("__init__", "errors"):
        (tree / f"homogenization/run/{name}.py").write_text("X = 1\n")
    add_import(tree, "homogenization.run.errors")
    before = hash_of(tree)
    for name in ("__init__", "errors"):
        edit(tree / f"homogenization/run/{name}.py", "X = 1", "from homogenization.unrelated import X")
    assert hash_of(tree) == before


def test_a_package_counts_with_each_of_its_modules(tree):
    (tree / "homogenization/shapes/round").mkdir(parents=True)
    for folder in ("shapes", "shapes/round"):
        (tree / f"homogenization/{folder}/__init__.py").write_text("")
    (tree / "homogenization/shapes/round/circle.py").write_text("X = 1\n")
    add_import(tree, "homogenization.shapes.round.circle")
    before = hash_of(tree)
    (tree / "homogenization/shapes/__init__.py").write_text("X = 1\n")
    assert hash_of(tree) != before


def test_a_module_that_is_named_by_a_parameter_counts(tree):
    before = hash_of(tree, "unrelated")
    assert before != hash_of(tree)
    edit(tree / "homogenization/unrelated.py", "X = 1", "X = 2")
    assert hash_of(tree, "unrelated") != before
    with pytest.raises(FileNotFoundError):
        hash_of(tree, "missing")


@pytest.fixture
def parsed(monkeypatch):
    """The files that are parsed."""
    read, parse = [], module.ast.parse
    monkeypatch.setattr(module.ast, "parse", lambda text, filename: read.append(Path(filename).name) or parse(text))
    return read


def test_a_file_is_parsed_once_whatever_folder_it_is_in_and_again_when_it_is_edited(
    tree, tmp_path, monkeypatch, parsed
):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    before = hash_of(tree)
    assert sorted(parsed) == ["__init__.py", "constants.py", "formula.py", "script.py"]
    parsed.clear()
    for name in ("homogenization", "script.py"):
        (tree / name).rename(tree / "cache" / name)
    assert hash_of(tree / "cache") == before
    assert parsed == []
    edit(tree / "cache/homogenization/formula.py", "r**2", "r**3")
    assert hash_of(tree / "cache") != before
    assert parsed == ["formula.py"]


@pytest.mark.parametrize("damaged", ["", "[[]]", "[1, 2]", "{}", "\xff"])
def test_a_damaged_note_is_written_again_and_a_folder_that_takes_none_is_no_error(
    tree, tmp_path, monkeypatch, parsed, damaged
):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    before = hash_of(tree)
    for note in (tmp_path / "cache/code").iterdir():
        note.write_text(damaged, encoding="latin-1")
    parsed.clear()
    assert [hash_of(tree), hash_of(tree)] == [before, before]
    assert len(parsed) == 4
    monkeypatch.setenv(CACHE_VARIABLE, "/dev/null/none")
    assert hash_of(tree) == before
    assert len(parsed) == 8
