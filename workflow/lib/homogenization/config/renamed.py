"""Former names of keys and values, which are still read; a rename is an entry of `RENAMED`."""

from collections.abc import Mapping
from typing import Any

from homogenization.run.errors import HomogenizationError

_KINDS = {"dial": "steering", "closed": "masked", "capped": "clipped"}
# place in the configuration -> former and current names of keys there, and of values up to a colon; claims are at
# `claims`
RENAMED: dict[str, dict[str, str]] = {
    "interventions": _KINDS,
    "consequences.conditions": _KINDS,
    "claims.intervention.kind": _KINDS,
    "claims.consequence.kind": _KINDS,
}


def with_current_names(given: Any, found: list[str], place: str = "") -> Any:
    """`given` with current names in the place of former ones.

    Args:
        given: plain values at a place of the configuration; they stay as they are.
        found: gets a line for each former name.
        place: the place, keys with dots; empty for the whole configuration.

    Raises:
        HomogenizationError: a key has its former and its current name.
    """
    names = RENAMED.get(place, {})
    if isinstance(given, Mapping):
        for former, current in names.items():
            if former in given:
                found.append(f"{place}.{former}: is called {current!r} now; this version still reads the former name.")
                if current in given:
                    raise HomogenizationError(f"{place}: has {former!r} and its new name {current!r}; leave one out.")
        return {
            names.get(key, key): with_current_names(value, found, f"{place}.{key}".lstrip("."))
            for key, value in given.items()
        }
    if isinstance(given, (list, tuple)):
        return [with_current_names(value, found, place) for value in given]
    former, colon, rest = given.partition(":") if isinstance(given, str) else (None, "", "")
    if former not in names:
        return given
    current = names[former] + colon + rest
    found.append(f"{place}: {given!r} is called {current!r} now; this version still reads the former name.")
    return current
