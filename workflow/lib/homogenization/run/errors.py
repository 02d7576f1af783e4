"""The one exception whose message is written for the person who runs the workflow, and a hint that messages give."""

from collections.abc import Iterable
from difflib import get_close_matches


class HomogenizationError(Exception):
    """A problem that the user can solve; the message names the key or file, the value, what is allowed, what to do."""


def nearest(word: str, words: Iterable[str]) -> str:
    """' (did you mean …?)' with the word of `words` that is closest to `word`, or nothing."""
    close = get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
