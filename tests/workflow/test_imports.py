"""Imports of the library run down, package to package, and never in a circle: import-linter names the one that does."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import ROOT

LIBRARY = ROOT / "workflow/lib"


def lint_imports(folder: Path) -> subprocess.CompletedProcess:
    """Run import-linter on the library in `folder` with the contracts of pyproject.toml."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--config", ROOT / "pyproject.toml"],
        env={"PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def test_imports_run_down():
    done = lint_imports(LIBRARY)
    assert done.returncode == 0, done.stdout + done.stderr


def lint_with_import(folder: Path, module: str, imported: str) -> str:
    """What import-linter prints about a copy of the library in which a module imports another one too."""
    shutil.copytree(LIBRARY, folder / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "lib/homogenization" / (module.replace(".", "/") + ".py")
    path.write_text(f"{path.read_text()}\n\nimport homogenization.{imported}\n")
    done = lint_imports(folder / "lib")
    assert done.returncode != 0, done.stdout
    return done.stdout


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("run.files", "metrics.registry"),
        ("corpus.sentences", "variants.phrases"),
        ("states.store", "measures.reviews"),
        ("variants.phrases", "states.store"),
        ("tables.mauve", "config.study"),
    ],
)
def test_an_import_that_runs_up_is_named(tmp_path, module, imported):
    assert f"homogenization.{module} -> homogenization.{imported}" in lint_with_import(tmp_path, module, imported)


def test_a_circle_in_a_package_is_named(tmp_path):
    printed = lint_with_import(tmp_path, "metrics.registry", "metrics.spectral")
    assert "No cycles are allowed in homogenization.metrics." in printed


def test_every_package_has_its_layer():
    (contract,) = (
        contract
        for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if contract["id"] == "layers"
    )
    layers = {package.strip() for layer in contract["layers"] for package in layer.split("|")}
    assert layers == {path.parent.name for path in LIBRARY.glob("homogenization/*/__init__.py")}


def test_packages_are_empty():
    for path in LIBRARY.glob("homogenization/*/__init__.py"):
        assert path.read_text() == "", path
