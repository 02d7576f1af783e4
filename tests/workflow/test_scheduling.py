"""The limit of jobs per second, which real runs of Snakemake have or lack."""

import subprocess
import sys
from pathlib import Path

import pytest

LIBRARY = Path(__file__).parents[2] / "workflow" / "lib"
SNAKEFILE = f"""
import sys

sys.path.insert(0, {str(LIBRARY)!r})
from homogenization.run.scheduling import lift_rate_limit


rule done:
    output: "done"
    shell: "touch {{output}}"


onstart:
    lift_rate_limit(workflow)


onsuccess:
    limit = workflow.scheduler.job_rate_limiter
    print("limit", limit and (limit.max_jobs, limit.timespan))
"""


@pytest.mark.parametrize(
    ("arguments", "limit"), [([], None), (["--max-jobs-per-timespan", "7/2s"], (7, 2.0))], ids=["default", "named"]
)
def test_a_run_on_this_machine_has_the_limit_that_the_user_names(tmp_path, arguments, limit):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert f"limit {limit}" in run.stdout + run.stderr
    assert (tmp_path / "done").exists()
