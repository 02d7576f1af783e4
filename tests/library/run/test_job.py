"""The end of a job in a process of its own, as Snakemake starts it: exit code, log, and no taking down of Python."""

import subprocess
import sys
import textwrap

import pytest

from conftest import ROOT

SCRIPT = """
import atexit, gc
from types import SimpleNamespace
snakemake = SimpleNamespace(rule="a_rule", log=["log.txt"], threads=1, input=[], params={{}})
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import job
atexit.register(print, "Python was taken down")
print("before the job", end="")
with job(snakemake):
    print("in the job")
    {body}
print("after the job")
"""


def run_job(folder, body: str) -> tuple[int, str, list[str]]:
    """The exit code, what was printed, and the lines of the log."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "workflow/lib")},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout, (folder / "log.txt").read_text().splitlines()


def test_a_finished_job_ends_at_once_with_all_that_it_wrote(tmp_path):
    status, printed, log = run_job(tmp_path, "import pydantic; print('unended', end='')")
    assert (status, printed) == (0, "before the job")
    assert log[0].startswith("INFO rule a_rule, ")
    assert log[1:-1] == ["in the job", "unendedINFO imported pydantic"]
    assert log[-1].startswith("INFO made by ")


@pytest.mark.parametrize(
    ("body", "last"),
    [
        ("raise HomogenizationError('key: not so')", "error: key: not so"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise MemoryError", "MemoryError"),
    ],
)
def test_a_failed_job_ends_with_1_and_says_why_in_its_log(tmp_path, body, last):
    status, printed, log = run_job(tmp_path, body)
    assert (status, "after the job" in printed) == (1, False)
    assert log[-1] == last


def test_an_interrupted_job_does_not_end_with_0(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body="raise KeyboardInterrupt")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "workflow/lib")},
        capture_output=True,
    )
    assert done.returncode != 0


def test_a_log_holds_no_secret(tmp_path):
    """Neither what is logged, printed or raised, nor a message for the terminal; a short value is no secret."""
    body = """
    import logging, os
    from homogenization.run.job import announce
    from homogenization.run.secrets import hide
    os.environ |= {"HF_TOKEN": "hf_a/secret+token", "MY_API_KEY": "EMPTY", "HTTPS_PROXY": "http://me:proxy-password@p"}
    hide("sk-the-secret-key")
    logging.info("asked with %s by %s", "sk-the-secret-key", os.environ["HTTPS_PROXY"])
    print("http://h/?token=hf_a%2Fsecret%2Btoken EMPTY")
    raise ValueError("hf_a/secret+token")
    """
    status, _, log = run_job(tmp_path, textwrap.indent(textwrap.dedent(body), "    "))
    assert status == 1
    assert log[2:4] == ["INFO asked with [key] by http://me:[key]@p", "http://h/?token=[key] EMPTY"]
    assert log[-1] == "ValueError: [key]"
    assert not any("secret-key" in line or "secret+token" in line for line in log)


def test_a_full_file_system_is_told_wherever_it_fails(tmp_path):
    _, _, log = run_job(tmp_path, "raise OSError(28, 'No space left on device', '/dev/shm/x')")
    assert log[-1].startswith("error: a file system is full ([Errno 28] No space left on device: '/dev/shm/x').")
    assert "MB in /dev/shm" in log[-1]
