"""Progress of a job, in its log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(total: int, unit: str) -> Iterator[Callable[..., None]]:
    """Yield a function that takes the number of units done since its last call; the log shows the progress.

    The function also takes a text that stands behind the bar from then on.

    Args:
        total: number of units in all.
        unit: name of the units, in the plural.
    """
    with tqdm(total=total, unit=f" {unit}", unit_scale=True, mininterval=5) as bar:

        def advance(number: int, text: str = "") -> None:
            bar.set_postfix_str(text, refresh=False)
            bar.update(number)

        yield advance
