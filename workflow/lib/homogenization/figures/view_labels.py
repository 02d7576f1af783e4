"""The labels of views in figures, for those of the spectra and those of the geometry."""

from homogenization.measures.views import VIEWS, look_of
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

_TOKENS = {ALL_TOKENS: "all tokens", WITHOUT_FIRST: "without the first token"}


def view_label(view: str) -> str:
    """`as is, without the first token` for `raw_without_first`; any other name, with spaces."""
    if view in VIEWS:
        look, without_first = look_of(view)
        return f"{look.title}, {_TOKENS[WITHOUT_FIRST if without_first else ALL_TOKENS]}"
    return _TOKENS.get(view, view.replace("_", " "))
