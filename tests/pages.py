"""The pages of the documentation, and the tables that they hold."""

from conftest import ROOT

DOCS = ROOT / "docs"


def rows_of(page: str) -> list[list[str]]:
    """The cells of every row of every Markdown table of a page."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
