"""The steps of the image, in an environment of its own: no image can be built everywhere."""

import os
import shutil
import subprocess
import venv
from pathlib import PurePosixPath

import pytest

from conftest import ROOT, copy_workflow
from recipes import FOLDER, docker_steps


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the environment in which the steps ran, with what pip's own index has in place of PyTorch's."""
    root = tmp_path_factory.mktemp("image")
    venv.create(root / "venv", with_pip=True)
    copied, commands = docker_steps()
    for place, source in copied.items():
        target = root / PurePosixPath(place).relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, target)
    environment = {
        **os.environ,
        "PATH": f"{root / 'venv/bin'}:{os.environ['PATH']}",
        "PYTHONPATH": "",
        "PIP_COMPILE": "0",  # what is imported is compiled then
    }
    for command in commands:
        command = command.replace('--index-url "$TORCH_INDEX" ', "")
        subprocess.run(command, shell=True, check=True, cwd=root / FOLDER.relative_to("/"), env=environment)
    return root / "venv"


def test_the_image_has_what_jobs_need(built, tmp_path):
    copy_workflow(tmp_path)
    python = str(built / "bin/python")
    environment = {**os.environ, "PATH": f"{built / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": ""}
    run = [python, "-m", "snakemake", "--cores", "1", "--configfile", "config/untrained.yaml"]
    target = "results/untrained/states/random-llama/original/000.zarr.zip"
    done = subprocess.run(
        [*run[:5], target, *run[5:]],
        cwd=tmp_path,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    where = "import homogenization, torch; print(homogenization.__file__)"
    found = subprocess.run(
        [python, "-c", where], cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, check=True
    )
    assert found.stdout.startswith(str(built / "lib"))
