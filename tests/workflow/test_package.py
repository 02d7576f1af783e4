"""The package: what a wheel holds, what it needs, and that the names of docs/library.md work from it alone."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement

from conftest import ROOT, copy_workflow
from pages import DOCS

EXAMPLES = re.findall(r"^```python\n(.*?)^```$", (DOCS / "library.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of a copy, since setuptools builds in the folder of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_workflow(folder / "project")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (folder / "project" / name).write_text((ROOT / name).read_text("utf-8"), encoding="utf-8")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(folder / "project")], check=True)
    (built,) = folder.glob("*.whl")
    return built


def test_a_wheel_has_every_module_of_the_library_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    library = ROOT / "workflow/lib"
    assert packed == {str(path.relative_to(library)) for path in library.glob("*/**/*.py")}


def test_the_examples_run_from_a_wheel_alone(wheel, tmp_path):
    assert len(EXAMPLES) == 6
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--quiet", "--target", "installed"]
    subprocess.run([*install, str(wheel)], cwd=tmp_path, check=True)
    where = "import homogenization\nprint(homogenization.__file__)\n"
    (tmp_path / "examples.py").write_text("\n".join([*EXAMPLES, where]))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "examples.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == str(tmp_path / "installed/homogenization/__init__.py")


def test_every_dependency_of_the_package_is_pinned_for_the_workflow_and_every_pin_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["workflow"]]
    lines = (ROOT / "envs/requirements.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    assert "-e ." in lines
    assert {Requirement(line).name for line in wanted} == pins.keys()
    for requirement in map(Requirement, wanted):
        assert requirement.specifier.contains(pins[requirement.name]), requirement
