"""The look of every figure and page: colours, styles of lines that have names, and matplotlib's settings.

No other module, template or style sheet holds a colour. Templates of pages get `COLOURS` by name.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import cycle
from typing import Any, NamedTuple

from homogenization.names.verdicts import NEGLIGIBLE, NO, NOT_TESTED, UNDECIDED, YES

# the palette "colorblind" of seaborn
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"
BROWN, SILVER, SKY = "#ca9161", "#949494", "#56b4e9"
STEPS = ("#6db290", "#44948f", "#24768b", "#215584", "#2c3172")  # its palette "crest": parts, and rungs of a ladder
DIVERGING = "RdBu_r"  # what lies on both sides of a middle
# greys, from ink to paper
DARK, NOTE, PLAIN, GREY = "#222222", "#444444", "#595959", "#7a7a7a"
RULE, EMPTY, MARGIN, GRID, ALIKE = "#bbbbbb", "#cccccc", "#dcdcdc", "#e6e6e6", "#f3f3f3"
BLACK, WHITE = "black", "white"
LINK, WARNING, SLATE = "#00558c", "#f5a54a", "#7a96a3"
COLOURS = {  # what templates of pages call them
    "ink": DARK,
    "note": NOTE,
    "grey": PLAIN,
    "rule": RULE,
    "paper": WHITE,
    "black": BLACK,
    "link": LINK,
    # red, green and blue of the stops of a scale
    "diverging": [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]],
}

DEPTH = "Relative depth (layer / blocks)"
FULL = 1.6  # width of a line in points
ZERO = {"color": DARK, "lw": 0.9, "zorder": 1}
BAND = {"alpha": 0.18, "lw": 0}
DASHED, DOTTED, DASH_DOTTED = (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5))


class LineStyle(NamedTuple):
    """How a variant, a pattern of attention or a part of the depth is drawn in every figure."""

    colour: str
    dashes: Any = "-"
    marker: str = ""
    width: float = FULL
    open: bool = False  # the marker

    def look(self) -> dict[str, Any]:
        """The arguments of matplotlib's `plot`."""
        face = WHITE if self.open else self.colour
        return {"color": self.colour, "ls": self.dashes, "marker": self.marker, "lw": self.width, "mfc": face}


DOT = LineStyle(DARK, "", "o")
DECISIONS = {"decided": DOT, "undecided or negligible": DOT._replace(open=True)}
MARGINS = {"margin: negligible": LineStyle(MARGIN, width=8), "tokens more alike": LineStyle(ALIKE, width=8)}
_VARIANTS = {
    "original": LineStyle(DARK, "-", "o"),
    "front": LineStyle(BLUE, DASHED, "^"),
    "end": LineStyle(ORANGE, DOTTED, "s"),
}
# colours and markers are of different numbers, so that a repeated colour has another form
_FURTHER = tuple(
    map(LineStyle, 7 * (PURPLE, VERMILION, SKY, BROWN, SILVER), cycle((DASH_DOTTED, DASHED)), 5 * "vPX<>*p")
)


def variant_styles(variants: Iterable[str], ladder: Sequence[str] = ()) -> dict[str, LineStyle]:
    """The style of each variant of a study, in their order; those of `ladder` are darker with growing disorder."""
    shades = {name: STEPS[place * 4 // max(len(ladder) - 1, 1)] for place, name in enumerate(ladder)}
    rungs = {name: LineStyle(colour, DOTTED, "D") for name, colour in shades.items()}
    further = cycle(_FURTHER)
    return {name: (_VARIANTS | rungs).get(name) or next(further) for name in variants}


def pattern_styles(patterns: Iterable[str], controls: Sequence[str]) -> dict[str, LineStyle]:
    """The style of each of `patterns` of attention; controls come last and are grey."""
    present = sorted(set(patterns), key=lambda name: (name in controls, name))
    looks = map(LineStyle, cycle((BLUE, VERMILION, GREEN, PURPLE, ORANGE)), cycle(("-", DASHED)), cycle("os^Dvx+12"))
    styles = dict(zip(present, looks, strict=False))
    return styles | {name: styles[name]._replace(colour=GREY) for name in present if name in controls}


class Look(NamedTuple):
    """The look of a verdict; verdicts differ by sign, darkness and colour."""

    sign: str
    colour: str
    ink: str


VERDICTS = {
    YES: Look("✓", LINK, WHITE),
    NO: Look("✗", WARNING, DARK),
    NEGLIGIBLE: Look("≈", SLATE, BLACK),
    UNDECIDED: Look("?", MARGIN, DARK),
    NOT_TESTED: Look("–", WHITE, GREY),
}

REPORT, PAPER = "report", "paper"  # with title and note; of the width of a column, without them
_SETTINGS = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same on every machine
    # letters are outlines: where DejaVu is missing, another font would make labels run into each other
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # the font is in the file, as TrueType, which journals want
    "svg.hashsalt": "homogenization",
    "axes.titleweight": "bold",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
}
_SIZES = {"font.size": 10, "axes.titlesize": 10, "axes.labelsize": 10, "legend.fontsize": 10}
_SIZES |= {"xtick.labelsize": 9, "ytick.labelsize": 9}


def house_style(style: str = REPORT) -> AbstractContextManager:
    """Context in which matplotlib has the settings of all figures; in the style `paper`, text has 8 points at most."""
    from matplotlib import rc_context  # pages need the colours alone

    sizes = {name: 0.8 * size if style == PAPER else size for name, size in _SIZES.items()}
    return rc_context(_SETTINGS | sizes)


def is_paper() -> bool:
    """Whether the style `paper` is in force."""
    from matplotlib import rcParams

    return rcParams["font.size"] < _SIZES["font.size"]
