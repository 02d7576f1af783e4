"""Notes in the user's cache, which save processes from computing the same again; without a place, they compute it."""

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

CACHE_VARIABLE = "HOMOGENIZATION_CACHE"


def noted(kind: str, of: bytes, compute: Callable[[], Any], holds: Callable[[], bool] = lambda: True) -> Any:
    """What an earlier call has noted, or else what `compute` gives, which is noted for the next.

    Args:
        kind: folder of the note.
        of: all that the value depends on.
        compute: function that gives the value, of JSON.
        holds: whether the value, once it is computed, may be noted.
    """
    folder, name = user_cache(), blake2b(of, digest_size=16).hexdigest()
    note = folder / kind / f"{name}.json" if folder else None
    if note is not None:
        with suppress(OSError, ValueError, TypeError):
            named, value = json.loads(note.read_text(encoding="utf-8"))
            if named == name:
                return value
    value = compute()
    if note is not None and holds():
        with suppress(OSError):  # no place for it: the next process computes the value
            note.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=note.parent) as own:
                partial = Path(own, note.name)
                partial.write_text(json.dumps([name, value]), encoding="utf-8")
                os.replace(partial, note)
    return value


def user_cache() -> Path | None:
    """The folder, which may not be there; None for a user without a home."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "homogenization"
    except RuntimeError:
        return None
