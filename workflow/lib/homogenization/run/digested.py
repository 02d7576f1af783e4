"""Parameters of rules that Snakemake keeps, compares and shows by a digest."""

import json
from hashlib import sha256
from typing import Any


class Digested(list[Any]):
    """A list of plain values whose text is its length and digest.

    Snakemake compares parameters by their text and shows it whole, before and after, as the reason of a job. A job gets
    the entries.
    """

    def __repr__(self) -> str:
        """Such as `58 entries, SHA-256 0f3a9c…`; it differs where an entry, its place or the number of entries does."""
        digest = sha256(json.dumps(list(self), sort_keys=True).encode()).hexdigest()
        return f"{len(self)} entries, SHA-256 {digest}"


class DigestedText(Digested):
    """A text, such as a template, as a list of one entry; its job gets the text (`run.job.arguments`).

    A string would not do: the report writes parameters by `str` into a script, which the template of a page would end.
    """
