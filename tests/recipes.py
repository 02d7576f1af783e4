"""The steps of envs/Dockerfile and envs/homogenization.def."""

import re
from pathlib import PurePosixPath

from conftest import ROOT

FOLDER = PurePosixPath("/opt/homogenization")


def docker_steps() -> tuple[dict[str, str], list[str]]:
    """What is copied, file or folder by its place in the image, and the commands that run in `FOLDER`, in order."""
    lines = re.findall(r"^(COPY|RUN|WORKDIR) (.*)$", (ROOT / "envs/Dockerfile").read_text(), re.MULTILINE)
    assert ("WORKDIR", str(FOLDER)) in lines
    copied = {}
    for kind, words in lines:
        if kind == "COPY":
            *sources, place = words.split()
            copied |= {
                str(FOLDER / place / (PurePosixPath(one).name if place.endswith("/") else "")): one for one in sources
            }
    return copied, [words for kind, words in lines if kind == "RUN"]


def apptainer_steps() -> tuple[dict[str, str], list[str]]:
    """The same of the definition for Apptainer."""
    text = (ROOT / "envs/homogenization.def").read_text()
    sections = dict(re.findall(r"^%(\w+)\n((?:    .*\n)+)", text, re.MULTILINE))
    files = [line.split() for line in sections["files"].splitlines()]
    commands = [line.strip() for line in sections["post"].splitlines()]
    assert commands[:3] == ["set -e", "TORCH_INDEX={{ TORCH_INDEX }}", f"cd {FOLDER}"]
    return {place: source for source, place in files}, commands[3:]
