"""Drawing a figure, and saving it as SVG, PDF or PNG with the same bytes for the same figure."""

import io
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure
from PIL import Image

from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import REPORT, house_style
from homogenization.run.files import written_whole

_DOTS_PER_INCH = 120
_DATE = {"svg": "Date", "pdf": "CreationDate"}  # a format -> what would differ between two drawings


def draw_figure(draw: Callable[[Tables, Shown], Figure], tables: Tables, shown: Shown) -> Figure:
    """The figure that `draw` makes of `tables`, in the look of all figures.

    Raises:
        HomogenizationError: the first table has no rows of what is shown.
    """
    with house_style(shown.style):
        return draw(tables, shown)


def _shorter(svg: str) -> str:
    """`svg` with attributes to a hundredth of a point, a class for each style, no indentation: half the bytes."""
    svg = re.sub(r'="[^"]*"', lambda written: re.sub(r"(\.\d\d)\d+", r"\1", written[0]), svg)
    svg = re.sub(r" ?\n([LCQ]) |\n +", lambda blanks: blanks[1] or "\n", svg)
    counts = Counter(re.findall(r' style="([^"]*)"', svg))
    classes = {style: f"s{place}" for place, (style, n) in enumerate(counts.items()) if n > 2}
    for style, name in classes.items():
        svg = svg.replace(f' style="{style}"', f' class="{name}"')
    return svg.replace("</style>", "".join(f".{name}{{{style}}}" for style, name in classes.items()) + "</style>", 1)


def save_figure(figure: Figure, *files: str | Path, style: str = REPORT) -> None:
    """Write `figure` to `files` (.svg, .pdf or .png), each whole, with the same bytes for the same figure.

    Numbers of ticks are chosen while a figure is drawn, by the font sizes of its `style` at that moment.
    """
    with house_style(style):
        _save(figure, files)


def _save(figure: Figure, files: Sequence[str | Path]) -> None:
    title, _, note = figure.get_label().partition("\n")
    for file in files:
        suffix = Path(file).suffix.removeprefix(".")
        with written_whole(file) as partial:
            if suffix == "png":
                _save_pixels(figure, partial)
                continue
            told = {"Title": title, "Description" if suffix == "svg" else "Subject": note} if title else {}
            with matplotlib.rc_context({"svg.hashsalt": "homogenization"}):
                figure.savefig(partial, format=suffix, dpi=_DOTS_PER_INCH, metadata={_DATE[suffix]: None} | told)
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
