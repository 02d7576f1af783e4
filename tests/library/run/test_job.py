"""A job in a process of its own, as Snakemake starts it: exit code, and log."""

import subprocess
import sys

import pytest

from conftest import ROOT

SCRIPT = """
import sys
from types import SimpleNamespace
snakemake = SimpleNamespace(rule="a_rule", log=["log.txt"], threads=1)
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import job
from homogenization.run.log import announce
print("before the job")
with job(snakemake):
    print("in the job")
    print("on stderr", file=sys.stderr)
    {body}
print("after the job")
"""


def run_job(folder, body: str) -> tuple[int, str, str, list[str]]:
    """The exit code, what was printed on both streams, and the lines of the log."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "workflow/lib")},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr, (folder / "log.txt").read_text().splitlines()


def test_all_that_a_job_says_is_in_its_log_and_warnings_on_the_terminal_too(tmp_path):
    status, printed, told, log = run_job(tmp_path, "announce('few texts')")
    assert (status, printed, told) == (0, "before the job\nafter the job\n", "warning: few texts\n")
    assert log[0].startswith("INFO rule a_rule, host ")
    assert log[1:] == ["in the job", "on stderr", "WARNING few texts"]


@pytest.mark.parametrize(
    ("body", "last", "traced"),
    [
        ("raise HomogenizationError('key: not so')", "error: key: not so", False),
        ("1 / 0", "ZeroDivisionError: division by zero", True),
        ("raise MemoryError", "MemoryError", True),
    ],
)
def test_a_failed_job_ends_with_1_and_says_why_in_its_log(tmp_path, body, last, traced):
    status, printed, _, log = run_job(tmp_path, body)
    assert (status, printed) == (1, "before the job\n")
    assert log[-1] == last
    assert any("Traceback" in line for line in log) == traced


@pytest.mark.parametrize("threads", [1, 2])
def test_numerical_libraries_have_the_threads_of_the_job(tmp_path, threads):
    body = (
        f"pass\nsnakemake.threads = {threads}\nimport torch, numpy\nfrom threadpoolctl import threadpool_info\n"
        "with job(snakemake):\n    print(torch.get_num_threads(), {pool['num_threads'] for pool in threadpool_info()})"
    )
    assert run_job(tmp_path, body)[3][-1] == f"{threads} {{{threads}}}"
