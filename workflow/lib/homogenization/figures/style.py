"""The look of every figure and page: all colours, line widths and markers, and the styles of lines that have names.

No other module, template or style sheet holds a colour. Templates of pages get `COLOURS` by name.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from homogenization.names.verdicts import NEGLIGIBLE, NO, NOT_TESTED, UNDECIDED, YES

# seaborn's palette "colorblind"
BLUE, ORANGE, GREEN, VERMILION, PURPLE = "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"
BROWN, PINK, SILVER, YELLOW, SKY = "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"
# greys, from ink to paper
DARK, NOTE, EDGE, PLAIN, GREY, CONTROL = "#222222", "#444444", "#555555", "#595959", "#7a7a7a", "#8a8a8a"
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
    "warning": WARNING,
    # red, green and blue of the stops of two scales
    "diverging": [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]],
    "sequential": [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]],
}

QUARTERS = ("#6db290", "#44948f", "#24768b", "#215584")  # of the depth; seaborn's palette "crest"

HAIR, FINE, LIGHT, STRONG, FULL = 0.6, 0.8, 1.0, 1.2, 1.6  # widths of lines in points
ZERO = {"color": DARK, "lw": 0.9}
REFERENCE = {"color": DARK, "ls": "--", "lw": LIGHT}  # what a curve is compared with
BAND = {"alpha": 0.18, "lw": 0}
THIN = {"lw": LIGHT, "marker": ""}  # what stands behind something else
OF_CONTROL = {"lw": LIGHT, "ms": 4.5}
OPEN = {"mfc": WHITE}
DASHED, DOTTED, DASH_DOTTED, LONG_DASHED = (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)), (0, (9, 2))


class LineStyle(NamedTuple):
    """How a variant, a pattern of attention or a quantity is drawn in every figure; a control is grey or open.

    The label is that of the legend, for names that the configuration does not label.
    """

    colour: str
    dashes: Any = "-"
    marker: str = ""
    control: bool = False
    label: str = ""


PLAIN_LINE = LineStyle(DARK)
REPORT, PAPER = "report", "paper"  # with title and note; of the width of a column, without them
_VARIANTS = {  # they differ by colour, darkness and form
    "original": LineStyle(DARK, "-", "o"),
    "front": LineStyle(BLUE, DASHED, "^"),
    "end": LineStyle(ORANGE, DOTTED, "s"),
}
# the lists have coprime or different lengths, so that a repeated colour has another form
_FURTHER_VARIANTS = (
    (PURPLE, VERMILION, SKY, BROWN, SILVER),
    (LONG_DASHED, (0, (3, 1, 1, 1, 1, 1)), (0, (4, 3)), (0, (1, 2.5))),
    ("v", "P", "X", "<", ">", "*", "p"),
)
_PLACES = {  # patterns with a style of their own -> their labels
    "first": "first token",
    "second": "second token",
    "ends": "first and last token",
    "recency": "recent tokens",
    "self": "itself",
}
_PATTERNS = (
    (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY),
    ("-", DASHED, DOTTED, DASH_DOTTED, LONG_DASHED, (0, (3, 1, 1, 1))),
    ("o", "s", "^", "D", "v", "P"),
)
_CONTROLS = {
    "removed": LineStyle(DARK, (0, (4, 2)), "x", True, "nowhere (removed)"),
    "uniform": LineStyle(CONTROL, "-", "+", True, "all tokens alike"),
    "scattered": LineStyle(CONTROL, (0, (1, 1.5)), "1", True, "a scattered token"),
    "permuted": LineStyle(EDGE, (0, (6, 2, 1, 2)), "2", True, "permuted"),
}
EXTREMA = {
    "peak": LineStyle(VERMILION, "", "^", label="peak"),
    "trough": LineStyle(BLUE, "", "v", label="trough"),
}
CONDITIONS = {
    "masked": LineStyle(BLUE, "-", "o", label="key masked"),
    "positions": LineStyle(GREEN, "-", "o", label="equal positions"),
}
OTHER_CONDITIONS = tuple(map(LineStyle, (BROWN, YELLOW, SILVER, SKY, PINK), "-----", "*Xh<>"))
PLACEBO_MARKERS = ("s", "D", "^", "v", "o", "P")


def variant_styles(variants: Iterable[Sequence[str]], present: Collection[str] | None = None) -> dict[str, LineStyle]:
    """The style of each variant by name; the standard ones are fixed, others take the next of a list.

    Args:
        variants: (name, label) of all variants of the study.
        present: those that have a style in the result; all where it is None.
    """
    names = [name for name, _ in variants]
    further = [name for name in names if name not in _VARIANTS]
    styles = _VARIANTS | {name: _nth(_FURTHER_VARIANTS, place) for place, name in enumerate(further)}
    return {name: styles[name] for name in names if present is None or name in present}


def pattern_styles(patterns: Iterable[str]) -> dict[str, LineStyle]:
    """The style of each of `patterns` of attention, those that are no control first, each in its own order."""
    present = set(patterns)
    order = (*_PLACES, *sorted(present - set(_PLACES) - set(_CONTROLS)))
    styles = {name: _nth(_PATTERNS, place) for place, name in enumerate(order)} | _CONTROLS
    labels = {name: style.label or _PLACES.get(name, name.replace("_", " ")) for name, style in styles.items()}
    return {name: style._replace(label=labels[name]) for name, style in styles.items() if name in present}


def _nth(looks: Iterable[Sequence[Any]], place: int) -> LineStyle:
    """The style number `place` of lists of colours, dashes and markers, each of which begins again at its end."""
    return LineStyle(*(values[place % len(values)] for values in looks))


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

_SETTINGS = {
    "text.color": ".15",
    "axes.labelcolor": ".15",
    "lines.solid_capstyle": "round",
    "patch.edgecolor": WHITE,
    "patch.force_edgecolor": True,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same on every machine
    "svg.fonttype": "none",  # text is text: it can be searched, and a browser has letters that the font lacks
    "pdf.fonttype": 42,  # fonts are in the file
    "svg.hashsalt": "homogenization",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 10,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": EDGE,
    "axes.linewidth": 0.8,
    "xtick.color": EDGE,
    "ytick.color": EDGE,
    "xtick.labelcolor": DARK,
    "ytick.labelcolor": DARK,
    "axes.formatter.useoffset": False,
    "lines.linewidth": FULL,
    "lines.markersize": 4.5,
}


def diverging(bad: Any) -> Any:
    """The colour map of what lies on both sides of a middle, seaborn's "vlag"; `bad` is the colour of no value."""
    import seaborn  # takes a second: two figures need it

    return seaborn.color_palette("vlag", as_cmap=True).with_extremes(bad=bad)


def house_style(style: str = REPORT) -> AbstractContextManager:
    """Context, or decorator of a function that draws, in which matplotlib has the settings of all figures.

    In the style `paper`, text has four fifths of the size.
    """
    from matplotlib import rc_context  # pages need the colours alone

    sizes = {name: 0.8 * size for name, size in _SETTINGS.items() if name.endswith("size") and "marker" not in name}
    return rc_context(_SETTINGS | (sizes if style == PAPER else {}))


def is_paper() -> bool:
    """Whether the style `paper` is in force."""
    from matplotlib import rcParams

    return rcParams["font.size"] < _SETTINGS["font.size"]
