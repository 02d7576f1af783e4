"""Progress of a job, in its log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the number of units done since its last call; the log shows the progress.

    Args:
        total: number of units in all.
        unit: name of the units, in the plural.
    """
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, mininterval=5) as bar:
        yield bar.update
