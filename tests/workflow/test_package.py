"""The package: the names of docs/library.md work from a wheel alone, and every dependency is pinned."""

import os
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement

from conftest import ROOT, copy_workflow
from homogenization.reading.citation import VERSION
from pages import blocks

EXAMPLES = blocks("python", "library.md")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a copy, since setuptools builds in the folder of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_workflow(folder / "project")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (folder / "project" / name).write_text((ROOT / name).read_text("utf-8"), encoding="utf-8")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(folder / "project")], check=True)
    (built,) = folder.glob(f"*-{VERSION}-*.whl")
    return built


@pytest.fixture(scope="module")
def from_wheel(wheel, tmp_path_factory):
    """Runs a script with the library of the wheel alone, in a checkout of something else; the lines that it prints."""
    folder = tmp_path_factory.mktemp("elsewhere")
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", "installed"]
    subprocess.run([*install, str(wheel)], cwd=folder, check=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a"]
    subprocess.run([*git, "init", "--quiet"], cwd=folder, check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "a"], cwd=folder, check=True)

    def run(*parts: str) -> list[str]:
        where = "import homogenization\nprint(homogenization.__file__)\n"
        (folder / "script.py").write_text("\n".join([*parts, where]))
        environment = {**os.environ, "PYTHONPATH": str(folder / "installed")}
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        *printed, file = done.stdout.splitlines()
        assert file == str(folder / "installed/homogenization/__init__.py")
        return printed

    return run


def test_the_examples_run_from_a_wheel_alone(from_wheel):
    assert EXAMPLES
    from_wheel(*EXAMPLES)


def test_every_dependency_of_the_package_is_pinned_for_the_workflow_and_every_pin_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    lines = (ROOT / "envs/requirements.txt").read_text().splitlines()
    pinned = [line for line in lines if "==" in line]
    assert yaml.safe_load((ROOT / "envs/homogenization.yaml").read_text())["dependencies"][-1]["pip"] == pinned
    pins = dict(line.split("==") for line in pinned)
    assert "-e ." in lines
    assert {Requirement(line).name for line in wanted} == pins.keys()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name]), requirement
