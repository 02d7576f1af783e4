"""A hash of what a rule computes with: each rule carries it as a parameter, so that an edit runs the rule again.

The packages `run` and `names` count for none: they decide how jobs run, write files and call things.
"""

from functools import cache
from hashlib import sha256
from pathlib import Path

LIBRARY = Path(__file__).parents[1]


def code_hash(script: Path, *parts: str) -> str:
    """16 hexadecimal digits of a script and of packages ("states") or modules ("metrics.registry") of the library."""
    places = [script, *(LIBRARY.joinpath(*part.split(".")) for part in parts)]
    return sha256(b"".join(map(_digest, places))).hexdigest()[:16]


@cache
def _digest(place: Path) -> bytes:
    files = [file for pattern in ("*.py", "*.jinja") for file in sorted(place.rglob(pattern))]
    return sha256(b"".join(file.read_bytes() for file in files or [place.with_suffix(".py")])).digest()
