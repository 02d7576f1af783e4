"""The stages on a terminal: jobs that write past their log, failing jobs, and where nothing is drawn."""

import logging
import os
import pty
import sys
from types import SimpleNamespace

import pytest
from snakemake.logging import ColorizingTextHandler
from snakemake.logging import logger as snakemake_logger

from conftest import ROOT
from homogenization.run.display import StageHandler, show_stages
from terminal import run_on_terminal

# forty jobs of one stage, a process each; the third fails, and all write past their log
PROGRAM = """
import logging, subprocess, sys, time
from snakemake.logging import ColorizingTextHandler, DefaultFormatter
from homogenization.run.display import StageHandler
from homogenization.run.stages import Stages

plain = ColorizingTextHandler(stream=sys.stderr, formatter=DefaultFormatter(set(), show_failed_logs=True))
handler = StageHandler(plain, Stages({"extract": "states", "draw": "figures"}), colour=True)
logger = logging.getLogger("display")
logger.setLevel(logging.INFO)
logger.addHandler(handler)
logger.info("Building DAG of jobs...")
logger.info("job count", extra={"event": "run_info", "stats": {"extract": 40, "draw": 5, "total": 45}})
told = dict(input=["a"], output=["b"], log=[sys.argv[1]], conda_env=None, shellcmd=None, aux={}, rule_msg=None)
for job in range(40):
    logger.info("Select jobs to execute...")
    logger.info(None, extra={"event": "job_info", "jobid": job, "rule_name": "extract"})
    child = f"import os; os.write(1, b'out {job}\\\\n'); os.write(2, b'half of {job}'); os.write(2, b', whole\\\\n')"
    subprocess.run([sys.executable, "-S", "-c", child], check=True)
    if job == 3:
        logger.error("Error in rule", extra={"event": "job_error", "jobid": job, "rule_name": "extract", **told})
    else:
        logger.info("Finished jobid: 1", extra={"event": "job_finished", "job_id": job})
logger.warning("a warning about something")
logger.info("Complete log(s): snakemake.log")
logger.removeHandler(handler)
handler.close()
print("after the end", flush=True)
"""


def test_lines_of_stages_stay_below_all_that_jobs_and_snakemake_write(tmp_path):
    log = tmp_path / "extract.log"
    message = "error: results/variants/front/001.parquet: the file is damaged. Delete it and run again. " + "x" * 300
    log.write_text(message + "\n")
    seen = run_on_terminal(
        [sys.executable, "-c", PROGRAM, str(log)], tmp_path, rows=24, columns=100, PYTHONPATH=str(ROOT / "workflow/lib")
    )
    assert seen.status == 0, "\n".join(seen.lines)
    shown = [line for line in seen.lines if line]
    for stream in ("out {}", "half of {}, whole"):
        assert [shown.count(stream.format(job)) for job in range(40)] == [1] * 40
    whole = "".join(seen.lines)
    assert message in whole  # over several lines of the terminal, none torn
    assert "Error in rule extract:" in whole
    order = [shown.index(line) for line in ("half of 3, whole", "Error in rule extract:", "out 4")]
    assert order == sorted(order)
    assert not any(words in whole for words in ("Select jobs", "Finished jobid", "job count"))
    assert shown[0] == "Building DAG of jobs..."
    assert shown[-6:-4] == ["a warning about something", "Complete log(s): snakemake.log"]
    counts = [(line.split()[0], line.split()[2], line.split()[3:]) for line in shown[-4:-1]]
    assert counts == [("states", "39/40", ["1", "failed"]), ("figures", "0/5", []), ("all", "39/45", ["1", "failed"])]
    assert shown[-1] == "after the end"
    assert not seen.cursor_hidden


@pytest.fixture
def terminal():
    """The writing end of a terminal that nobody reads."""
    other, end = pty.openpty()
    with os.fdopen(end, "w") as stream:
        yield stream
    os.close(other)


def handlers_after(monkeypatch, stream, main=True, plugin=False, **settings):
    """The handlers of Snakemake's logger after a Snakefile has asked for the stages."""
    plain = ColorizingTextHandler(stream=stream)
    plain.name = "a plugin's" if plugin else "DefaultStreamHandler"
    monkeypatch.setattr(snakemake_logger, "handlers", [plain])
    asked = dict.fromkeys(("dryrun", "quiet", "verbose", "debug_dag", "printshellcmds", "nocolor"), False) | settings
    show_stages(SimpleNamespace(output_settings=SimpleNamespace(**asked), is_main_process=main, rules=[]))
    return plain, snakemake_logger.handlers


def test_stages_take_the_place_of_snakemakes_lines_on_a_terminal(monkeypatch, terminal):
    monkeypatch.setenv("TERM", "xterm")
    _, handlers = handlers_after(monkeypatch, terminal)
    assert [type(handler) for handler in handlers] == [StageHandler]


@pytest.mark.parametrize(
    "asked",
    [
        {"quiet": {"rules"}},
        {"dryrun": True},
        {"verbose": True},
        {"printshellcmds": True},
        {"debug_dag": True},
        {"main": False},
        {"plugin": True},
    ],
)
def test_nothing_changes_on_a_terminal_where_something_else_is_asked_for(monkeypatch, terminal, asked):
    monkeypatch.setenv("TERM", "xterm")
    plain, handlers = handlers_after(monkeypatch, terminal, **asked)
    assert handlers == [plain]


def test_nothing_changes_where_there_is_no_terminal(monkeypatch, terminal, tmp_path):
    with (tmp_path / "log").open("w") as stream:
        plain, handlers = handlers_after(monkeypatch, stream)
        assert handlers == [plain]
    monkeypatch.setenv("TERM", "dumb")
    plain, handlers = handlers_after(monkeypatch, terminal)
    assert handlers == [plain]


def test_a_message_is_not_lost_where_a_record_is_odd(terminal, monkeypatch, capsys):
    """An event without its fields is reported, as logging reports it, and ends nothing."""
    handler = StageHandler(ColorizingTextHandler(stream=terminal), SimpleNamespace(), colour=False)
    handler.emit(logging.makeLogRecord({"event": "run_info", "levelno": logging.INFO, "msg": "stats"}))
    assert "Logging error" in capsys.readouterr().err
