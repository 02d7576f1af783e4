"""The labels of views in figures, for those of the spectra and those of the geometry, and their order."""

from collections.abc import Iterable, Sequence

from homogenization.measures.views import VIEWS, look_of
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

_TOKENS = {ALL_TOKENS: "all tokens", WITHOUT_FIRST: "without the first token"}


def view_label(view: str) -> str:
    """`as is, without the first token` for `raw_without_first`; any other name, with spaces."""
    if view in VIEWS:
        look, without_first = look_of(view)
        return f"{look.title}, {_TOKENS[WITHOUT_FIRST if without_first else ALL_TOKENS]}"
    return _TOKENS.get(view, view.replace("_", " "))


def headline_first(present: Iterable[str], wanted: Sequence[str] = ()) -> list[str]:
    """Those of the `wanted` views that are `present`, or all that are; those without the first token come first."""
    there = set(present)
    chosen = [view for view in wanted if view in there] or sorted(there)
    return sorted(chosen, key=lambda view: not view.endswith(WITHOUT_FIRST))
