"""What readers said of rewritten sentences, from the sheets of an audit that they filled in."""

import csv
from collections.abc import Sequence
from pathlib import Path

from homogenization.run.errors import HomogenizationError

# What a reader says of a rewritten passage: yes or no to each. A passage is sound where all four are yes.
QUESTIONS = {
    "well_formed": "It is good English, or as good as the original.",
    "same_meaning": "It says the same.",
    "complete": "It leaves nothing out.",
    "no_repeats": "It says nothing twice.",
}
_ANSWERS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}


def readings(files: Sequence[str]) -> list[dict[str, bool]]:
    """What each reader found sound, by item; items without all four answers are left out.

    Args:
        files: CSV files with the columns item and `QUESTIONS`, one for each reader; further columns are ignored.

    Raises:
        HomogenizationError: a file can't be read, lacks a column, or answers something else than yes or no.
    """
    return [_reading(file) for file in files]


def _reading(file: str) -> dict[str, bool]:
    found: dict[str, bool] = {}
    try:
        for row in csv.DictReader(Path(file).read_text(encoding="utf-8-sig").splitlines(), restval=""):
            given = [row[name].strip().casefold() for name in QUESTIONS]
            if all(given):
                found[row["item"]] = {_ANSWERS[answer] for answer in given} == {True}
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise HomogenizationError(
            f"the ratings {file} can't be read, lack a column, or answer something else than yes or no ({error}). Fill "
            "in the sheet of `snakemake audit`."
        ) from None
    return found
