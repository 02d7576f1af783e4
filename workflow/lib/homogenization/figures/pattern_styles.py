"""The look and the labels of the dial's patterns: where attention is sent in colour, controls in grey."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from matplotlib.lines import Line2D

_COLOURS = ("#0173b2", "#d55e00", "#029e73", "#cc78bc", "#de8f05", "#56b4e9")  # seaborn's palette "colorblind"
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2)), (0, (3, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P")
_CONTROLS = {  # control -> grey, dashes, marker
    "removed": ("#222222", (0, (4, 2)), "x"),
    "uniform": ("#8a8a8a", "-", "+"),
    "scattered": ("#8a8a8a", (0, (1, 1.5)), "1"),
    "permuted": ("#555555", (0, (6, 2, 1, 2)), "2"),
    "permuted_template": ("#8a8a8a", (0, (4, 2)), "x"),
}
_PLACES = ("first", "second", "ends", "recency", "self", "template")  # those with a look of their own
_LABELS = {
    "first": "first token",
    "second": "second token",
    "ends": "first and last token",
    "recency": "recent tokens",
    "self": "itself",
    "removed": "nowhere (removed)",
    "uniform": "all tokens alike",
    "scattered": "a scattered token",
    "permuted": "permuted",
    "template": "by position (template)",
    "permuted_template": "template, permuted",
}


class PatternStyle(NamedTuple):
    """How a pattern is drawn in every figure."""

    colour: str
    dashes: Any
    marker: str
    control: bool


def pattern_styles(patterns: Iterable[str]) -> dict[str, PatternStyle]:
    """The style of each of `patterns`, those that are no control first, each in its own order."""
    present = set(patterns)
    further = sorted(present - set(_PLACES) - set(_CONTROLS))
    places = [name for name in (*_PLACES, *further) if name in present]
    order = {name: index for index, name in enumerate((*_PLACES, *further))}
    styles = {
        name: PatternStyle(*(looks[order[name] % len(looks)] for looks in (_COLOURS, _DASHES, _MARKERS)), False)
        for name in places
    }
    return styles | {name: PatternStyle(*look, True) for name, look in _CONTROLS.items() if name in present}


def pattern_label(pattern: str) -> str:
    """`first token` for `first`; any other name as it is, with spaces."""
    return _LABELS.get(pattern, pattern.replace("_", " "))


def pattern_handles(styles: dict[str, PatternStyle]) -> list[Line2D]:
    """Legend entries of patterns; a control says so."""
    return [
        Line2D(
            [],
            [],
            color=style.colour,
            ls=style.dashes,
            marker=style.marker,
            label=f"control: {pattern_label(name)}" if style.control else pattern_label(name),
        )
        for name, style in styles.items()
    ]
