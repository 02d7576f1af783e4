"""A hash of what a rule computes with: each rule carries it as a parameter, so that an edit runs the rule again.

The packages `run` and `names` count for none: they decide how jobs run, write files and call things.
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

LIBRARY = Path(__file__).parents[1]


def code_hash(script: Path, *parts: str) -> str:
    """The hash of a script and of parts of the library.

    Args:
        script: file that runs.
        parts: packages, such as "states", or modules, such as "metrics.gram".

    Returns:
        16 hexadecimal digits.

    Raises:
        FileNotFoundError: there is no such script or part.
    """
    places = [script, *(LIBRARY.joinpath(*part.split(".")) for part in parts)]
    return sha256(b"".join(map(_digest, places))).hexdigest()[:16]


@cache
def _digest(place: Path) -> bytes:
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return sha256(b"".join(file.read_bytes() for file in files)).digest()
