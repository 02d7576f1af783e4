"""What a job tells while it runs: warnings and progress."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


def announce(warning: str) -> None:
    """Log a warning, and show it on the terminal of the run too."""
    logging.warning(warning)
    print(f"warning: {warning}", file=sys.__stderr__, flush=True)


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that takes the number of units (in the plural) done since its last call."""
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, mininterval=5) as bar:
        yield bar.update
