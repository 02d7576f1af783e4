"""The board of claims: a row for each published claim, a column for each model, and the verdicts in the cells."""

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from homogenization.figures.panels import counted, finish
from homogenization.figures.shown import Named, Shown, Tables, require_rows
from homogenization.figures.style import DARK, GREY, house_style
from homogenization.figures.words import short_number
from homogenization.statistics.verdicts import CONTRADICTED, NOT_TESTED, SUPPORTED, UNDECIDED

COLUMNS = {  # columns of tables/claims.csv that the board shows
    **dict.fromkeys(("claim", "statement", "source", "model", "statistic", "verdict"), pl.String),
    **dict.fromkeys(("estimate", "ci_low", "ci_high"), pl.Float64),
    "criterion": pl.String,
    "n_reviews": pl.Int64,
    "published": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True)
class Look:
    """The look of a verdict; verdicts differ by sign, darkness and colour."""

    sign: str
    colour: str
    ink: str


VERDICTS = {
    SUPPORTED: Look("✓", "#00558c", "white"),
    CONTRADICTED: Look("✗", "#f5a54a", DARK),
    UNDECIDED: Look("?", "#dedede", DARK),
    NOT_TESTED: Look("–", "white", GREY),
}
_STATISTICS = {  # name in tables/claims.csv -> quantity that the criterion applies to
    "level": "mean",
    "contrast": "mean difference",
    "slope": "slope over depth",
    "steepest": "depth of the fastest change",
    "correlation": "correlation",
    "component": "lead over the other components",
    "similarity": "mean F1",
}
_SIGNED = ("contrast", "slope", "component", "correlation")

# inches; the axes of the board are in inches too, so that text and boxes fit each other
_STATEMENT_WIDTH, _CELL_WIDTH, _GAP = 4.9, 1.85, 0.05
_STATEMENT_LINE, _SMALL_LINE, _ROW_PADDING = 0.205, 0.17, 0.17
_LEAST_ROW, _HEADING_HEIGHT, _HEADER_LINE = 0.58, 0.42, 0.2
_STATEMENT_CHARACTERS, _SMALL_CHARACTERS, _HEADER_CHARACTERS = 50, 68, 17
_REASON_CHARACTERS, _REASON_LINE = 22, 0.125


@dataclass(frozen=True)
class _Row:
    """One claim, laid out: its wrapped texts, and its rows of the table by model (None: for all models)."""

    statement: str
    criterion: str
    height: float
    by_model: dict[str | None, dict[str, Any]]


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The board from the table claims, grouped by source; sources and claims keep their order.

    A claim whose model is null has one cell for all models; a claim without a row for a model was not tested in it.

    Raises:
        HomogenizationError: the table holds no claim.
    """
    table, models = tables["claims"], shown.models
    require_rows(table, shown, "any claim", table["claim"])
    groups = {
        source: [_lay_out(claim) for _, claim in of_source.group_by("claim", maintain_order=True)]
        for (source,), of_source in table.group_by("source", maintain_order=True)
    }
    headers = [_wrap_evenly(label, _HEADER_CHARACTERS) for _, label in models]
    header_height = _HEADER_LINE * (1 + max(header.count("\n") + 1 for header in headers)) + 0.1
    height = header_height + sum(_HEADING_HEIGHT + sum(row.height for row in rows) for rows in groups.values())
    width = _STATEMENT_WIDTH + len(models) * _CELL_WIDTH
    figure = Figure(figsize=(width, height))
    axes = figure.add_subplot()
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _write_header(axes, table, models, headers, header_height)
    top = header_height
    for source, rows in groups.items():
        _write_heading(axes, source, top, width)
        top += _HEADING_HEIGHT
        for row in rows:
            _draw_row(axes, row, top, models)
            top += row.height
    counts = table.filter(pl.col("verdict") != NOT_TESTED)["n_reviews"]
    note = (
        "Number: estimate, in brackets its interval. Supported or contradicted: on the claimed or on the other side of "
        "the criterion (grey), tested over reviews and corrected for all claims and models on the board, or, for "
        "ranges, correlations and components, the whole interval inside or outside. Undecided: neither. Not tested: "
        "the study lacks what the claim is about, or has too few accepted reviews of it. "
        f"n = {counted(counts)}."
    )
    handles = [
        Patch(fc=look.colour, ec=GREY, lw=0.8, label=f"{look.sign}  {verdict}") for verdict, look in VERDICTS.items()
    ]
    return finish(figure, shown.title, note, handles)


def _lay_out(claim: pl.DataFrame) -> _Row:
    first = claim.row(0, named=True)
    statement = _wrap_evenly(first["statement"], _STATEMENT_CHARACTERS)
    criterion = f"{_STATISTICS.get(first['statistic'], first['statistic'])} {first['criterion']}"
    if first["published"]:
        criterion += f"; published: {first['published']}"
    criterion = textwrap.fill(criterion, _SMALL_CHARACTERS)
    lines = _STATEMENT_LINE * (statement.count("\n") + 1) + _SMALL_LINE * (criterion.count("\n") + 1)
    by_model = {row["model"]: row for row in claim.iter_rows(named=True)}
    return _Row(statement, criterion, max(_LEAST_ROW, lines + _ROW_PADDING), by_model)


def _wrap_evenly(text: str, width: int) -> str:
    """`text` in as few lines of at most `width` characters as possible, the lines about equally long."""
    text = re.sub(r"(\d) to (\.?\d)", "\\1\u00a0to\u00a0\\2", text)  # a range stays on its line
    n_lines = len(textwrap.wrap(text, width))
    while width > 12 and len(textwrap.wrap(text, width - 1)) == n_lines:
        width -= 1
    return textwrap.fill(text, width)


def _write_header(axes: Axes, table: pl.DataFrame, models: Named, headers: Sequence[str], height: float) -> None:
    """Write the names of the models, and below each the number of each verdict."""
    for index, ((model, _), header) in enumerate(zip(models, headers, strict=True)):
        centre = _STATEMENT_WIDTH + (index + 0.5) * _CELL_WIDTH
        axes.text(centre, height - _HEADER_LINE - 0.1, header, ha="center", va="bottom", fontsize=11, weight="bold")
        verdicts = table.filter(pl.col("model") == model)["verdict"].to_list()
        tally = "   ".join(f"{look.sign} {verdicts.count(name)}" for name, look in VERDICTS.items() if name in verdicts)
        axes.text(centre, height - 0.08, tally, ha="center", va="bottom", fontsize=9.5, color="#444444")


def _write_heading(axes: Axes, source: str, top: float, width: float) -> None:
    bottom = top + _HEADING_HEIGHT - 0.08
    axes.text(0, bottom - 0.05, source, ha="left", va="bottom", fontsize=11, weight="bold", color="#444444")
    axes.hlines(bottom, 0, width, color="#444444", lw=1)


def _draw_row(axes: Axes, row: _Row, top: float, models: Named) -> None:
    middle = top + row.height / 2
    shift = _SMALL_LINE * (row.criterion.count("\n") + 1) / 2
    block = _STATEMENT_LINE * (row.statement.count("\n") + 1) / 2
    axes.text(0, middle - shift, row.statement, ha="left", va="center", fontsize=12, color=DARK, linespacing=1.15)
    axes.text(0, middle + block, row.criterion, ha="left", va="center", fontsize=8.5, color=GREY)
    if None in row.by_model:
        _draw_cell(axes, row.by_model[None], _STATEMENT_WIDTH, top, len(models) * _CELL_WIDTH, row.height)
        return
    for index, (model, _) in enumerate(models):
        left = _STATEMENT_WIDTH + index * _CELL_WIDTH
        _draw_cell(axes, row.by_model.get(model), left, top, _CELL_WIDTH, row.height)


def _draw_cell(axes: Axes, found: dict[str, Any] | None, left: float, top: float, width: float, height: float) -> None:
    """A box with the verdict's sign, the estimate and its interval; `found` None: not tested."""
    verdict = found["verdict"] if found else NOT_TESTED
    look = VERDICTS[verdict]
    box = (left + _GAP / 2, top + _GAP / 2), width - _GAP, height - _GAP
    dashed = {"ec": "#bbbbbb", "ls": (0, (3, 2))} if verdict == NOT_TESTED else {"ec": look.colour}
    axes.add_patch(Rectangle(*box, fc=look.colour, lw=0.8, label=verdict, **dashed))
    centre, middle = left + width / 2, top + height / 2
    start = centre - _CELL_WIDTH / 2
    text_centre = start + 0.45 + (_CELL_WIDTH - 0.45 - _GAP) / 2
    text = {"ha": "center", "color": look.ink, "va": "center"}
    axes.text(start + 0.24, middle, look.sign, fontsize=19, weight="bold", **text)
    if verdict == NOT_TESTED or not _is_number(found["estimate"]):
        reason = (found and found["reason"]) or "no result"
        n_lines = int(height / _REASON_LINE) - 1
        reason = textwrap.fill(reason, _REASON_CHARACTERS, max_lines=n_lines, placeholder=" …")
        axes.text(text_centre, middle, reason, fontsize=7.5, **text)
        return
    number = short_number(found["estimate"], signed=found["statistic"] in _SIGNED)
    has_interval = _is_number(found["ci_low"]) and _is_number(found["ci_high"])
    axes.text(text_centre, middle - 0.09 * has_interval, number, fontsize=13, weight="bold", **text)
    if has_interval:
        interval = f"[{short_number(found['ci_low'])}, {short_number(found['ci_high'])}]"
        axes.text(text_centre, middle + 0.12, interval, fontsize=8, **text)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
