"""The image: both recipes have the same steps, and jobs run in the image that the configuration names."""

import os
import re
import stat
import sys
from pathlib import Path

from conftest import ROOT
from recipes import apptainer_steps, docker_steps

# prints that it was called, and runs the command outside of any image
APPTAINER = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.3.4"; exit; fi
while [ $# -gt 0 ]; do
    case "$1" in
        *.sif) echo "in $1" >> images.txt; shift; exec "$@" ;;
        *) shift ;;
    esac
done
"""


def test_both_recipes_have_the_same_steps():
    assert docker_steps() == apptainer_steps()
    files = [(ROOT / name).read_text() for name in ("envs/Dockerfile", "envs/homogenization.def")]
    for pattern in (r"(?im)^from:? (\S+)$", r"TORCH_INDEX=(https\S+cu\d+)$", r"LC_ALL=(\S+)$"):
        first, second = (set(re.findall(pattern, text, re.MULTILINE)) for text in files)
        assert len(first) == 1
        assert first == second


def test_jobs_run_in_the_image_that_the_configuration_names(project, tmp_path):
    (tmp_path / "apptainer").write_text(APPTAINER)
    (tmp_path / "apptainer").chmod(0o755 | stat.S_IXUSR)
    (project.folder / "image.sif").touch()
    project.config["container"] = "image.sif"
    path = os.pathsep.join([str(tmp_path), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = project.run("--cores", "1", "--sdm", "apptainer", "--", "results/corpus/clean.parquet", PATH=path)
    assert done.returncode == 0, done.stdout
    called = (project.folder / "images.txt").read_text().splitlines()
    assert len(called) == 2  # download_corpus and clean_corpus
    assert all(line.endswith("image.sif") for line in called)
