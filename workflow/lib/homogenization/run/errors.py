"""The exception whose message addresses the person who runs the workflow, and a hint for such messages."""

from collections.abc import Iterable
from difflib import get_close_matches


class HomogenizationError(Exception):
    """A problem that the user can solve; the message names key or file, value, allowed values and remedy."""


def nearest(word: str, words: Iterable[str]) -> str:
    """The hint ' (did you mean …?)' with the word of `words` closest to `word`; empty if none is close."""
    close = get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
