"""Templates among the parameters of rules: an edit of one runs again what is written by it."""

from hashlib import sha256


class Template(list[str]):
    """A template's text, alone in a list, which Snakemake keeps, compares and shows by its digest.

    A report writes parameters into a script, which the text of a page would end.
    """

    def __repr__(self) -> str:
        """Such as `SHA-256 0f3a9c…`."""
        return f"SHA-256 {sha256(self[0].encode()).hexdigest()}"
