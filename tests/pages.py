"""The pages of the documentation, and the examples on them."""

import re

from conftest import ROOT

DOCS = ROOT / "docs"


def blocks(language: str, page: str) -> list[str]:
    """The fenced blocks of a page in a language, which may have a title."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
