"""Whether texts are English, as the stop words, the sentence boundaries and the default parser are."""

import logging
from collections.abc import Iterable, Sequence

from homogenization.corpus.sentences import is_stop_word, words
from homogenization.run.job import announce

#: Smallest share of stop words in English. Of 2,000 IMDb reviews, the mean is .53 and two lie below; recipes have .43.
#: Texts in nine other languages with Latin letters have 0 to .24, as English headlines and notes have (.09 to .21), so
#: that texts below are told and not refused.
LEAST_SHARE = 0.3
FEWEST_WORDS = 20  # of a text or corpus whose share is judged
_ENGLISH = "Stop words, sentence boundaries and the default parser are English"
_WRONG = (
    "Key phrases by tfidf and keybert, and the sentences of variants that move phrases by the parse, may be wrong; "
    "docs/corpus.md says what to exchange for another language"
)


def stop_word_share(texts: Sequence[str]) -> float | None:
    """Share of English stop words among the words of all `texts` together; words of one letter do not count.

    Returns:
        A number from 0 to 1, or None if the texts have fewer than `FEWEST_WORDS` words.
    """
    return _share(map(_counts, texts))


def _counts(text: str) -> tuple[int, int]:
    """Words, and stop words among them."""
    longer = [word for word in words(text) if len(word) > 1 and not word.isnumeric()]
    return len(longer), sum(map(is_stop_word, longer))


def _share(counts: Iterable[tuple[int, int]]) -> float | None:
    n_words, n_stop_words = map(sum, zip((0, 0), *counts, strict=True))
    return n_stop_words / n_words if n_words >= FEWEST_WORDS else None


def warn_of_other_languages(texts: Sequence[str]) -> None:
    """Show a warning on the terminal if the corpus, or some of its texts, seem not to be English."""
    counts = [_counts(text) for text in texts]
    share = _share(counts)
    n_foreign = sum(_is_foreign(_share([of_text])) for of_text in counts)
    if share is not None:
        logging.info("corpus: %.2f of the words are English stop words", share)
    if _is_foreign(share):
        announce(
            f"corpus: the texts do not seem to be English: {share:.0%} of their words are English stop words (at least "
            f"{LEAST_SHARE:.0%} are expected of prose, and headlines have fewer). {_ENGLISH}. {_WRONG}."
        )
    elif n_foreign:
        announce(
            f"corpus: {n_foreign} of {len(texts)} texts do not seem to be English: fewer than {LEAST_SHARE:.0%} of "
            f"their words are English stop words, as of headlines or notes. {_ENGLISH}. {_WRONG}."
        )


def _is_foreign(share: float | None) -> bool:
    return share is not None and share < LEAST_SHARE
