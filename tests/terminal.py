"""A program run on a terminal, as a person sees it."""

import fcntl
import os
import pty
import struct
import termios
from dataclasses import dataclass
from pathlib import Path

import pyte


@dataclass
class Terminal:
    """What a terminal showed when the program on it had ended.

    Attributes:
        status: the program's exit status.
        lines: all lines, those that have left the screen at its top included; no blanks at their ends.
        sent: all bytes that came.
        cursor_hidden: whether the program left the terminal without its cursor.
    """

    status: int
    lines: list[str]
    sent: bytes
    cursor_hidden: bool


def run_on_terminal(
    command: list[str], folder: Path, rows: int = 40, columns: int = 120, **environment: str
) -> Terminal:
    """Run `command` in `folder` on a terminal of this size, to its end."""
    screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
    stream = pyte.ByteStream(screen)
    pid, descriptor = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm-256color", **environment})
        finally:
            os._exit(127)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    sent = b""
    while True:
        try:
            received = os.read(descriptor, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not received:
            break
        sent += received
        stream.feed(received)
    os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    above = ["".join(line[column].data for column in range(columns)) for line in screen.history.top]
    lines = [line.rstrip() for line in [*above, *screen.display]]
    return Terminal(os.waitstatus_to_exitcode(status), lines, sent, screen.cursor.hidden)
