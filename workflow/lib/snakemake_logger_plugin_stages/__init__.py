"""A logger plugin of Snakemake (--logger stages): a line for each stage of a workflow, in place of lines for each job.

On a terminal, the stages stand in its last lines: what is done, and how long the rest takes. Above them stands all
else: messages of Snakemake that are not about one job, and what jobs write past their logs. Snakemake's own lines stand
in its log below .snakemake/log. They are shown as they are where there is no terminal, where the user asks for more or
less (--dry-run, --quiet, --verbose, --printshellcmds, --debug-dag), and of workflows that name no stages.

A workflow names its stages, after its last rule, by a message with the stage of each rule:

    logger.info("", extra={"stages": {"download": "corpus", "clean": "corpus"}})
"""

import os
import sys
import threading
from logging import WARNING, LogRecord

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase

from snakemake_logger_plugin_stages.stages import Stages

_OF_ONE_JOB = ("Select jobs to execute", "Execute ", "Removing temporary output", "Job ")
_OF_EVERY_START = ("Workflow defines that rule", "Assuming unrestricted shared", "Using shell", "Conda environments")
_LEFT_OUT = (
    *("workflow_started", "resources_info", "run_info", "job_info", "job_started"),
    *("job_finished", "progress", "shellcmd", "group_info"),
)


class LogHandler(LogHandlerBase, ColorizingTextHandler):
    """Counts the jobs of a run and shows their stages; other messages are those of Snakemake's own handler."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False  # Snakemake's own
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Take the terminal, if there is one and nothing else is asked for."""
        asked = self.common_settings
        ColorizingTextHandler.__init__(self, asked.nocolor, sys.stdout if asked.stdout else sys.stderr)
        other = asked.dryrun or asked.quiet or asked.verbose or asked.printshellcmds or asked.debug_dag
        self._bottom = _Bottom(self.stream.fileno()) if self.can_color_tty() and not other else None
        self._stages = Stages()
        self._over = threading.Event()

    def emit(self, record: LogRecord) -> None:
        """Count the event of a job; show everything else."""
        event = getattr(record, "event", None) or ""
        try:
            match event:
                case "run_info":
                    self._stages.plan(record.stats)
                case "job_info":
                    self._stages.start(record.jobid, record.rule_name)
                case "job_finished":
                    self._stages.end(record.job_id)
                case "job_error":
                    self._stages.end(record.jobid, failed=True)
                case _:
                    self._stages.stage_of.update(getattr(record, "stages", {}))
        except Exception:
            self.handleError(record)
        drawn = self._bottom is not None and self._stages.stage_of
        if drawn and event == "job_info" and not self._bottom.height:
            threading.Thread(target=self._keep_time, daemon=True).start()
        said = "" if event else str(record.msg)
        left_out = (event in _LEFT_OUT or said.startswith(_OF_ONE_JOB)) and record.levelno < WARNING
        if not (drawn and (left_out or said.startswith(_OF_EVERY_START))):
            ColorizingTextHandler.emit(self, record)
        if drawn and (event == "job_info" or self._bottom.height):
            self._draw()

    def close(self) -> None:
        """Leave the stages as they are above the cursor, and give the terminal back; Snakemake calls it at its end."""
        self._over.set()
        with self.lock:
            if self._bottom is not None and self._bottom.height:
                self._bottom.give_back()
                self._stages.stop()
                print(*self._lines(), sep="\n", file=self.stream, flush=True)
        super().close()

    def _keep_time(self) -> None:
        while not self._over.wait(1):
            with self.lock:
                if self._bottom.height:
                    self._draw()

    def _draw(self) -> None:
        self._bottom.draw(self._lines())

    def _lines(self) -> list[str]:
        rows = [line.cells() for line in self._stages.lines()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


class _Bottom:
    """The last lines of a terminal, which stay while all that is written scrolls above them (DECSTBM)."""

    def __init__(self, terminal: int) -> None:
        self.height = 0
        self._terminal = terminal
        self._size = os.terminal_size((0, 0))

    def draw(self, lines: list[str]) -> None:
        """Write `lines`, the last of them where the terminal has few."""
        size = os.get_terminal_size(self._terminal)
        lines = lines[-max(size.lines - 3, 1) :]
        begin = ""
        if (size, len(lines)) != (self._size, self.height):
            self._size, self.height = size, len(lines)
            # room below the cursor, which stays in its column; then the region that scrolls
            begin = "\033[J" + "\033D" * len(lines) + f"\033[{len(lines)}A\0337\033[1;{size.lines - len(lines)}r\0338"
        first = size.lines - self.height + 1
        rows = (f"\033[{row};1H\033[0m{line[: size.columns]}\033[K" for row, line in enumerate(lines, first))
        # in one piece: jobs write to the same terminal
        os.write(self._terminal, f"{begin}\0337{''.join(rows)}\0338".encode())

    def give_back(self) -> None:
        """Let the whole terminal scroll again, without the lines."""
        os.write(self._terminal, b"\0337\033[r\0338\033[J")
        self.height = 0
