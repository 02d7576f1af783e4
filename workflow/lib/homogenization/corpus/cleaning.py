"""Cleaning of reviews: it removes web markup and duplicates, and names each review by a hash of its text."""

import html
import logging
import re
from hashlib import blake2b
from unicodedata import category, normalize

import polars as pl
from ftfy import fix_encoding
from ftfy.fixes import fix_c1_controls

from homogenization.corpus.sentences import words
from homogenization.run.errors import HomogenizationError
from homogenization.run.log import announce

_MOST = 0.9  # fewer rows than this share of them are left: the terminal says so too
_BLOCK_TAG = re.compile(
    r"(?i)</?(?:address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|dialog|dir|div|fieldset|figcaption|"
    r"figure|footer|form|frame|frameset|h[1-6r]|head|header|hgroup|html|legend|li|main|menu|nav|noframes|noscript|[ou]l|"
    r"optgroup|option|p|pre|script|search|section|style|summary|t[dhr]|table|tbody|template|textarea|tfoot|thead|title)"
    r"\b(?!-)[^<>]*>"
)
_INLINE_TAG = re.compile(
    r"(?i)</?(?:a|abbr|acronym|applet|area|audio|b|base|basefont|bd[io]|big|button|canvas|cite|code|col|colgroup|data|"
    r"datalist|del|dfn|em|embed|font|i|iframe|img|input|ins|kbd|label|link|map|mark|marquee|meta|meter|nobr|object|output|"
    r"param|picture|progress|q|r[pt]|ruby|s|samp|select|slot|small|source|span|strike|strong|su[bp]|svg|time|track|tt|u|"
    r"var|video|wbr)\b(?!-)[^<>]*>"
)
_UNSHOWN = re.compile(r"(?is)<!--.*?-->|<!doctype\b[^<>]*>|<(script|style)\b[^<>]*>.*?</\1\s*>")
_UNSEEN = ("Cc", "Cf", "Cs", "Co")  # controls, format characters such as a soft hyphen, surrogates, private use


def clean_text(text: str) -> str:
    """Remove web markup from a review; cleaning a cleaned review changes nothing.

    HTML entities are decoded, also those escaped twice. Tags of HTML's elements, comments, scripts, styles, control and
    other invisible characters are removed. Characters that were read in a wrong encoding (UTF-8 as Windows-1252 or
    MacRoman, Windows-1252 as Latin-1) are corrected by ftfy (Speer 2019). Unicode becomes composed (NFC), and runs of
    white space become single spaces.
    """
    while (cleaned := _cleaned_once(text)) != text:
        text = cleaned
    return text


def _cleaned_once(text: str) -> str:
    text = html.unescape(text)
    text = _INLINE_TAG.sub("", _BLOCK_TAG.sub(" ", _UNSHOWN.sub("", text)))
    text = fix_c1_controls(fix_encoding(text))
    text = normalize("NFC", text)
    if not text.isascii() or not text.isprintable():
        text = "".join(one for one in text if one.isspace() or category(one) not in _UNSEEN)
    return " ".join(text.split())


def review_id(text: str) -> str:
    """The name of the review with the cleaned `text`: 12 hexadecimal digits of BLAKE2b."""
    return blake2b(text.encode(), digest_size=6).hexdigest()


def clean_reviews(raw: pl.DataFrame) -> pl.DataFrame:
    """Clean the reviews and drop empty ones, unlabelled ones and exact duplicates.

    Args:
        raw: Columns row (Int64), text and label (String) and further ones, as `read_reviews` gives them.

    Returns:
        Columns review_id, row, text, label, n_words (Int64) and the further ones, sorted by review_id, so the order
        of `raw` does not matter. Of duplicates, the alphabetically first label stays, and its first row.

    Raises:
        HomogenizationError: no review is left.
    """
    labelled = raw.drop_nulls(["text", "label"])
    texts = [clean_text(text) for text in labelled["text"]]
    named = labelled.select(
        pl.Series("review_id", [review_id(text) for text in texts], pl.String),
        "row",
        pl.Series("text", texts, pl.String),
        "label",
        pl.Series("n_words", [len(words(text)) for text in texts], pl.Int64),
        pl.exclude("row", "text", "label"),
    )
    worded = named.filter(pl.col("n_words") > 0).sort("review_id", "label", "row")
    clean = worded.unique("text", keep="first", maintain_order=True)
    if clean.is_empty():
        raise HomogenizationError(
            f"none of the {len(raw)} rows has both words and a label. Check text_column and label_column."
        )
    summary = (
        f"corpus: {len(clean)} reviews of {len(raw)} rows are left after cleaning ({len(raw) - len(worded)} without "
        f"words or a label, {len(worded) - len(clean)} duplicates)"
    )
    announce(summary) if len(clean) < _MOST * len(raw) else logging.info(summary)
    return clean
