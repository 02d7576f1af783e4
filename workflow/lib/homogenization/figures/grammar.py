"""The grammar of figures: panels, lines over depth with their bands, dots with their intervals, and what stands around.

Lines and dots are drawn from rows of a table, one for each value of a column (the hue).
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.style import ALIKE, BAND, DEPTH, GREY, GRID, MARGIN, NOTE, ZERO, LineStyle, is_paper
from homogenization.metrics.catalogue import describe_metric, likeness
from homogenization.names.variants import ORIGINAL
from homogenization.run.files import written_whole

Named = Mapping[Any, str]  # name -> label, in the order in which they are shown
Styles = Mapping[Any, LineStyle]  # by name, in the order of drawing; in a legend, by label
Tables = Mapping[str, pl.DataFrame]  # by name of the file in results/tables, without the suffix
ONE: Named = {"": ""}
_WIDTHS = (6.6, 8.4, 10.0, 11.0)  # inches, by number of columns
_COLUMN_WIDTH, _PAGE_WIDTH = 3.35, 6.75  # of a paper: for one panel, and for several
_LONGEST = 30  # letters of a line beside lanes
AFTER_NORM = 1.06  # where states after the final norm stand, right of depth 1


@dataclass(frozen=True)
class Shown:
    """What the configuration says about figures, and about one of them: its title and perhaps its metric and view."""

    models: Named
    variants: Named
    ladder: Sequence[str] = ()  # variants with growing disorder, the least first
    pairs: Sequence[Sequence[str]] = ()  # variants that are contrasted, and what is subtracted from them
    margin: float = 0.0  # differences are negligible within this share of the yardstick
    threshold: float = 0.0  # least F1 at which a rewritten review is accepted
    min_reviews: int = 0  # fewest accepted reviews of a rewritten variant that is drawn
    by: str = ""  # column of the corpus whose values are the groups of reviews
    title: str = ""
    metric: str = ""
    view: str = ""

    @property
    def label(self) -> str:
        """The label of the metric's axis; † marks one that changes with the number of tokens alone."""
        described = describe_metric(self.metric)
        return described.label + " †" * described.depends_on_length


class Panels:
    """A figure with a panel for each row and column.

    Attributes:
        axes: the panels by (row, column), in reading order.
    """

    def __init__(
        self, columns: Named, rows: Named = ONE, *, height: float = 2.3, share: str = "x", lanes: Iterable[str] = ()
    ) -> None:
        """Make the panels, of a `height` in inches, with the labels of row and column as titles.

        More than four columns go on below. A row without a label has no titles but those of the first. Panels `share`
        "x" or "xy"; with "r", those of a row share y. Labels of `lanes` take room from them. Without rows or columns,
        there is one panel that says so.
        """
        self.axes: dict[tuple[Any, Any], Axes] = {}
        nothing = not (columns and rows)
        columns, rows = (ONE, ONE) if nothing else (columns, rows)
        n_below = -(-len(columns) // len(_WIDTHS))
        width = -(-len(columns) // n_below)  # five go as three and two, not as four and one
        inches, letters = _WIDTHS[width - 1], 9
        if is_paper():
            inches, height, letters = _COLUMN_WIDTH if width == 1 else _PAGE_WIDTH, 0.8 * height, 11
        self._figure = Figure(figsize=(inches, height * n_below * len(rows) + 0.3), layout="constrained")
        shared = {"sharex": "x" in share, "sharey": "row" if "r" in share else "y" in share}
        grid = self._figure.subplots(n_below * len(rows), width, squeeze=False, **shared)
        if nothing:
            say(grid[0, 0], "no values")
            return
        self._letters = int(height * letters * 1.2)  # of a label beside a panel
        beside = min(max(map(len, lanes), default=4), _LONGEST)
        n_letters = int(letters * inches - beside) // width  # of a title
        for (row, row_label), of_row in zip(rows.items(), np.split(grid, len(rows)), strict=True):
            for (column, label), axes in zip(columns.items(), of_row.ravel(), strict=False):
                self.axes[row, column] = axes
                if row_label or n_below > 1 or of_row[0, 0] is grid[0, 0]:
                    axes.set_title(textwrap.fill(": ".join(filter(None, (row_label, label))), n_letters))
            for axes in of_row.ravel()[len(columns) :]:
                axes.remove()

    def finish(self, shown: Shown, counts: pl.DataFrame | str, legend: Styles, *, x: str, y: str | Named) -> Figure:
        """The finished figure: title and legend above the panels, a note below them; a panel without values says so.

        The note counts the reviews of a table (`counted`), or is given. `x` and `y` are labels of the axes, `y` perhaps
        one a row. In the style `paper`, title and note are left out of the picture; the figure's label keeps them.
        """
        lowest = {axes.get_subplotspec().colspan.start: axes for axes in self.axes.values()}
        for (row, _), axes in self.axes.items():
            if axes.axison and not (axes.dataLim.width >= 0 and axes.dataLim.height >= 0) and not axes.texts:
                say(axes, "no values")
            if x == DEPTH:
                axes.set_xlim(-0.03, 1.03 if axes.dataLim.x1 < AFTER_NORM else AFTER_NORM + 0.03)
                axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
            if axes in lowest.values():
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(x or axes.get_xlabel())
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel(textwrap.fill(y if isinstance(y, str) else y[row], self._letters))
        figure, note = self._figure, counts if isinstance(counts, str) else counted(counts)
        figure.set_label(f"{shown.title}\n{note}")
        width, height = figure.get_size_inches()
        title = "" if is_paper() else textwrap.fill(shown.title, int(9 * width))
        if not is_paper():
            figure.supxlabel(textwrap.fill(note, int(13 * width)), x=0.01, ha="left", fontsize=8.5, color=NOTE)
        figure.set_size_inches(width, height + _draw_legend(figure, legend, title))
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine(None)  # both formats are drawn from one layout
        for axes in figure.axes:
            # the solver's last digits change from drawing to drawing, and the bytes of a file with them
            axes.set_position(np.round(axes.get_position().bounds, 6))
        return figure


def _draw_legend(figure: Figure, legend: Styles, title: str) -> float:
    """A legend of as many columns as fit, with the title of the figure as its own; its height in inches."""
    width = figure.get_figwidth()
    labels = {textwrap.fill(label, int(9 * width)): style for label, style in legend.items()}
    entries = [Line2D([], [], label=label, **style.look()) for label, style in labels.items()]
    columns, bold = max(1, len(entries)), {"weight": "bold", "size": 12}
    while True:
        # a legend fills column after column; this order makes it read line after line
        ordered = [entries[place] for column in range(columns) for place in range(column, len(entries), columns)]
        look = {"ncols": columns, "title": title, "title_fontproperties": bold, "alignment": "left"}
        drawn = figure.legend(handles=ordered, loc="outside upper left", **look)
        box = drawn.get_window_extent()
        if columns == 1 or box.width < figure.bbox.width - 12:
            return box.height / figure.dpi
        drawn.remove()
        columns = max(1, min(columns - 1, int(columns * figure.bbox.width / box.width) + 1))


def save_figure(figure: Figure, *files: str | Path) -> None:
    """Write `figure` to `files` (.svg or .pdf), each whole, with the same bytes for the same figure."""
    title, _, note = figure.get_label().partition("\n")
    for file in map(Path, files):
        date, description = ("Date", "Description") if file.suffix == ".svg" else ("CreationDate", "Subject")
        with written_whole(file) as partial:
            figure.savefig(partial, dpi=200, metadata={date: None, "Title": title, description: note})


def draw_lines(
    axes: Axes,
    table: pl.DataFrame,
    styles: Styles,
    *,
    x: str = "depth",
    hue: str = "variant",
    band: bool = True,
    **look: Any,
) -> None:
    """Draw a line for each value of the column `hue` that has finite values and one of the `styles`.

    The line is the mean over column `x` and has that value as its label; with `band`, it has the band from ci_low to
    ci_high. Arguments of `Axes.plot` in `look` stand in the place of those of the style.
    """
    for name, style in styles.items():
        rows = table.filter(pl.col(hue) == name, pl.col("mean").is_finite()).sort(x)
        if len(rows) and band:
            axes.fill_between(rows[x], rows["ci_low"], rows["ci_high"], color=style.colour, **BAND)
        if len(rows):
            some = {"markevery": -(-len(rows) // 13)}  # markers stay apart where layers are many
            axes.plot(rows[x], rows["mean"], label=name, **style.look() | some | look)


def draw_variants(axes: Axes, table: pl.DataFrame, styles: Styles, **named: Any) -> None:
    """`draw_lines` of variants: the original with its band, the others thin and without, behind it."""
    behind = {name: style for name, style in styles.items() if name != ORIGINAL}
    draw_lines(axes, table, behind, band=False, lw=1, ms=3, **named)
    draw_lines(axes, table, named_in(styles, [ORIGINAL]), **named)


def draw_dots(axes: Axes, table: pl.DataFrame, lanes: Named, styles: Styles, *, hue: str, lane: str = "lane") -> None:
    """Draw a dot with its interval for each row: in the lane, from the top, of column `lane`, in the style of `hue`.

    The rows have mean, ci_low, ci_high and, where some dots are open, the boolean `filled`.
    """
    places = {name: place for place, name in enumerate(lanes)}
    offsets = {name: 0.72 * ((place + 0.5) / len(styles) - 0.5) for place, name in enumerate(styles)}
    known = pl.col(lane).is_in(list(lanes)) & pl.col(hue).is_in(list(styles))
    for row in table.filter(known, pl.col("mean").is_finite()).iter_rows(named=True):
        y, style = places[row[lane]] + offsets[row[hue]], styles[row[hue]]
        look = style._replace(dashes="", open=style.open or not row.get("filled", True)).look()
        axes.hlines(y, row["ci_low"], row["ci_high"], color=style.colour, lw=1.2)
        axes.plot(row["mean"], y, label=row[hue], **look)
    for place in range(1, len(lanes)):
        axes.axhline(place - 0.5, color=GRID, lw=0.8)
    labels = [textwrap.fill(label, _LONGEST) for label in lanes.values()]
    axes.set(yticks=range(len(lanes)), yticklabels=labels, ylim=(len(lanes) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def draw_margin(axes: Axes, margin: float, metric: str) -> None:
    """Zero, the margin around it, and a tint on the side to which `metric` goes where tokens grow alike."""
    axes.axhline(0, **ZERO)
    low, high = axes.get_ylim()
    axes.axhspan(-margin, margin, color=MARGIN, lw=0, zorder=0.5)
    if side := likeness(metric):
        axes.axhspan(0, high if side > 0 else low, color=ALIKE, lw=0, zorder=0)
    axes.set_ylim(low, high)


def say(axes: Axes, text: str) -> None:
    """Write in the middle of a panel that has nothing to show."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY, fontsize="small")
    axes.grid(False)


def named_in(labels: Mapping[Any, Any], present: Iterable[Any]) -> dict[Any, Any]:
    """Those of the labels, or styles, whose names are `present`."""
    there = set(present)
    return {name: label for name, label in labels.items() if name in there}


def legend_of(labels: Named, styles: Styles) -> dict[str, LineStyle]:
    """The styles by their labels, in the order of these."""
    return {label: styles[name] for name, label in labels.items() if name in styles}


def range_with_zero(table: pl.DataFrame, room: float = 0.06, least: float = 1e-9) -> tuple[float, float]:
    """The range of mean, ci_low, ci_high and ±`least`, with a share of it as `room`."""
    values = table.select("mean", "ci_low", "ci_high").cast(pl.Float64).to_numpy()
    values = np.append(values[np.isfinite(values)], (-least, least))
    return values.min() - room * np.ptp(values), values.max() + room * np.ptp(values)


def counted(table: pl.DataFrame, unit: str = "review") -> str:
    """`n = 64 reviews`, or `n = 58 to 64 reviews` where the rows with a mean differ in n_reviews."""
    counts = table.filter(pl.col("mean").is_finite())["n_reviews"].drop_nulls()
    low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    return f"n = {low:,} {unit}s" if low == high else f"n = {low:,} to {high:,} {unit}s"
