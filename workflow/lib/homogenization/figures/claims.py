"""The board of a source of claims: a row for each claim, a column for each model, and the verdicts in the cells."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from homogenization.figures.grammar import finish
from homogenization.figures.shown import Named, Shown, Tables, require_rows
from homogenization.figures.style import DARK, FINE, GREY, HAIR, NOTE, RULE, VERDICTS
from homogenization.figures.words import counted, short_number
from homogenization.names.changes import MORE_CHANGE
from homogenization.names.numbers import probability, share_in_words, signed
from homogenization.names.prose import where_few
from homogenization.names.verdicts import NOT_TESTED, POOLS, REVIEWS, SEEDS, STUDY
from homogenization.tables.comparisons import COMPARISONS_SCHEMA

_CLAIMS = {  # columns of tables/claims.csv that the board shows
    **dict.fromkeys(("claim", "statement", "source", "convention", "model", "statistic"), pl.String),
    **dict.fromkeys(("variant", "minus", "verdict", "measured", "criterion", "unit", "published", "reason"), pl.String),
    **dict.fromkeys(("depends_on_length", "fragile", "p_decides", "first_decides"), pl.Boolean),
    **dict.fromkeys(("n_same_first", "n_reviews"), pl.Int64),
    "verdict_same_first": pl.String,
    **dict.fromkeys(("estimate", "ci_low", "ci_high", "depth_range", "relative_effect"), pl.Float64),
    **dict.fromkeys(("share_changed", "without_first", "p_max_t"), pl.Float64),
}
_COMPARISONS = ("variant", "minus", "imbalance")
COLUMNS = {
    "claims": _CLAIMS,
    "comparisons": {name: dtype for name, dtype in COMPARISONS_SCHEMA.items() if name in _COMPARISONS},
}


CONVENTIONS = {"raw": "text by text", "thesis": "pooled"}
_SIGNED = ("contrast", "slope", "net_change", "component", "correlation", "intervention", "arms")

_STATEMENT, _CRITERION, _NUMBER, _DETAIL = 9, 7, 9.5, 6.3  # points
# inches; the axes of the board are in inches too, so that text and boxes fit each other
_STATEMENT_WIDTH, _CLAIM_WIDTH, _CELL_WIDTH, _GAP, _PADDING = 3.2, 5.05, 1.55, 0.04, 0.09
_LEAST_ROW, _LEAST_WIDTH = 0.27, 6.6  # a board of one model has room for its note
_NO_BREAK = "\u00a0"
_LEAST_TOGETHER = 3  # claims tested in no model that share a row


@dataclass(frozen=True)
class _Row:
    """One claim, laid out: its wrapped texts, and its cells by model (None: for all models)."""

    statement: str
    criterion: str
    height: float
    cells: dict[str | None, "_Cell"]


@dataclass(frozen=True)
class _Cell:
    """What a cell says: the verdict, a number, and small lines below it; without a number, only the lines."""

    verdict: str
    number: str
    lines: tuple[str, ...]

    def reason(self, n_columns: int) -> str:
        """Its only line, wrapped to the width of so many columns."""
        return textwrap.fill(self.lines[0], _characters(_DETAIL, n_columns * _CELL_WIDTH - 0.3))

    def height(self, n_columns: int) -> float:
        """Height of its texts in inches, in a box as wide as so many columns."""
        if not self.number:
            return _height(_DETAIL, self.reason(n_columns))
        return _line(_NUMBER) + _line(_DETAIL) * len(self.lines)


def draw(tables: Tables, shown: Shown) -> Figure:
    """The board of the source `shown.claims_of` from the table claims, whose order it keeps.

    A claim whose model is null has one cell for all models; where all are, the board has one column. A claim without a
    row for a model was not tested in it. The table comparisons says which controls are out of balance.
    """
    claims, models = tables["claims"], shown.models
    table = claims.filter(source=shown.claims_of)
    require_rows(table, shown, f"claims of '{shown.claims_of}'", claims["source"])
    table = table.filter(pl.col("model").is_null() | pl.col("model").is_in([name for name, _ in models]))
    models = [(None, STUDY.capitalize())] if table["model"].is_null().all() else models
    unchanged = table["reason"].str.ends_with(MORE_CHANGE).any()  # said once, and not in each cell
    table = table.with_columns(pl.col("reason").str.strip_suffix(f". {MORE_CHANGE}"))
    table = table.join(_unbalanced(tables["comparisons"]), on=("variant", "minus"), how="left", maintain_order="left")
    rows = _lay_out_board(table, len(models))
    headers = [_wrap_evenly(label, _characters(_STATEMENT, _CELL_WIDTH - 0.1)) for _, label in models]
    header_height = _line(_STATEMENT) + max(_height(_STATEMENT, header) for header in headers) + 2 * _PADDING
    height = header_height + sum(row.height for row in rows)
    width = max(_LEAST_WIDTH, _CLAIM_WIDTH + len(models) * _CELL_WIDTH)
    figure = Figure(figsize=(width, height))
    axes = figure.add_subplot()
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _write_header(axes, table, models, headers, header_height)
    top = header_height
    for row in rows:
        if row.statement:
            axes.hlines(top, 0, _CLAIM_WIDTH + len(models) * _CELL_WIDTH, color=RULE, lw=HAIR)
        _draw_row(axes, row, top, models)
        top += row.height
    handles = [
        Patch(fc=look.colour, ec=GREY, lw=FINE, label=f"{look.sign}  {verdict}") for verdict, look in VERDICTS.items()
    ]
    return finish(figure, shown.title, _note(table, f"{MORE_CHANGE}." if unchanged else ""), handles)


def _unbalanced(comparisons: pl.DataFrame) -> pl.DataFrame:
    """variant, minus and imbalance, the covariates in which the one is out of balance with the other; null for none."""
    if "imbalance" not in comparisons.columns:
        comparisons = comparisons.with_columns(pl.lit(None, dtype=pl.String).alias("imbalance"))
    return comparisons.select(*_COMPARISONS).with_columns(pl.col("imbalance").replace("", None))


def _note(table: pl.DataFrame, cure: str) -> str:
    tested = table.filter(pl.col("verdict") != NOT_TESTED)
    counts = {unit: tested.filter(unit=unit)["n_reviews"] for unit in (REVIEWS, SEEDS)}
    counts = {unit: found for unit, found in counts.items() if len(found)} or {REVIEWS: tested["n_reviews"].clear()}
    parts = [
        "Per cent: of what depth does to the metric in the model (its range over depth). Below it, or large: the "
        "estimate, with its interval. Supported or contradicted: on the claimed or on the other side of the "
        "criterion (grey): by p where a claim is about some layers or parts of the depth, corrected over these, else "
        "by the whole interval. Negligible: the interval is closer to no difference than the margin. Undecided: none "
        "of these.",
        *filter(None, [cure]),
    ]
    if table["fragile"].any():
        parts.append("Fragile: a robust estimate, or the reviews without the most influential, give another verdict.")
    if table["imbalance"].is_not_null().any():
        parts.append("Unbalanced: the variant and its control differ in more than the claim is about.")
    if (table["share_changed"] < 1).any():
        parts.append("Changed: the share of the texts that differ, which alone are compared.")
    if table["p_decides"].any():
        parts.append("p: corrected, where it decides otherwise than the interval would.")
    if table["first_decides"].any():
        parts.append("First (n): the other verdict of the n reviews that begin with the same token in both.")
    if table["without_first"].is_finite().any():
        parts.append("Without first: the estimate where the first token is left out.")
    if (table["convention"] == "thesis").any():
        parts.append("Pooled: tokens of many texts in one matrix, centred, with the output after the final norm.")
    if table["depends_on_length"].any():
        parts.append("†: the metric changes with the number of tokens alone.")
    numbers = ", ".join(counted(found, unit.removesuffix("s")) for unit, found in counts.items())
    return " ".join([*parts, f"n = {numbers}."])


def _lay_out_board(table: pl.DataFrame, n_models: int) -> list[_Row]:
    """The rows of a board; a claim with several rows has its statement once.

    Claims that were tested in no model share the last row, if they are several.
    """
    tested = (pl.col("verdict") != NOT_TESTED).any().over("claim")
    untested = table.filter(~tested)
    together = untested["claim"].n_unique() >= _LEAST_TOGETHER
    twice = table.group_by("statement").agg(pl.col("convention").n_unique() > 1).filter("convention")["statement"]
    rows, above = [], None
    for _, claim in (table.filter(tested) if together else table).group_by("claim", maintain_order=True):
        statement = claim["statement"][0]
        rows.append(_lay_out(claim, "" if statement == above else statement, statement in twice, n_models))
        above = statement
    return [*rows, _together(untested, n_models)] if together else rows


def _lay_out(claim: pl.DataFrame, statement: str, names_convention: bool, n_models: int) -> _Row:
    first = claim.row(0, named=True)
    statement = _wrap_evenly(statement, _characters(_STATEMENT, _STATEMENT_WIDTH))
    bound = f"{first['criterion']}{' †' if first['depends_on_length'] else ''}"
    criterion = f"{first['measured']} {bound.replace(' ', _NO_BREAK)}"
    if names_convention:
        criterion = f"{CONVENTIONS[first['convention']]}: {criterion}"
    if first["published"]:
        criterion += f"; published: {first['published']}"
    width = _characters(_CRITERION, _CLAIM_WIDTH - _STATEMENT_WIDTH)
    criterion = textwrap.fill(criterion, width).replace(_NO_BREAK, " ")
    lines = max(_height(_STATEMENT, statement), _height(_CRITERION, criterion))
    cells = {row["model"]: _cell(row) for row in claim.iter_rows(named=True)}
    if len(set(cells.values())) == 1 and first["verdict"] == NOT_TESTED:  # for one reason in all models
        cells = {None: cells[first["model"]]}
    tallest = max(cell.height(n_models if model is None else 1) for model, cell in cells.items())
    return _Row(statement, criterion, max(_LEAST_ROW, lines + _PADDING, tallest + _PADDING), cells)


def _together(untested: pl.DataFrame, n_models: int) -> _Row:
    """The row of claims that were tested in no model, with each reason once."""
    reasons = untested["reason"].unique(maintain_order=True)
    cell = _Cell(NOT_TESTED, "", ("; ".join(reason or "no result" for reason in reasons),))
    statement = f"{untested['claim'].n_unique()} claims, of which none could be tested"
    return _Row(statement, "each: tables/claims.csv", max(_LEAST_ROW, cell.height(n_models) + _PADDING), {None: cell})


def _cell(row: dict[str, Any]) -> _Cell:
    """The cell of a row of the table claims."""
    if row["verdict"] == NOT_TESTED or not _is_number(row["estimate"]):
        return _Cell(row["verdict"], "", (row["reason"] or "no result",))
    estimate = short_number(row["estimate"], signed=row["statistic"] in _SIGNED)
    interval = ""
    if _is_number(row["ci_low"]) and _is_number(row["ci_high"]):
        interval = f"[{short_number(row['ci_low'])}, {short_number(row['ci_high'])}]"
    size = row["relative_effect"]
    if _is_number(size):
        number, first = signed(share_in_words(size)), f"{estimate} {interval}"
    else:
        number, first = estimate, interval
    details = [first.strip()]
    details += [mark for mark, shown in (("fragile", row["fragile"]), ("unbalanced", row["imbalance"])) if shown]
    details += [few] if row["unit"] == REVIEWS and (few := where_few([row["n_reviews"]], REVIEWS)) else []
    details += [f"p {probability(row['p_max_t'])}"] if row["p_decides"] else []
    if _is_number(row["share_changed"]) and row["share_changed"] < 1:
        details.append(f"{share_in_words(row['share_changed'])} changed")
    if _is_number(row["without_first"]):
        details.append(f"without first: {short_number(row['without_first'], signed=True)}")
    if row["first_decides"]:
        details.append(f"first (n {row['n_same_first']}): {row['verdict_same_first']}")
    if row["unit"] == POOLS:
        details.append(f"{row['n_reviews']} pools" if row["n_reviews"] > 1 else "one pool")
    return _Cell(row["verdict"], number, tuple(_packed(filter(None, details))))


def _packed(parts: Iterable[str]) -> list[str]:
    """`parts` in as few lines as their order allows."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= _characters(_DETAIL, _CELL_WIDTH - 0.1):
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def _line(points: float) -> float:
    """Height of a line of text in inches."""
    return points / 61


def _height(points: float, text: str) -> float:
    return _line(points) * (text.count("\n") + 1) if text else 0.0


def _characters(points: float, width: float) -> int:
    """How many characters fit into a width in inches: on average, one is .59 of its size wide."""
    return int(122 * width / points)


def _wrap_evenly(text: str, width: int) -> str:
    """`text` in as few lines of at most `width` characters as possible, the lines about equally long."""
    text = re.sub(r"(\d) to (\.?\d)", rf"\1{_NO_BREAK}to{_NO_BREAK}\2", text)  # a range stays on its line
    n_lines = len(textwrap.wrap(text, width, break_long_words=False))
    while width > 12 and len(textwrap.wrap(text, width - 1, break_long_words=False)) == n_lines:
        width -= 1
    return textwrap.fill(text, width, break_long_words=False)


def _write_header(axes: Axes, table: pl.DataFrame, models: Named, headers: Sequence[str], height: float) -> None:
    """Write the names of the models, and below each the number of each verdict."""
    for index, ((model, _), header) in enumerate(zip(models, headers, strict=True)):
        centre = _CLAIM_WIDTH + (index + 0.5) * _CELL_WIDTH
        above = height - _line(_STATEMENT) - _PADDING
        axes.text(centre, above, header, ha="center", va="bottom", fontsize=_STATEMENT, weight="bold")
        verdicts = table.filter(pl.col("model").eq_missing(model))["verdict"].to_list()
        tally = "  ".join(f"{look.sign} {verdicts.count(name)}" for name, look in VERDICTS.items() if name in verdicts)
        axes.text(centre, height - 0.06, tally, ha="center", va="bottom", fontsize=8, color=NOTE)


def _draw_row(axes: Axes, row: _Row, top: float, models: Named) -> None:
    middle = top + row.height / 2
    text = {"ha": "left", "va": "center", "linespacing": 1.15}
    if row.statement:
        axes.text(0, middle, row.statement, fontsize=_STATEMENT, color=DARK, **text)
    axes.text(_STATEMENT_WIDTH, middle, row.criterion, fontsize=_CRITERION, color=GREY, **text)
    if None in row.cells:
        _draw_cell(axes, row.cells[None], _CLAIM_WIDTH, top, len(models) * _CELL_WIDTH, row.height)
        return
    for index, (model, _) in enumerate(models):
        left = _CLAIM_WIDTH + index * _CELL_WIDTH
        cell = row.cells.get(model, _Cell(NOT_TESTED, "", ("no result",)))
        _draw_cell(axes, cell, left, top, _CELL_WIDTH, row.height)


def _draw_cell(axes: Axes, cell: _Cell, left: float, top: float, width: float, height: float) -> None:
    """A box with the verdict's sign, the number and the lines below it."""
    look = VERDICTS[cell.verdict]
    box = (left + _GAP / 2, top + _GAP / 2), width - _GAP, height - _GAP
    dashed = {"ec": RULE, "ls": (0, (3, 2))} if cell.verdict == NOT_TESTED else {"ec": look.colour}
    axes.add_patch(Rectangle(*box, fc=look.colour, lw=FINE, label=cell.verdict, **dashed))
    middle, centre = top + height / 2, left + width / 2
    text = {"ha": "center", "color": look.ink, "va": "center"}
    if not cell.number:
        reason = cell.reason(round((width + _GAP) / _CELL_WIDTH))
        axes.text(left + 0.12, middle, look.sign, fontsize=_NUMBER, weight="bold", **text)
        axes.text(centre + 0.08, middle, reason, fontsize=_DETAIL, linespacing=1.1, **text)
        return
    first = middle - cell.height(1) / 2 + _line(_NUMBER) / 2
    axes.text(centre - 0.4, first, look.sign, fontsize=_NUMBER + 2, weight="bold", **text)
    axes.text(centre + 0.1, first, cell.number, fontsize=_NUMBER, weight="bold", **text)
    for index, line in enumerate(cell.lines):
        place = first + _line(_NUMBER) / 2 + (index + 0.5) * _line(_DETAIL)
        axes.text(centre, place, line, fontsize=_DETAIL, **text)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
