"""The server of jobs stands for Python: status, output, folder, environment, and an end when it is killed."""

import os
import subprocess
import sys
import time

import psutil
import pytest

import job_server
from snakemake_process import job_server_of_this_process


@pytest.fixture
def start(tmp_path):
    """Starts a script in a folder of its own, in the place of Python."""
    address, environment = job_server_of_this_process()

    def start(text: str) -> subprocess.Popen:
        (tmp_path / "script.py").write_text(text)
        return subprocess.Popen(
            [sys.executable, "-IS", job_server.__file__, tmp_path / "script.py"],
            cwd=tmp_path,
            env=environment | {job_server.ADDRESS: address, "WORD": "mine"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.mark.parametrize(
    ("text", "status"),
    [("", 0), ("sys.exit(3)", 3), ("sys.exit('no')", 1), ("os._exit(0)", 0), ("os.abort()", 128 + 6), ("1 / 0", 1)],
)
def test_a_script_ends_as_in_a_process_of_its_own(start, tmp_path, text, status):
    job = start(f"import os, sys\nprint(os.getcwd(), os.environ['WORD'], __name__, flush=True)\n{text}\n")
    printed, complaint = job.communicate(timeout=60)
    assert (job.returncode, printed) == (status, f"{tmp_path} mine __main__\n")
    assert ("ZeroDivisionError" in complaint) == (text == "1 / 0")


def test_a_job_dies_with_the_process_that_asked_for_it(start):
    job = start("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    number = int(job.stdout.readline())
    job.kill()
    end = time.monotonic() + 60
    while psutil.pid_exists(number):
        assert time.monotonic() < end, "the job goes on"
        time.sleep(0.05)
    assert job.wait() != 0
    assert number != os.getpid()
