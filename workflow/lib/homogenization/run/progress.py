"""Progress of a job, in its log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that takes the number of units (in the plural) done since its last call."""
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, mininterval=5) as bar:
        yield bar.update
