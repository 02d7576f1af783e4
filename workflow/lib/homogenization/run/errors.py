"""The exception whose message addresses the person who runs the workflow, and words for such messages."""

from collections.abc import Iterable
from difflib import get_close_matches

# what others call words that the configuration allows
_SYNONYMS = {
    **dict.fromkeys(("mean_cosine", "average_cosine", "anisotropy", "cosine_similarity"), "cosine_anisotropy"),
    **dict.fromkeys(("erank", "rank"), "effective_rank"),
    **dict.fromkeys(("mev", "explained_variance", "explainable_variance"), "max_explainable_variance"),
    "gpu": "cuda",
    **dict.fromkeys(("start", "begin", "beginning", "first"), "front"),
}


class HomogenizationError(ValueError):
    """A problem that the user can solve; the message names key or file, value, allowed values and remedy."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the error's type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def nearest(word: str, words: Iterable[str]) -> str:
    """The hint ' (did you mean …?)' with the word of `words` that means or is spelt like `word`; empty if none does."""
    known = list(words)
    close = [meant for meant in [_SYNONYMS.get(word.lower())] if meant in known] or get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
