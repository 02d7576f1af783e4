"""The folder of notes that save a user's jobs from computing the same again; without it, they compute it."""

import os
from pathlib import Path

CACHE_VARIABLE = "HOMOGENIZATION_CACHE"


def user_cache() -> Path | None:
    """The folder, which may not be there; None for a user without a home."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(named)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "homogenization"
    except RuntimeError:
        return None
