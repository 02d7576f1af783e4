"""Cleaning of reviews: it removes web markup and duplicates, and names each review by a hash of its text.

Texts that are not English are told, since stop words, sentence boundaries and the default parser are English.
"""

import html
import logging
import re
from collections.abc import Sequence
from hashlib import blake2b

import polars as pl
from ftfy import fix_encoding
from ftfy.fixes import fix_c1_controls

from homogenization.corpus.characters import composed, visible
from homogenization.corpus.sentences import is_stop_word, word_spans, words
from homogenization.run.errors import HomogenizationError
from homogenization.run.job import announce

_MOST = 0.9  # fewer rows than this share of them are left: the terminal says so too
_BLOCK_TAG = re.compile(r"</?(?:br|p|hr|div|li|ul|ol)\b[^<>]*>", re.IGNORECASE)
# an ampersand that was escaped again and again: each turn of `clean_text` would undo one of them
_AMPERSANDS = re.compile(r"&(?:(?:amp|AMP);?|#0*38(?:;|(?![0-9]))|#[xX]0*26(?:;|(?![0-9a-fA-F])))+")
_MOST_TURNS = 50  # of markup within markup, as in <<b>b>
_INLINE_TAG = re.compile(r"</?(?:i|b|em|strong|u|s|span|a|font)\b[^<>]*>", re.IGNORECASE)
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


def clean_text(text: str) -> str:
    """Remove web markup from a review; cleaning a cleaned review changes nothing.

    HTML entities are decoded, also those escaped twice. HTML tags, control and other invisible characters are removed.
    Characters that were read in a wrong encoding (UTF-8 as Windows-1252 or MacRoman, Windows-1252 as Latin-1) are
    corrected by ftfy (Speer 2019). Unicode becomes composed (NFC), and runs of white space become single spaces. Where
    markup stands within markup, `_MOST_TURNS` are undone and what is left stays, which the log says: it is no text of a
    reader.
    """
    for _ in range(_MOST_TURNS):
        if (cleaned := _cleaned_once(text)) == text:
            return text
        text = cleaned
    logging.warning("corpus: markup within markup, over %d deep, stays in the text: %.60s …", _MOST_TURNS, text)
    return text


def _cleaned_once(text: str) -> str:
    text = html.unescape(_AMPERSANDS.sub("&", text))
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub(" ", text))
    text = fix_c1_controls(fix_encoding(text))
    return " ".join(visible(composed(text)).split())


def review_id(text: str) -> str:
    """The name of the review with the cleaned `text`: 12 hexadecimal digits of BLAKE2b."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def clean_reviews(raw: pl.DataFrame) -> pl.DataFrame:
    """Clean the reviews and drop empty ones, unlabelled ones and exact duplicates; warn of texts that are not English.

    Args:
        raw: Columns row (Int64), text and label (String), as `read_reviews` gives them.

    Returns:
        Columns review_id, row, text, label, n_words (Int64), sorted by review_id, so the order of `raw` does not
        matter. Of duplicates, the alphabetically first label stays, and its first row.

    Raises:
        HomogenizationError: no review is left.
    """
    labelled = raw.drop_nulls(["text", "label"])
    texts = [clean_text(text) for text in labelled["text"]]
    worded = labelled.select(
        pl.Series("review_id", [review_id(text) for text in texts], pl.String),
        "row",
        pl.Series("text", texts, pl.String),
        "label",
        pl.Series("n_words", [len(word_spans(text)) for text in texts], pl.Int64),
    ).filter(pl.col("n_words") > 0)
    clean = worded.sort("review_id", "label", "row").unique("text", keep="first", maintain_order=True)
    left_out = {
        "without text": raw["text"].null_count(),
        "without a label": raw.drop_nulls("text")["label"].null_count(),
        "without words": len(labelled) - len(worded),
        "duplicates": len(worded) - len(clean),
    }
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number)
    told = f"corpus: {len(clean)} reviews of {len(raw)} rows are left after cleaning ({reasons or 'none left out'})"
    announce(told) if len(clean) < _MOST * len(raw) else logging.info(told)
    if clean.is_empty():
        raise HomogenizationError(
            f"corpus: none of the {len(raw)} rows has both words and a label. Check text_column and label_column."
        )
    warn_of_other_languages(clean["text"].to_list())
    return clean


def word_counts(text: str) -> tuple[int, int]:
    """Words of more than one letter, and English stop words among them."""
    longer = [word for word in words(text) if len(word) > 1 and not word.isnumeric()]
    return len(longer), sum(map(is_stop_word, longer))


def stop_word_share(*counts: tuple[int, int]) -> float | None:
    """Share of stop words in texts with these `word_counts`; None if these are below `FEWEST_WORDS` together."""
    n_words, n_stop_words = map(sum, zip((0, 0), *counts, strict=True))
    return n_stop_words / n_words if n_words >= FEWEST_WORDS else None


def warn_of_other_languages(texts: Sequence[str]) -> None:
    """Show a warning on the terminal if the corpus, or some of its texts, seem not to be English."""
    counts = [word_counts(text) for text in texts]
    share = stop_word_share(*counts)
    n_foreign = sum(_is_foreign(stop_word_share(of_text)) for of_text in counts)
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
