"""The look of every figure: colours, the style of each variant, and saving as SVG, PDF or PNG."""

import io
import re
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure
from PIL import Image

from homogenization.figures.shown import Named
from homogenization.run.files import written_whole

GREY = "#7a7a7a"
DARK = "#222222"
ALIKE_COLOUR = "#f3f3f3"  # the side on which tokens are more alike
# seaborn's palette "colorblind"
_BLUE, _ORANGE, _GREEN, _VERMILION, _PURPLE = "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc"
_BROWN, _GREY, _SKY = "#ca9161", "#949494", "#56b4e9"
_STYLES = {  # variant -> colour, dashes, marker: they differ by colour, darkness and form
    "original": (DARK, "-", "o"),
    "front": (_BLUE, (0, (5, 1.5)), "^"),
    "end": (_ORANGE, (0, (1.5, 1.2)), "s"),
    "scattered": (_GREEN, (0, (6, 1.5, 1.5, 1.5)), "D"),
}
_FURTHER_COLOURS = (_PURPLE, _VERMILION, _SKY, _BROWN, _GREY)
_FURTHER_DASHES = ((0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (4, 3)), (0, (1, 2.5)))
_FURTHER_MARKERS = ("v", "P", "X", "<", ">", "*", "p")

_DOTS_PER_INCH = 120
_DATE = {"svg": "Date", "pdf": "CreationDate"}  # a format -> what would differ between two drawings


@dataclass(frozen=True)
class VariantStyle:
    """How a variant is drawn in every figure."""

    colour: str
    dashes: Any
    marker: str


def variant_styles(variants: Named) -> dict[str, VariantStyle]:
    """The style of each variant of `variants`; the four standard ones are fixed, others take the next of a list."""
    styles, further = {}, 0
    for name, _ in variants:
        if name in _STYLES:
            styles[name] = VariantStyle(*_STYLES[name])
            continue
        # the lists have coprime or different lengths, so that a repeated colour has another form
        styles[name] = VariantStyle(
            _FURTHER_COLOURS[further % len(_FURTHER_COLOURS)],
            _FURTHER_DASHES[further % len(_FURTHER_DASHES)],
            _FURTHER_MARKERS[further % len(_FURTHER_MARKERS)],
        )
        further += 1
    return styles


def house_style() -> AbstractContextManager:
    """Context, or decorator of a drawing function, in which the look of all figures holds."""
    return matplotlib.rc_context(
        {
            "text.color": ".15",
            "axes.labelcolor": ".15",
            "lines.solid_capstyle": "round",
            "patch.edgecolor": "w",
            "patch.force_edgecolor": True,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same on every machine
            "svg.fonttype": "none",  # text is text: half the bytes, and it can be searched
            "font.size": 10,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.labelsize": 10,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "legend.fontsize": 10,
            "axes.grid": True,
            "grid.color": "#e6e6e6",
            "grid.linewidth": 0.7,
            "axes.axisbelow": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#555555",
            "axes.linewidth": 0.8,
            "xtick.color": "#555555",
            "ytick.color": "#555555",
            "xtick.labelcolor": DARK,
            "ytick.labelcolor": DARK,
            "axes.formatter.useoffset": False,
            "lines.linewidth": 1.6,
            "lines.markersize": 4.5,
        }
    )


def _shorter(svg: str) -> str:
    """`svg` with attributes to a hundredth of a point, a class for each style, no indentation: half the bytes."""
    svg = re.sub(r'="[^"]*"', lambda written: re.sub(r"(\.\d\d)\d+", r"\1", written[0]), svg)
    svg = re.sub(r" ?\n([LCQ]) |\n +", lambda blanks: blanks[1] or "\n", svg)
    counts = Counter(re.findall(r' style="([^"]*)"', svg))
    classes = {style: f"s{place}" for place, (style, n) in enumerate(counts.items()) if n > 2}
    for style, name in classes.items():
        svg = svg.replace(f' style="{style}"', f' class="{name}"')
    return svg.replace("</style>", "".join(f".{name}{{{style}}}" for style, name in classes.items()) + "</style>", 1)


@house_style()  # numbers of ticks are chosen while a figure is drawn, by the font sizes of that moment
def save_figure(figure: Figure, *files: str | Path) -> None:
    """Write `figure` to `files` (.svg, .pdf or .png), each whole, with the same bytes for the same figure."""
    for file in files:
        suffix = Path(file).suffix.removeprefix(".")
        with written_whole(file) as partial:
            if suffix == "png":
                _save_pixels(figure, partial)
                continue
            with matplotlib.rc_context({"svg.hashsalt": "homogenization"}):
                figure.savefig(partial, format=suffix, dpi=_DOTS_PER_INCH, metadata={_DATE[suffix]: None})
            if suffix == "svg":
                partial.write_text(_shorter(partial.read_text("utf-8")), "utf-8")


def _save_pixels(figure: Figure, path: str | Path) -> None:
    pixels = io.BytesIO()
    figure.savefig(pixels, format="rgba", dpi=_DOTS_PER_INCH)
    width, height = (int(inches * _DOTS_PER_INCH) for inches in figure.get_size_inches())
    image = Image.frombytes("RGBA", (width, height), pixels.getvalue()).convert("RGB")
    # 256 colours: a third of the bytes; those that cover most, so that large pale areas keep theirs
    image = image.quantize(256, Image.Quantize.MEDIANCUT)
    image.save(path, format="png", dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH))
