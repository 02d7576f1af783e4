"""How far a job has come, told in its log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[[int], object]]:
    """Yield a function to call with the number of units done since the last call; the log shows a line now and then.

    Args:
        total: units in all.
        unit: their name, in the plural.
    """
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, mininterval=5) as bar:
        yield bar.update
