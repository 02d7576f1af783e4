"""The grammar of figures: a grid of panels that is filled layer by layer, and what stands around it.

A row and a column of panels each stand for a value of a column of tables. A layer is a table: each panel takes its own
rows. A line has a value of one more column (its hue), x, y and the two edges of its band.
"""

import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogFormatterSciNotation

from homogenization.figures.shown import Named
from homogenization.figures.style import (
    ALIKE,
    BAND,
    DARK,
    GREY,
    HAIR,
    LIGHT,
    NOTE,
    OF_CONTROL,
    OPEN,
    PLAIN_LINE,
    THIN,
    ZERO,
    LineStyle,
    is_paper,
)

# a column of tables, "" for none, or several; its values (tuples of several) with labels, in the order of the panels
Facet = tuple[str | tuple[str, ...], Sequence[tuple[Any, str]]]
ONE: Facet = ("", [("", "")])

MEAN = ("mean", "ci_low", "ci_high")
ESTIMATE = ("estimate", "ci_low", "ci_high")
_FINAL_NORM_START, _FINAL_NORM_STEP = 1.05, 0.038
_FIGURE_WIDTH = {1: 6.6, 2: 8.4, 3: 10.0, 4: 11.0, 5: 11.0, 6: 13.0}  # inches, by number of columns
_COLUMN_WIDTH, _PAGE_WIDTH = 3.35, 6.75  # of a paper: for one panel, and for several
_AROUND = 0.12  # inches around everything


class Panels:
    """A figure with a panel for each value of a row and of a column.

    Attributes:
        figure: the figure, as high as its panels alone until `finish`.
        axes: the panels by (value of the row, value of the column).
    """

    def __init__(
        self,
        columns: Facet,
        rows: Facet = ONE,
        *,
        height: float = 2.1,
        most_columns: int = 4,
        share_y: bool = False,
        rows_above: bool = False,
    ) -> None:
        """Make the panels; columns beyond `most_columns` continue below, with all rows.

        Args:
            columns: the label of a column stands above it.
            rows: the label of a row stands rotated at its right.
            height: height of a row, in inches.
            most_columns: largest number of columns side by side.
            share_y: whether all panels of a row have one vertical scale.
            rows_above: whether the label of a row stands above it, for long ones.
        """
        (self._column, columns), (self._row, rows) = columns, rows
        width = -(-len(columns) // -(-len(columns) // most_columns))  # five go as three and two, not as four and one
        blocks = [columns[start : start + width] for start in range(0, len(columns), width)]
        n_grid_rows = len(blocks) * len(rows)
        inches = _FIGURE_WIDTH[width]
        if is_paper():
            inches, height = _COLUMN_WIDTH if width == 1 else _PAGE_WIDTH, 0.8 * height
        self.figure = Figure(figsize=(inches, height * n_grid_rows + 0.3 * len(blocks) + 0.4))
        self.axes: dict[tuple[Any, Any], Axes] = {}
        above = [textwrap.fill(label, int((inches - 1.2) * 11)) for _, label in rows] if rows_above else []
        label_lines = above[0].count("\n") + 1 if above else 0
        grid = self.figure.add_gridspec(n_grid_rows, width)
        for block_index, block in enumerate(blocks):
            for row_index, (row, row_label) in enumerate(rows):
                for column_index, (column, column_label) in enumerate(block):
                    first = self.axes.get((row, columns[0][0])) if share_y else None
                    place = grid[block_index * len(rows) + row_index, column_index]
                    axes = self.axes[row, column] = self.figure.add_subplot(place, sharey=first)
                    if row_index == 0:
                        axes.set_title(textwrap.fill(column_label, int(inches / width * 9.5)) + "\n" * label_lines)
                    if rows_above and column_index == 0:
                        # of a title, only the height takes room from the panels
                        axes.set_title(above[row_index], loc="left", fontsize="medium", weight="normal", color=DARK)
                    elif not rows_above and column_index == len(block) - 1 and row_label:
                        # it takes room unless the place is empty anyway
                        _label_row(axes, textwrap.fill(row_label, int(height * 11)), len(block) == width)

    def parts(self, table: pl.DataFrame, empty: str = "") -> Iterator[tuple[tuple[Any, Any], Axes, pl.DataFrame]]:
        """Each panel by its row and column, with its rows of `table`, which may lack the column of a facet.

        Where `empty` is given, a panel without rows says it, and is left out.
        """
        for place, axes in self.axes.items():
            own = {}
            for columns, value in zip((self._row, self._column), place, strict=True):
                told = {columns: value} if isinstance(columns, str) else dict(zip(columns, value, strict=True))
                own |= {column: one for column, one in told.items() if column in table.columns}
            rows = table.filter(**own)
            if empty and rows.is_empty():
                mark_empty(axes, empty)
            else:
                yield place, axes, rows

    def lines(self, table: pl.DataFrame, styles: Mapping[str, LineStyle], **look: Any) -> None:
        """Draw the lines of `table` in their panels, as `draw_lines` does."""
        for _, axes, rows in self.parts(table):
            draw_lines(axes, rows, styles, **look)

    def zero(self) -> None:
        """A horizontal line at zero in each panel."""
        for axes in self.axes.values():
            axes.axhline(0, **ZERO, label="zero")

    def depth_axis(self, n_final_norm: int = 0) -> None:
        """`set_depth_axis` in each panel."""
        for axes in self.axes.values():
            set_depth_axis(axes, n_final_norm)

    def fit(self, table: pl.DataFrame, y: str = "mean", logarithmic: Collection[str] = ()) -> None:
        """Scale each vertical axis for the values of its rows, or mark the panel empty if none of them is finite.

        Args:
            table: what is drawn.
            y: column of the values.
            logarithmic: values of the rows of panels with logarithmic axes.
        """
        for (row, _), axes, rows in self.parts(table):
            if not rows[y].is_finite().any():
                mark_empty(axes)
            elif row in logarithmic:
                set_log_scale(axes)
            else:
                widen_if_flat(axes)

    def label(self, x_label: str, y_labels: str | Mapping[str, str]) -> None:
        """Label the outer panels, and take repeated ticks from the inner ones.

        Args:
            x_label: stands below each column.
            y_labels: stands at the left of each row, wrapped, or of all; it says so where the axis is logarithmic.
        """
        places = {place: axes.get_subplotspec() for place, axes in self.axes.items()}
        lowest = {place.colspan.start: 0 for place in places.values()}
        for place in places.values():
            lowest[place.colspan.start] = max(lowest[place.colspan.start], place.rowspan.start)
        n_rows = len({row for row, _ in self.axes})
        logarithmic = {row for (row, _), axes in self.axes.items() if axes.get_yscale() == "log"}
        for (row, column), axes in self.axes.items():
            place = places[row, column]
            if place.colspan.start == 0:
                label = y_labels if isinstance(y_labels, str) else y_labels[row]
                height = axes.figure.get_figheight() / place.get_gridspec().nrows
                axes.set_ylabel(textwrap.fill(label + " (log scale)" * (row in logarithmic), int(height * 11)))
            elif len(axes.get_shared_y_axes().get_siblings(axes)) > 1:
                axes.tick_params(labelleft=False)
            if place.rowspan.start == lowest[place.colspan.start]:
                axes.set_xlabel(x_label)
            elif (place.rowspan.start + 1) % n_rows:
                axes.tick_params(labelbottom=False)

    def finish(self, title: str, note: str, handles: Sequence[Artist | str] = ()) -> Figure:
        """The finished figure (`finish`)."""
        return finish(self.figure, title, note, handles)


def _label_row(axes: Axes, label: str, takes_room: bool) -> None:
    """Write a row's label at the right of its last panel."""
    written = axes.annotate(
        label, (1, 0.5), (7, 0), "axes fraction", "offset points", rotation=270, ha="left", va="center", color=DARK
    )
    written.set_in_layout(takes_room)


def draw_lines(
    axes: Axes,
    table: pl.DataFrame,
    styles: Mapping[str, LineStyle],
    *,
    x: str = "depth",
    y: Sequence[str] = MEAN,
    hue: str = "variant",
    markers: int | Callable[[np.ndarray], list[int]] = 13,
    **look: Any,
) -> None:
    """Draw a line, with its band, for each value of `hue` that has finite values; the line's label is that value.

    A control has a thinner line and no band.

    Args:
        axes: the panel.
        table: columns `x`, `hue` and those of `y`; one row for each value of the first two.
        styles: styles of the values of `hue`, in the order of drawing.
        x: column of the horizontal axis.
        y: columns of the line and of the lower and upper edge of its band; the first alone for lines without bands.
        hue: column that tells the lines.
        markers: largest number of markers of a line, or what chooses them by the values of `x`.
        look: arguments of `Axes.plot` in the place of those of a style.
    """
    for name, style in styles.items():
        rows = table.filter(pl.col(hue) == name).sort(x)
        along, middle, *edges = (rows[column].to_numpy() for column in (x, *y))
        if not np.isfinite(middle).any():
            continue
        if edges and not style.control:
            axes.fill_between(along, *edges, color=style.colour, **BAND)
        own = {"color": style.colour, "ls": style.dashes, "marker": style.marker, "label": name}
        own |= {"markevery": markers(along) if callable(markers) else max(1, -(-len(along) // markers))}
        axes.plot(along, middle, **own | look | (OF_CONTROL if style.control else {}))


def draw_final_norm(
    axes: Axes,
    table: pl.DataFrame,
    styles: Mapping[str, LineStyle],
    hue: str = "variant",
    face: Callable[[dict[str, Any], str], dict[str, Any]] = lambda row, colour: OPEN,
) -> None:
    """Draw the state after the final norm as markers right of depth 1.

    Args:
        axes: the panel.
        table: columns `hue`, mean, ci_low, ci_high; one row for each line.
        styles: styles of the lines, in the order of drawing.
        hue: column that tells the lines.
        face: how a marker is filled, by its row and its colour; open by default.
    """
    for index, (name, style) in enumerate(styles.items()):
        for row in table.filter(pl.col("mean").is_finite(), pl.col(hue) == name).iter_rows(named=True):
            place = _FINAL_NORM_START + index * _FINAL_NORM_STEP
            axes.vlines(place, row["ci_low"], row["ci_high"], color=style.colour, lw=LIGHT)
            look = {"mec": style.colour, "ms": 5, "label": f"{name} after final norm"} | face(row, style.colour)
            axes.plot(place, row["mean"], style.marker, **look)


def set_depth_axis(axes: Axes, n_final_norm: int = 0) -> None:
    """Ticks at quarters of the depth, and room right of 1 for `n_final_norm` open markers."""
    right = _FINAL_NORM_START + (n_final_norm - 1) * _FINAL_NORM_STEP if n_final_norm else 1.0
    axes.set_xlim(-0.03, right + 0.03)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    if n_final_norm:
        axes.axvline(1.02, color=GREY, lw=HAIR)


def handle(label: str, style: LineStyle = PLAIN_LINE, **look: Any) -> Line2D:
    """A legend entry in a style, with other arguments of a line where they are given."""
    own = {"color": style.colour, "ls": style.dashes, "marker": style.marker, "label": label}
    return Line2D([], [], **own | look)


def marker_handle(label: str, marker: str = "o", **look: Any) -> Line2D:
    """A legend entry of a marker without a line."""
    return handle(label, LineStyle(DARK, "", marker), **look)


def handles_of(named: Named, styles: Mapping[str, LineStyle], thin: Collection[str] = (), **look: Any) -> list[Line2D]:
    """Legend entries of those names that have a style, in their order; `thin` lines have no markers."""
    return [handle(label, styles[name], **(THIN if name in thin else look)) for name, label in named if name in styles]


def colour_bar(drawn: ScalarMappable, axes: Sequence[Axes], label: str = "", **place: Any) -> Colorbar:
    """A colour bar without a frame beside `axes`, at a place that `Figure.colorbar` takes."""
    bar = axes[0].figure.colorbar(drawn, ax=axes, **place)
    bar.outline.set_visible(False)
    if label:
        bar.set_label(label)
    return bar


def alike_handles(homogenization: int) -> list[Patch]:
    """The legend entry of the tinted side, for a metric that goes to one side when tokens grow alike."""
    return [Patch(color=ALIKE, label="side on which tokens are more alike")] * bool(homogenization)


def tint_alike(axes: Axes, homogenization: int, along_x: bool = False) -> None:
    """Tint the side of zero to which a metric goes when tokens grow alike, within the limits of the axis."""
    limits = axes.get_xlim() if along_x else axes.get_ylim()
    if homogenization:
        span = axes.axvspan if along_x else axes.axhspan
        span(0, limits[homogenization > 0], color=ALIKE, lw=0, zorder=0, label="more alike")
    (axes.set_xlim if along_x else axes.set_ylim)(limits)


def finish(figure: Figure, title: str, note: str, handles: Sequence[Artist | str] = ()) -> Figure:
    """Put title and legend above the panels and the note below them, and fix the layout.

    The figure grows by their lines. In the style `paper`, title and note do not stand in the picture; the figure's
    label always keeps them for the file's metadata.

    Args:
        figure: figure as high as its panels alone.
        title: text in bold, wrapped to the width.
        note: number of reviews, and what is left out, wrapped to the width.
        handles: labelled entries of the legend, or words alone; without any there is no legend.
    """
    figure.set_label(f"{title}\n{note}")
    width, panels_height = figure.get_size_inches()
    left, top, bottom = _AROUND / width, _AROUND, _AROUND  # inches above and below the panels
    words = []
    if not is_paper():
        heading, footnote = textwrap.fill(title, int(width * 9)), textwrap.fill(note, int(width * 13))
        words.append(figure.text(left, 1, heading, fontsize=12.5, weight="bold", va="top"))
        words.append(figure.text(left, 0, footnote, fontsize=9, color=NOTE, va="bottom"))
        top += 0.25 * (heading.count("\n") + 1)
        bottom += 0.18 * (footnote.count("\n") + 1)
    legend, legend_height = _legend(figure, handles, width) if handles else (None, 0.0)
    height = top + legend_height + panels_height + bottom
    figure.set_size_inches(width, height)
    for text, place in zip(words, (1 - _AROUND / height, _AROUND / height), strict=False):
        text.set_y(place)
    if legend:
        legend.set_bbox_to_anchor((left, 1 - top / height), transform=figure.transFigure)
    rect = (0, bottom / height, 1, panels_height / height)
    figure.set_layout_engine("constrained", rect=rect, w_pad=0.08, h_pad=0.04, wspace=0.03)
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # both formats are drawn from one layout, and each is drawn once
    for axes in figure.axes:
        # the solver's last digits change from drawing to drawing, and the bytes of a file with them
        axes.set_position(np.round(axes.get_position().bounds, 6))
    return figure


def _legend(figure: Figure, handles: Sequence[Artist | str], width: float) -> tuple[Legend, float]:
    """A frameless legend with as many entries per line as fit into `width` inches, and its height in inches."""
    size = 0.8 if is_paper() else 1.0
    entries = [Line2D([], [], ls="", label=entry) if isinstance(entry, str) else entry for entry in handles]
    labels = [textwrap.fill(str(entry.get_label()), int(width * 9 / size)) for entry in entries]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(entries), int(width * 12.5 / size / (longest + 9))))
    # a legend fills column after column; this order makes it read line after line
    order = [place for column in range(columns) for place in range(column, len(entries), columns)]
    look = {"frameon": False, "borderpad": 0, "borderaxespad": 0, "handlelength": 3.2, "columnspacing": 1.6}
    in_lines = [entries[place] for place in order], [labels[place] for place in order]
    legend = figure.legend(*in_lines, loc="upper left", ncols=columns, **look)
    n_lines = [label.count("\n") + 1 for label in labels]
    # one line is as high as the highest of its entries, of which the columns hold others
    n_rows = -(-len(labels) // columns)
    return legend, _AROUND + 0.22 * size * max(
        sum(n_lines[place] for place in order[start : start + n_rows]) for start in range(0, len(order), n_rows)
    )


def mark_empty(axes: Axes, text: str = "no values", ticks: bool = True) -> None:
    """Say in the middle of a panel that it has nothing to show; without `ticks`, the horizontal axis has none."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)
    axes.grid(False)
    if not ticks:
        axes.set_xticks([])
    if len(axes.get_shared_y_axes().get_siblings(axes)) == 1:
        axes.set_yticks([])


def set_log_scale(axes: Axes) -> None:
    """A logarithmic vertical axis whose labels stay readable where it spans less than a decade or two."""
    axes.set_yscale("log")
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(LogFormatterSciNotation(minor_thresholds=(1.5, 0.5)))


def range_with_zero(values: np.ndarray, room: float = 0.0) -> tuple[float, float]:
    """The range of the finite `values` and zero, with a share of it as `room` on both sides.

    It is ±.05 where it is below 1e-9, which only rounding errors are.
    """
    values = values[np.isfinite(values)]
    low, high = (min(values.min(), 0.0), max(values.max(), 0.0)) if values.size else (0.0, 0.0)
    if high - low < 1e-9:
        low, high = -0.05, 0.05
    return low - room * (high - low), high + room * (high - low)


def widen_if_flat(axes: Axes) -> None:
    """Keep values that differ by rounding alone from filling the panel with noise."""
    low, high = axes.dataLim.intervaly
    centre = (low + high) / 2
    if np.isfinite(centre) and high - low < 1e-6 * max(abs(centre), 1e-12):
        half = 0.05 * abs(centre) or 0.05
        axes.set_ylim(centre - half, centre + half)


def views_present(table: pl.DataFrame, views: Sequence[str]) -> list[str]:
    """The `views` that `table` has, in their order; if it has none of them, all views of the table."""
    present = set(table["view"])
    return [view for view in views if view in present] or sorted(present)
