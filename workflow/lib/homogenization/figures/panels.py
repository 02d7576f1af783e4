"""The panel grid, with title, legend, note, and labels of rows, columns and axes around it."""

import textwrap
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogFormatterSciNotation

from homogenization.figures.shown import Named
from homogenization.figures.style import ALIKE_COLOUR, DARK, GREY, VariantStyle

_FIGURE_WIDTH = {1: 6.6, 2: 8.4, 3: 10.0, 4: 11.0, 5: 11.0, 6: 13.0}  # inches, by number of columns
_MARGIN = 0.12  # inches around everything, and between title, legend, panels and note


def panel_grid(
    columns: Named,
    rows: Named,
    row_height: float = 2.1,
    max_columns: int = 4,
    share_y: bool = False,
    rows_above: bool = False,
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """A figure with a panel for each row and column; columns beyond `max_columns` continue below, with all rows.

    Args:
        columns: name and label of each column; the label stands above the column.
        rows: name and label of each row.
        row_height: height of a row, in inches.
        max_columns: largest number of columns side by side.
        share_y: whether all panels of a row have one vertical scale.
        rows_above: whether the label of a row stands above it, for long ones, and not rotated at its right.

    Returns:
        The figure, as high as its panels alone, and the axes by (row name, column name).
    """
    width = -(-len(columns) // -(-len(columns) // max_columns))  # five go as three and two, not as four and one
    blocks = [columns[start : start + width] for start in range(0, len(columns), width)]
    n_grid_rows = len(blocks) * len(rows)
    figure = Figure(figsize=(_FIGURE_WIDTH[width], row_height * n_grid_rows + 0.3 * len(blocks) + 0.4))
    grid = figure.add_gridspec(n_grid_rows, width)
    title_width = int(figure.get_figwidth() / width * 9.5)
    above = [textwrap.fill(label, int((figure.get_figwidth() - 1.2) * 11)) for _, label in rows] if rows_above else []
    label_lines = above[0].count("\n") + 1 if above else 0
    panels = {}
    for block_index, block in enumerate(blocks):
        for row_index, (row, row_label) in enumerate(rows):
            for column_index, (column, column_label) in enumerate(block):
                first = panels.get((row, columns[0][0])) if share_y else None
                axes = figure.add_subplot(grid[block_index * len(rows) + row_index, column_index], sharey=first)
                panels[row, column] = axes
                if row_index == 0:
                    axes.set_title(textwrap.fill(column_label, title_width) + "\n" * label_lines)
                if rows_above and column_index == 0:
                    # of a title, only the height takes room from the panels
                    axes.set_title(above[row_index], loc="left", fontsize=10, weight="normal", color=DARK)
                elif not rows_above and column_index == len(block) - 1 and row_label:
                    _label_row(axes, textwrap.fill(row_label, int(row_height * 11)), len(block) == width)
    return figure, panels


def _label_row(axes: Axes, label: str, takes_room: bool) -> None:
    """Write a row's label at the right of its last panel, where it `takes_room` unless the place is empty anyway."""
    written = axes.annotate(
        label, (1, 0.5), (7, 0), "axes fraction", "offset points", rotation=270, ha="left", va="center", color=DARK
    )
    written.set_in_layout(takes_room)


def label_outer(panels: Mapping[tuple[str, str], Axes], x_label: str, y_labels: Mapping[str, str]) -> None:
    """Write `x_label` below each column and a row's y label at its left, wrapped; inner panels lose repeated ticks."""
    lowest = {axes.get_subplotspec().colspan.start: 0 for axes in panels.values()}
    for axes in panels.values():
        place = axes.get_subplotspec()
        lowest[place.colspan.start] = max(lowest[place.colspan.start], place.rowspan.start)
    n_rows = len({row for row, _ in panels})
    for (row, _), axes in panels.items():
        place = axes.get_subplotspec()
        if place.colspan.start == 0:
            height = axes.figure.get_figheight() / place.get_gridspec().nrows
            axes.set_ylabel(textwrap.fill(y_labels[row], int(height * 11)))
        elif len(axes.get_shared_y_axes().get_siblings(axes)) > 1:
            axes.tick_params(labelleft=False)
        if place.rowspan.start == lowest[place.colspan.start]:
            axes.set_xlabel(x_label)
        elif (place.rowspan.start + 1) % n_rows:
            axes.tick_params(labelbottom=False)


def finish(figure: Figure, title: str, note: str, handles: Sequence[Artist] = ()) -> Figure:
    """Put title and legend above the panels and the note below them, and fix the layout.

    The figure grows by the measured heights of these three, so that nothing overlaps.

    Args:
        figure: figure as high as its panels alone, as `panel_grid` makes it.
        title: text in bold, wrapped to the width.
        note: text on what is drawn and on the number of reviews, wrapped to the width.
        handles: labelled entries of the legend; without any there is no legend.
    """
    width, panels_height = figure.get_size_inches()
    renderer = FigureCanvasAgg(figure).get_renderer()

    def inches_high(artist: Artist) -> float:
        return artist.get_window_extent(renderer).height / figure.dpi

    left = _MARGIN / width
    heading = figure.text(left, 1, textwrap.fill(title, int(width * 9)), fontsize=12.5, weight="bold", va="top")
    footnote = figure.text(left, 0, textwrap.fill(note, int(width * 13.5)), fontsize=9, color="#444444", va="bottom")
    legend = _legend(figure, handles, width) if handles else None

    top = inches_high(heading) + 2 * _MARGIN
    legend_height = inches_high(legend) + _MARGIN if legend else 0.0
    bottom = inches_high(footnote) + 2 * _MARGIN
    height = top + legend_height + panels_height + bottom
    figure.set_size_inches(width, height)
    heading.set_y(1 - _MARGIN / height)
    footnote.set_y(_MARGIN / height)
    if legend:
        legend.set_bbox_to_anchor((left, 1 - top / height), transform=figure.transFigure)
    figure.set_layout_engine(
        "constrained", rect=(0, bottom / height, 1, panels_height / height), w_pad=0.08, h_pad=0.04, wspace=0.03
    )
    figure.draw_without_rendering()
    figure.set_layout_engine(None)  # both formats are drawn from one layout, and each is drawn once
    for axes in figure.axes:
        # the solver's last digits change from drawing to drawing, and the bytes of a file with them
        axes.set_position(np.round(axes.get_position().bounds, 6))
    return figure


def _legend(figure: Figure, handles: Sequence[Artist], width: float) -> Artist:
    """A frameless legend with as many entries per line as fit into `width` inches."""
    for columns in range(len(handles), 0, -1):
        # a legend fills column after column; this order makes it read line after line
        in_lines = [handle for column in range(columns) for handle in handles[column::columns]]
        labels = [textwrap.fill(str(handle.get_label()), int(width * 10)) for handle in in_lines]
        look = {"frameon": False, "borderpad": 0, "borderaxespad": 0, "handlelength": 3.2, "columnspacing": 1.6}
        legend = figure.legend(in_lines, labels, loc="upper left", ncols=columns, **look)
        extent = legend.get_window_extent(figure.canvas.get_renderer())
        if columns == 1 or extent.width / figure.dpi <= width - 2 * _MARGIN:
            break
        legend.remove()
    return legend


def views_present(table: pl.DataFrame, views: Sequence[str]) -> list[str]:
    """The `views` that `table` has, in their order; if it has none of them, all views of the table."""
    present = set(table["view"])
    return [view for view in views if view in present] or sorted(present)


def variant_handles(
    variants: Named, styles: Mapping[str, VariantStyle], present: set[str], thin: Collection[str] = ()
) -> list[Line2D]:
    """Legend entries (line and marker) of the variants that are `present`, in their order; some are `thin` lines."""
    return [
        Line2D(
            [],
            [],
            color=styles[name].colour,
            ls=styles[name].dashes,
            label=label,
            **({"lw": 1.0} if name in thin else {"marker": styles[name].marker}),
        )
        for name, label in variants
        if name in present
    ]


def mark_empty(axes: Axes, text: str = "no values") -> None:
    """Say in the middle of a panel that it has nothing to show."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=GREY)
    axes.grid(False)
    if len(axes.get_shared_y_axes().get_siblings(axes)) == 1:
        axes.set_yticks([])


def axis_label(label: str, logarithmic: bool) -> str:
    """The label of an axis, which says so if the axis is logarithmic."""
    return f"{label} (log scale)" if logarithmic else label


def set_log_scale(axes: Axes) -> None:
    """A logarithmic vertical axis whose labels stay readable where it spans less than a decade or two."""
    axes.set_yscale("log")
    for formatter in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        formatter(LogFormatterSciNotation(minor_thresholds=(1.5, 0.5)))


def range_with_zero(values: np.ndarray, room: float = 0.0, smallest: float = 1e-9) -> tuple[float, float]:
    """The range of the finite `values` and zero, with a share of it as `room` on both sides.

    It is ±.05 where it is below `smallest`, which only rounding errors are.
    """
    values = values[np.isfinite(values)]
    low, high = (min(values.min(), 0.0), max(values.max(), 0.0)) if values.size else (0.0, 0.0)
    if high - low < smallest:
        low, high = -0.05, 0.05
    return low - room * (high - low), high + room * (high - low)


def alike_handles(homogenization: int) -> list[Patch]:
    """The legend entry of the tinted side, for a metric that goes to one side when tokens grow alike."""
    return [Patch(color=ALIKE_COLOUR, label="side on which tokens are more alike")] * bool(homogenization)


def widen_if_flat(axes: Axes) -> None:
    """Keep values that differ by rounding alone from filling the panel with noise."""
    low, high = axes.dataLim.intervaly
    centre = (low + high) / 2
    if np.isfinite(centre) and high - low < 1e-6 * max(abs(centre), 1e-12):
        half = 0.05 * abs(centre) or 0.05
        axes.set_ylim(centre - half, centre + half)


def fit_vertical_axis(axes: Axes, values: pl.Series, logarithmic: bool) -> None:
    """Scale the vertical axis for the drawn `values`, or mark the panel empty if none of them is finite."""
    if not values.is_finite().any():
        mark_empty(axes)
    elif logarithmic:
        set_log_scale(axes)
    else:
        widen_if_flat(axes)


def counted(counts: pl.Series, unit: str = "review") -> str:
    """`64 reviews`, or `58 to 64 reviews` where the counts differ."""
    counts = counts.drop_nulls()
    low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {unit}" + ("s" if high != 1 else "")
