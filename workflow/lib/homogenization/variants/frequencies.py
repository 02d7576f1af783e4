"""Document frequencies: the number of reviews of the corpus in which each phrase occurs."""

from collections import Counter
from collections.abc import Iterable

import polars as pl

from homogenization.run.errors import HomogenizationError
from homogenization.variants.keyphrases import candidates


def count_document_frequencies(
    texts: Iterable[str], ngram_range: tuple[int, int], min_document_frequency: int = 1
) -> pl.DataFrame:
    """Count in how many reviews each candidate phrase occurs.

    Args:
        texts: Cleaned reviews of the whole corpus.
        ngram_range: Smallest and largest number of words of a phrase.
        min_document_frequency: Smallest number of reviews; the table leaves rarer phrases out.

    Returns:
        Columns term (String), document_frequency (Int64), sorted by term.

    Raises:
        HomogenizationError: no phrase is frequent enough.
    """
    counts = Counter(term for text in texts for term in {phrase.term for phrase in candidates(text, ngram_range)})
    frequent = {term: count for term, count in counts.items() if count >= min_document_frequency}
    if not frequent:
        raise HomogenizationError(
            f"keyphrases: no phrase of {ngram_range[0]} to {ngram_range[1]} words occurs in "
            f"{min_document_frequency} reviews or more. Lower min_document_frequency or give a larger corpus."
        )
    return pl.DataFrame(
        {"term": list(frequent), "document_frequency": list(frequent.values())},
        schema={"term": pl.String, "document_frequency": pl.Int64},
    ).sort("term")
