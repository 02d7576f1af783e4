"""A run on a terminal: a line a stage, with what is done and how long the rest takes, in place of lines for each job.

Snakemake's own lines stand in its log below .snakemake/log, all of them. Where standard error is no terminal, and where
the user asks for more or less (--quiet, --verbose, --printshellcmds, --debug-dag, a logger plugin), nothing changes.
"""

import atexit
import logging
import os
import threading
from pathlib import Path
from typing import Any

from homogenization.run.stages import ALL, Line, Stages

_PER_JOB = ("Select jobs to execute", "Execute ", "Removing temporary output", "Finished jobid", "Job ")
_LEFT_OUT = (
    "workflow_started",
    "run_info",
    "job_info",
    "job_started",
    "job_finished",
    "progress",
    "shellcmd",
    "group_info",
)


def show_stages(workflow: Any) -> None:
    """Show the progress of a run of `workflow` on the terminal, if there is one; called once, after the last rule.

    The stage of a rule is the name of its file. Rules of the main file (targets) belong to none.

    Args:
        workflow: Snakemake's own object, which every Snakefile finds under this name.
    """
    plain = _default_handler()
    settings = workflow.output_settings
    changed = any((settings.dryrun, settings.quiet, settings.verbose, settings.debug_dag, settings.printshellcmds))
    if plain is None or changed or not workflow.is_main_process or not plain.can_color_tty():
        return
    files = {rule.name: Path(str(rule.snakefile)) for rule in workflow.rules}
    stage_of = {name: file.stem for name, file in files.items() if file.suffix == ".smk"}
    logger = _logger()
    logger.removeHandler(plain)
    logger.addHandler(StageHandler(plain, Stages(stage_of), colour=not settings.nocolor))


def _logger() -> logging.Logger:
    from snakemake.logging import logger

    return logger


def _default_handler() -> Any | None:
    """Snakemake's handler of messages on standard error (or output, with --stdout); None where a plugin writes."""
    return next((handler for handler in _logger().handlers if handler.name == "DefaultStreamHandler"), None)


class StageHandler(logging.Handler):
    """Draws the stages while jobs run, and hands all messages but those on single jobs to Snakemake's own handler.

    While stages are drawn, standard output and error lead through a pipe to above them: what a job writes past its log
    (a traceback before its log is open, the text of `plan`) is neither overwritten nor torn.
    """

    def __init__(self, plain: logging.StreamHandler, stages: Stages, colour: bool) -> None:
        """Take Snakemake's handler, which writes to a terminal."""
        super().__init__()
        self._plain = plain
        self._stages = stages
        self._colour = colour
        self._drawing: _Drawing | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Count the event of a job; show everything else."""
        try:
            self._emit(record)
        except Exception:
            self.handleError(record)

    def _emit(self, record: logging.LogRecord) -> None:
        event = str(getattr(record, "event", None) or "")
        match event:
            case "run_info":
                self._stages.plan(record.stats)
            case "job_info":
                if self._drawing is None:
                    self._drawing = _Drawing(self._stages, self._plain, self._colour)
                self._stages.start(record.jobid, record.rule_name)
            case "job_finished":
                self._stages.finish(record.job_id)
            case "job_error":
                self._stages.fail(record.jobid)
        left_out = event in _LEFT_OUT or (not event and str(record.msg).startswith(_PER_JOB))
        if record.levelno >= logging.WARNING or not left_out:
            self._plain.handle(record)

    def close(self) -> None:
        """Leave the stages as they are now, and give the terminal back; Snakemake calls it at its end."""
        drawing, self._drawing = self._drawing, None
        self._stages.end()
        if drawing is not None:
            drawing.close()
        self._plain.close()
        super().close()


class _Drawing:
    """The lines at the bottom of the terminal, and everything else above them, in the order in which it was written."""

    def __init__(self, stages: Stages, plain: logging.StreamHandler, colour: bool) -> None:
        from rich.console import Console
        from rich.live import Live

        self._stages, self._plain, self._stream = stages, plain, plain.stream
        plain.flush()
        # descriptors that lead to the terminal: a redirected one stays what it is
        self._saved = {number: os.dup(number) for number in (1, 2) if os.isatty(number)}
        terminal = os.fdopen(os.dup(plain.stream.fileno()), "w", encoding="utf-8", errors="replace")
        self._console = Console(file=terminal, no_color=not colour, force_terminal=True, highlight=False)
        reading, writing = os.pipe()
        for number in self._saved:
            os.dup2(writing, number)
        self._messages = os.fdopen(writing, "w", encoding="utf-8", errors="replace")
        plain.setStream(self._messages)
        self._live = Live(
            console=self._console,
            get_renderable=self._draw,
            refresh_per_second=2,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        self._copying = threading.Thread(target=self._copy, args=(reading,), daemon=True)
        self._copying.start()
        atexit.register(self.close)

    def close(self) -> None:
        """Draw for the last time, and give the terminal back."""
        atexit.unregister(self.close)
        if self._messages.closed:
            return
        self._plain.setStream(self._stream)  # it flushes the other one
        self._messages.close()
        for number, saved in self._saved.items():
            os.dup2(saved, number)
            os.close(saved)
        self._copying.join(timeout=2)  # longer only if a process outlives the run with the pipe in its hands
        self._live.stop()

    def _copy(self, reading: int) -> None:
        """Show what comes through the pipe, line by line, above the stages."""
        from rich.ansi import AnsiDecoder

        decoder = AnsiDecoder()  # a colour lasts over the lines of a message
        with os.fdopen(reading, encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                self._console.print(decoder.decode_line(line.rstrip("\n")), soft_wrap=True)

    def _draw(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        table = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(5):
            table.add_column(no_wrap=True)
        table.columns[2].justify = "right"
        for line in self._stages.lines():
            bar = ProgressBar(total=line.total, completed=line.done, width=24)
            counted = f"{line.done}/{line.total}"
            running = f"{line.running} running" if line.running else ""
            table.add_row(line.name, bar, counted, running, described(line), style="bold" if line.name == ALL else None)
        return table


def described(line: Line) -> str:
    """What stands behind a stage's count: failed jobs, and the time left or taken."""
    parts = [f"{line.failed} failed"] if line.failed else []
    if line.taken is not None:
        parts.append(f"took {duration(line.taken)}")
    elif line.left is not None and not line.failed:
        parts.append(f"{'more than ' if line.beyond else ''}{duration(max(line.left, 1))} left")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Minutes and seconds, or hours, minutes and seconds."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
