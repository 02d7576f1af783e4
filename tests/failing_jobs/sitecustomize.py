"""Kills jobs as they start: those of the script $FAILING, but for one that can make the folder $FAILING_SPARES."""

import os
import signal
import sys

failing = os.environ.get("FAILING")
if failing and any(part.endswith(f".{failing}.py") for part in sys.orig_argv[-1:]):
    try:
        os.mkdir(os.environ.get("FAILING_SPARES", ""))
    except OSError:
        os.kill(os.getpid(), signal.SIGKILL)
