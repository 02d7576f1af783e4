"""The labels of views in figures, for those of the spectra and those of the geometry, and their order."""

from collections.abc import Iterable

from homogenization.measures.views import ROWS_OF, VIEWS, look_of
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

_TOKENS = {ALL_TOKENS: "all tokens", WITHOUT_FIRST: "without the first token"}


def view_label(view: str) -> str:
    """`as is, without the first token` for `raw_without_first`; any other name, with spaces."""
    if view in VIEWS:
        look, without_first = look_of(view)
        return f"{look.title}, {_TOKENS[WITHOUT_FIRST if without_first else ALL_TOKENS]}"
    return _TOKENS.get(view, view.replace("_", " "))


def headline_first(present: Iterable[str]) -> list[str]:
    """The views that are drawn: of the spectra, of the tokens as they are; those without the first token come first."""
    there = set(present)
    return sorted(there & set(ROWS_OF.values()) or there, key=lambda view: (not view.endswith(WITHOUT_FIRST), view))
