"""Document frequencies: the number of reviews of the corpus in which each word occurs."""

from collections import Counter
from collections.abc import Iterable

import polars as pl

from homogenization.corpus.sentences import is_stop_word, words
from homogenization.run.errors import HomogenizationError


def count_document_frequencies(texts: Iterable[str], min_document_frequency: int = 1) -> pl.DataFrame:
    """Count in how many reviews each word occurs; stop words are left out.

    Args:
        texts: Cleaned reviews of the whole corpus.
        min_document_frequency: Smallest number of reviews; the table leaves rarer words out.

    Returns:
        Columns word (String), document_frequency (Int64), sorted by word.

    Raises:
        HomogenizationError: no word is frequent enough.
    """
    counts = Counter(word for text in texts for word in set(words(text)) if not is_stop_word(word))
    frequent = {word: count for word, count in counts.items() if count >= min_document_frequency}
    if not frequent:
        raise HomogenizationError(
            f"keyphrases: no word occurs in {min_document_frequency} reviews or more. Lower min_document_frequency or "
            "give a larger corpus."
        )
    return pl.DataFrame(
        {"word": list(frequent), "document_frequency": list(frequent.values())},
        schema={"word": pl.String, "document_frequency": pl.Int64},
    ).sort("word")
