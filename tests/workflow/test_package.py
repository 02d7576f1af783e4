"""The package: what a wheel holds, what it needs, and that the names of docs/library.md work from it alone."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml
from packaging.requirements import Requirement

from conftest import ROOT, copy_workflow
from homogenization.reading.citation import VERSION
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
    (built,) = folder.glob(f"*-{VERSION}-*.whl")
    return built


def test_a_wheel_has_every_module_of_the_library_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    library = ROOT / "workflow/lib"
    assert packed == {str(path.relative_to(library)) for path in library.glob("*/**/*.py")}


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
    assert len(EXAMPLES) == 6
    from_wheel(*EXAMPLES)


def test_results_are_read_from_a_wheel_alone(from_wheel, finished_run):
    """With the meanings of columns; and no commit is cited that is not the library's."""
    printed = from_wheel(
        f"from homogenization import open_results\nresults = open_results({str(finished_run / 'results')!r})",
        "print(results.describe('metrics')['meaning'][-1])",
        "print(results.states('tiny', 'front', results.texts['review_id'][0]).residual_stream.shape[0])",
        "print(results.citation())",
    )
    assert printed[:2] == ["NaN where the metric is undefined", "4"]
    assert re.match(r"token-homogenization \S+; study [0-9a-f]{16} in ", printed[2])


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
