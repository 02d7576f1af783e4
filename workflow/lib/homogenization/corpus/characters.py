"""Characters whose reading must not depend on the Unicode table of the interpreter, written out.

Python 3.11 has Unicode 14, 3.12 has 15, and 3.13 has 15.1. What is removed and composed decides the name of a review,
and what is a word decides whether it is sampled; so the sets here take the place of the table's categories.
"""

import re
from collections.abc import Iterator
from unicodedata import combining, normalize

# never seen: controls but white space, format characters (zero width space, joiners, soft hyphen, byte order mark),
# surrogates, private use, noncharacters. A character that a table does not assign yet (a new emoji) is text.
_FORMAT = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f"
)
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(f"{chr(end - 1)}-{chr(end)}" for end in range(0xFFFF, 0xF0000, 0x10000))
_INVISIBLE = re.compile(
    rf"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f{_FORMAT}\ud800-\udfff\ue000-\uf8ff{_NONCHARACTERS}\U000f0000-\U0010ffff]+"
)
#: Letters and numbers that Unicode 15.1 has and Unicode 14 has not, for a class of a regular expression: no words.
NEWER = (
    "\U0001123f-\U00011240\U00011f02\U00011f04-\U00011f10\U00011f12-\U00011f33\U00011f50-\U00011f59\U0001342f"
    "\U00013441-\U00013446\U0001b132\U0001b155\U0001d2c0-\U0001d2d3\U0001df25-\U0001df2a\U0001e030-\U0001e06d"
    "\U0001e4d0-\U0001e4eb\U0001e4f0-\U0001e4f9\U0002b739\U0002ebf0-\U0002ee5d\U00031350-\U000323af"
)
# marks of Unicode 15 that combine there, and do not in Unicode 14
_NEWER_MARKS = frozenset(map(chr, (*range(0x10EFD, 0x10F00), 0x11F41, 0x11F42, 0x1E08F, *range(0x1E4EC, 0x1E4F0))))
# marks in a row that are put in order together, in a time that grows with the square of their number; Unicode's
# stream-safe format has 30 (UAX 15)
_MOST_MARKS = 100


def visible(text: str) -> str:
    """`text` without characters that are never seen, except white space."""
    return _INVISIBLE.sub("", text)


def composed(text: str) -> str:
    """`text` in Unicode's composed form (NFC), as Unicode 14 defines it, in time that grows with its length."""
    return text if text.isascii() else "".join(normalize("NFC", piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    """Pieces that compose apart: newer marks, and what stands between them and behind too many marks in a row."""
    start = n_marks = 0
    for place, character in enumerate(text):
        n_marks = n_marks + 1 if combining(character) else 0
        if character in _NEWER_MARKS:
            yield text[start:place]
            yield character
            start, n_marks = place + 1, 0
        elif n_marks > _MOST_MARKS:
            yield text[start:place]
            start, n_marks = place, 1
    yield text[start:]
