"""Imports of the library run down, package to package, and never in a circle: import-linter names the one that does."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

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


def test_imports_that_run_up_and_a_circle_are_named(tmp_path):
    """In a copy of the library in which modules import others too."""
    upward = {
        "run.files": "metrics.registry",
        "corpus.sentences": "variants.phrases",
        "states.store": "measures.reviews",
        "variants.phrases": "states.store",
        "tables.mauve": "config.study",
    }
    shutil.copytree(LIBRARY, tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    for module, imported in (upward | {"metrics.registry": "metrics.spectral"}).items():
        with open(tmp_path / "lib/homogenization" / (module.replace(".", "/") + ".py"), "a") as file:
            file.write(f"\n\nimport homogenization.{imported}\n")
    done = lint_imports(tmp_path / "lib")
    assert done.returncode != 0, done.stdout
    for module, imported in upward.items():
        assert f"homogenization.{module} -> homogenization.{imported}" in done.stdout
    assert "No cycles are allowed in homogenization.metrics." in done.stdout


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
