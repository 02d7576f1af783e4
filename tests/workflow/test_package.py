"""The package: the library imports from a wheel alone, and every dependency is pinned."""

import os
import subprocess
import sys
import tomllib

from packaging.requirements import Requirement

from conftest import ROOT, copy_workflow
from loaded_rules import ENVIRONMENTS, pins_of


def test_a_wheel_has_the_library_and_opens_results(tmp_path):
    """It is built of a copy, since setuptools builds in the folder of the project."""
    copy_workflow(tmp_path / "project")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / "project" / name).write_text((ROOT / name).read_text("utf-8"), encoding="utf-8")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run([*install, "--target", str(tmp_path / "installed"), str(tmp_path / "project")], check=True)
    for kind in ("py", "jinja"):
        packed = tmp_path.glob(f"installed/homogenization/**/*.{kind}")
        there = {path.relative_to(ROOT / "workflow/lib") for path in ROOT.glob(f"workflow/lib/**/*.{kind}")}
        assert {path.relative_to(tmp_path / "installed") for path in packed} == there
    script = "import homogenization; from homogenization import open_results; print(homogenization.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    printed = subprocess.check_output([sys.executable, "-c", script], cwd=tmp_path, env=environment, text=True)
    assert printed.strip() == str(tmp_path / "installed/homogenization/__init__.py")


def test_every_dependency_of_the_package_is_pinned_for_the_workflow_and_every_pin_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    lines = (ROOT / "envs/requirements.txt").read_text().splitlines()
    pinned = [line for line in lines if "==" in line]
    for file in ENVIRONMENTS:
        assert set(pins_of(file)) <= set(pinned), file
    pins = dict(line.split("==") for line in pinned)
    assert "-e ." in lines
    assert {Requirement(line).name for line in wanted} == pins.keys()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name]), requirement
