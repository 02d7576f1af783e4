"""Drawing a figure, and saving it as SVG and PDF with the same bytes for the same figure."""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib.figure import Figure

from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import REPORT, house_style
from homogenization.run.files import written_whole

_DOTS_PER_INCH = 300  # of what is drawn in pixels within them
_METADATA = {"svg": ("Date", "Description"), "pdf": ("CreationDate", "Subject")}  # when it was drawn, and the note


def draw_figure(draw: Callable[[Tables, Shown], Figure], tables: Tables, shown: Shown) -> Figure:
    """The figure that `draw` makes of `tables`, in the look of all figures.

    Raises:
        HomogenizationError: the first table has no rows of what is shown.
    """
    with house_style(shown.style):
        return draw(tables, shown)


def save_figure(figure: Figure, *files: str | Path, style: str = REPORT) -> None:
    """Write `figure` to `files` (.svg or .pdf), each whole, with the same bytes for the same figure.

    Numbers of ticks are chosen while a figure is drawn, by the font sizes of its `style` at that moment.
    """
    title, _, note = figure.get_label().partition("\n")
    for file in files:
        suffix = Path(file).suffix.removeprefix(".")
        date, description = _METADATA[suffix]
        told = {"Title": title, description: note} if title else {}
        with house_style(style), written_whole(file) as partial:
            figure.savefig(partial, format=suffix, dpi=_DOTS_PER_INCH, metadata={date: None} | told)
