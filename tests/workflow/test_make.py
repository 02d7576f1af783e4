"""The Makefile before anything is installed."""

import os
import subprocess

from conftest import ROOT


def test_an_interpreter_that_is_too_old_is_named(tmp_path):
    """A stand-in for Python 3.9: it fails the version check and knows its version."""
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.18 && exit 0\nexit 1\n')
    old.chmod(0o755)
    command = ["make", "--silent", "run", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "MAKEFLAGS": ""}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Python 3.9.18" in done.stderr
    assert not (tmp_path / "venv").exists()
