"""The website of the pages builds without a warning, so every link and anchor leads somewhere."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT


def test_the_website_builds_and_a_broken_link_would_end_it(tmp_path):
    for path in ROOT.iterdir():
        if path.suffix or path.name in ("Makefile", "LICENSE", "config", "docs", "benchmarks", "envs"):
            (tmp_path / path.name).symlink_to(path)
    command = ["make", "--silent", "docs", f"BIN={Path(sys.executable).parent}", "VENV=venv", "--assume-old=venv/.dev"]
    environment = {**os.environ, "MAKEFLAGS": "", "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "CHANGELOG.md").unlink()
    (tmp_path / "CHANGELOG.md").write_text("[here](docs/nowhere.md)")
    assert subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True).returncode != 0
