"""What a person sees of a run: stages on a terminal, Snakemake's own lines elsewhere."""

import contextlib
import logging
import os
import pty
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.tests import TestLogHandlerBase as Events

from conftest import ROOT
from snakemake_logger_plugin_stages import LogHandler
from terminal import run_on_terminal

SNAKEMAKE = [sys.executable, "-m", "snakemake"]
# as pip installs it
INSTALLED = {"PYTHONPATH": str(ROOT / "workflow/lib")}
TABLES = ("results/tables/mauve.parquet", "results/tables/cosines.parquet")
MESSAGE = "error: results/variants/front/001.parquet: the file is damaged. Delete it and run again. " + "x" * 300
# twenty jobs of one stage; the fourth fails, and all write past their log
SNAKEFILE = f"""
rule all:
    default_target: True
    input: "drawn", "counted"

rule extract:
    output: "extracted/{{i}}"
    log: "extract-{{i}}.log"
    shell:
        "echo out {{wildcards.i}}; printf 'half of {{wildcards.i}}' >&2; sleep .02; echo ', whole' >&2; "
        "[ {{wildcards.i}} != 3 ] || {{{{ echo '{MESSAGE}' > {{log}}; exit 1; }}}}; touch {{output}}"

rule draw:
    input: expand("extracted/{{i}}", i=range(20))
    output: "drawn"
    shell: "touch {{output}}"

rule count:
    output: "counted"
    shell: "touch {{output}}"

logger.info("", extra={{"stages": {{"extract": "states", "draw": "figures"}}}})
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    return tmp_path


def test_lines_of_stages_stay_below_all_that_jobs_and_snakemake_write(folder):
    command = [*SNAKEMAKE, "--cores", "1", "--logger", "stages", "--keep-going", "--show-failed-logs"]
    seen = run_on_terminal(command, folder, rows=24, columns=100, **INSTALLED)
    shown = [line for line in seen.lines if line]
    assert seen.status == 1, "\n".join(shown)
    for written in ("out {}", "half of {}, whole"):
        assert [shown.count(written.format(job)) for job in range(20)] == [1] * 20
    whole = "".join(seen.lines)
    assert MESSAGE in whole  # over several lines of the terminal, none torn
    assert shown.index("half of 3, whole") < shown.index("Error in rule extract:")
    assert "Building DAG of jobs..." in shown
    assert not any(words in whole for words in ("Select jobs", "Finished jobid", "Job stats", "rule extract:\n"))
    assert not any(words in whole for words in ("Provided cores", "Using shell", "Assuming unrestricted"))
    assert "At least one job did not complete successfully." in shown[-4]
    assert [line.split()[::2] for line in shown[-3:]] == [
        ["states", "19/20", "failed"],
        ["figures", "0/1"],
        ["all", "19/21", "failed"],
    ]
    assert "1 failed" in shown[-1]
    assert b"\033[1;21r" in seen.sent  # the region that scrolled
    assert seen.sent.rindex(b"\033[r") > seen.sent.rindex(b"\033[1;21r")  # was given back
    assert not seen.cursor_hidden


def test_the_workflow_shows_its_stages_and_the_message_of_a_failed_job(finished):
    damaged = finished.folder / "results/mauve/tiny/front/001.parquet"
    damaged.write_bytes(damaged.read_bytes()[:100])
    for table in TABLES:
        (finished.folder / table).unlink()
    command = [*SNAKEMAKE, "--configfile", "test.yaml", "--cores", "1", "--keep-going", *TABLES]
    seen = run_on_terminal(command, finished.folder, **INSTALLED)
    shown = [line for line in seen.lines if line]
    assert seen.status == 1, "\n".join(shown)

    log = (finished.folder / "results/logs/tables/tabulate_mauve.log").read_text()
    message = next(line for line in log.splitlines() if line.startswith("error: "))
    assert "results/mauve/tiny/front/001.parquet" in message
    assert "".join(message.split()) in "".join("".join(seen.lines).split())  # it goes over several lines
    assert "Error in rule tabulate_mauve:" in shown
    assert [line.split()[::2] for line in shown[-2:]] == [["tables", "1/2", "failed"], ["all", "1/2", "failed"]]

    # what is said of each job stands in the log alone
    of_each_job = ("Finished jobid", "rule tabulate_cosines:", "Select jobs to execute", "Job stats:")
    whole = max((finished.folder / ".snakemake/log").iterdir()).read_text()  # their names are dates
    assert [words for words in of_each_job if words not in whole] == []
    assert [words for words in of_each_job if any(words in line for line in shown)] == []


def test_a_pipe_gets_snakemakes_own_lines(folder):
    printed = []
    for logger in ([], ["--logger", "stages"]):
        command = [*SNAKEMAKE, "counted", "--cores", "1", "--forceall", *logger]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **INSTALLED}, stderr=subprocess.PIPE, text=True, check=True
        )
        printed.append(re.sub(r"\[.*\]|Command: .*|.*(Date|Workflow ID|Elapsed|Complete log).*", "", done.stderr))
    assert "Finished jobid" in printed[0]
    assert printed[0] == printed[1]


@pytest.fixture
def terminal(monkeypatch):
    """The reading and the writing end of a terminal."""
    monkeypatch.setenv("TERM", "xterm")
    other, end = pty.openpty()
    with os.fdopen(end, "w") as stream:
        yield other, stream
    os.close(other)


def shown_of_a_job(terminal, stages=True, **asked) -> str:
    """What a handler on standard error writes of Snakemake's progress."""
    other, stream = terminal
    settings = dict.fromkeys(("dryrun", "quiet", "verbose", "debug_dag", "printshellcmds", "stdout", "nocolor"), False)
    with contextlib.redirect_stderr(stream):
        handler = LogHandler(SimpleNamespace(**settings | asked), None)
    handler.setFormatter(DefaultFormatter())
    if stages:
        handler.handle(logging.makeLogRecord({"stages": {"extract": "states"}, "msg": ""}))
    for event in ({"event": "progress", "done": 1, "total": 2}, {"msg": "and the end"}):
        handler.handle(logging.makeLogRecord({"levelno": logging.INFO, "levelname": "INFO", **event}))
    handler.close()
    shown = b""
    while b"and the end" not in shown:  # one reading may return the first line alone
        shown += os.read(other, 10_000)
    return shown.decode()


def test_progress_of_jobs_is_left_out_on_a_terminal(terminal):
    shown = shown_of_a_job(terminal)
    assert "and the end" in shown
    assert "steps" not in shown


@pytest.mark.parametrize("asked", ["quiet", "dryrun", "verbose", "printshellcmds", "debug_dag"])
def test_nothing_changes_on_a_terminal_where_something_else_is_asked_for(terminal, asked):
    assert "1 of 2 steps" in shown_of_a_job(terminal, **{asked: True})


def test_nothing_changes_without_stages_or_on_a_plain_terminal(terminal, monkeypatch):
    assert "1 of 2 steps" in shown_of_a_job(terminal, stages=False)
    monkeypatch.setenv("TERM", "dumb")
    assert "1 of 2 steps" in shown_of_a_job(terminal)


class TestEveryEvent(Events):
    """Snakemake's own tests of a logger plugin."""

    __test__ = True

    def get_log_handler_cls(self):
        return LogHandler

    def get_log_handler_settings(self):
        return None
