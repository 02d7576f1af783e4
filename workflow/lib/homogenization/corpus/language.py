"""Whether texts are English, as the stop words, the sentence boundaries and the default parser are."""

import logging
from collections.abc import Sequence

from homogenization.corpus.sentences import is_stop_word, words
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import announce

#: Smallest share of stop words in English. Of 2,000 IMDb reviews, the mean is .53 and two lie below; recipes have .43.
#: Texts in nine other languages with Latin letters have 0 to .24.
LEAST_SHARE = 0.3
FEWEST_WORDS = 20  # of a text or corpus whose share is judged
_ENGLISH = "Stop words, sentence boundaries and the default parser are English"
_OTHER = "docs/corpus.md says what to exchange for another language"


def stop_word_share(texts: Sequence[str]) -> float | None:
    """Share of English stop words among the words of all `texts` together; words of one letter do not count.

    Returns:
        A number from 0 to 1, or None if the texts have fewer than `FEWEST_WORDS` words.
    """
    n_words = n_stop_words = 0
    for text in texts:
        longer = [word for word in words(text) if len(word) > 1 and not word.isnumeric()]
        n_words += len(longer)
        n_stop_words += sum(map(is_stop_word, longer))
    return n_stop_words / n_words if n_words >= FEWEST_WORDS else None


def warn_of_other_languages(texts: Sequence[str]) -> None:
    """Show a warning on the terminal if the corpus, or some of its texts, seem not to be English."""
    share = stop_word_share(texts)
    n_foreign = sum(_is_foreign(stop_word_share([text])) for text in texts)
    if share is not None:
        logging.info("corpus: %.2f of the words are English stop words", share)
    if _is_foreign(share):
        announce(
            f"corpus: the texts do not seem to be English: {share:.0%} of their words are English stop words (at least "
            f"{LEAST_SHARE:.0%} are expected). {_ENGLISH}: key phrases will be wrong, and variants by rule are refused."
        )
    elif n_foreign:
        announce(
            f"corpus: {n_foreign} of {len(texts)} texts do not seem to be English: fewer than {LEAST_SHARE:.0%} of "
            f"their words are English stop words. {_ENGLISH}: key phrases of these texts may be wrong."
        )


def require_english(texts: Sequence[str], variant: str) -> None:
    """Refuse texts that are not English, together, for a variant whose sentences are parsed.

    Raises:
        HomogenizationError: too few of their words are English stop words.
    """
    share = stop_word_share(texts)
    if _is_foreign(share):
        raise HomogenizationError(
            f"corpus: the {len(texts)} texts of this shard are not English: {share:.0%} of their words are English "
            f"stop words, and at least {LEAST_SHARE:.0%} are expected. {_ENGLISH}, and the variant '{variant}' would "
            f"move wrong phrases. Give English texts, or leave out the variants that move phrases; {_OTHER}."
        )


def _is_foreign(share: float | None) -> bool:
    return share is not None and share < LEAST_SHARE
