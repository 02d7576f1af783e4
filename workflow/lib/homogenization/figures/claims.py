"""The board of a source of claims: a row for each claim, a column for each model, and the verdicts in the cells."""

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from homogenization.claims.findings import findings
from homogenization.claims.terms import CONVENTIONS
from homogenization.figures.grammar import finish
from homogenization.figures.shown import Named, Shown, Tables, required
from homogenization.figures.style import DARK, FINE, GREY, HAIR, NOTE, RULE, VERDICTS
from homogenization.figures.words import counted, short_number
from homogenization.names.changes import MORE_CHANGE
from homogenization.names.numbers import probability, share_in_words, signed
from homogenization.names.prose import where_few
from homogenization.names.verdicts import NOT_TESTED, POOLS, REVIEWS, SEEDS, STUDY, caveats
from homogenization.tables.comparisons import COMPARISONS_SCHEMA

_CLAIMS = {  # columns of tables/claims.csv that the board shows
    **dict.fromkeys(("claim", "statement", "source", "convention", "model", "statistic", "metric"), pl.String),
    **dict.fromkeys(("variant", "minus", "verdict", "measured", "criterion", "unit", "published", "reason"), pl.String),
    **dict.fromkeys(("depends_on_length", "fragile", "p_decides", "first_decides"), pl.Boolean),
    **dict.fromkeys(("n_same_first", "n_reviews"), pl.Int64),
    "verdict_same_first": pl.String,
    **dict.fromkeys(("estimate", "ci_low", "ci_high", "depth_range", "relative_effect"), pl.Float64),
    **dict.fromkeys(("share_changed", "without_first", "p_max_t"), pl.Float64),
}
_COMPARISONS = ("variant", "minus", "imbalance")
COLUMNS = {"claims": _CLAIMS, "comparisons": {name: COMPARISONS_SCHEMA[name] for name in _COMPARISONS}}

_SIGNED = ("contrast", "slope", "net_change", "component", "correlation", "intervention", "arms")
_VERDICTS_IN_WORDS = (
    "Per cent: of what depth does to the metric in the model (its range over depth). Below it, or large: the "
    "estimate, with its interval. Supported or contradicted: on the claimed or on the other side of the criterion "
    "(grey): by p where a claim is about some layers or parts of the depth, corrected over these, else by the whole "
    "interval. Negligible: the interval is closer to no difference than the margin. Undecided: none of these."
)
_REMARKS = {  # what the note says where any row is so
    "Fragile: a robust estimate, or the reviews without the most influential, give another verdict.": "fragile",
    "Unbalanced: the variant and its control differ in more than the claim is about.": pl.col(
        "imbalance"
    ).is_not_null(),
    "Changed: the share of the texts that differ, which alone are compared.": pl.col("share_changed") < 1,
    "p: corrected, where it decides otherwise than the interval would.": "p_decides",
    "First (n): the other verdict of the n reviews that begin with the same token in both.": "first_decides",
    "Without first: the estimate where the first token is left out.": pl.col("without_first").is_finite(),
    "Pooled: tokens of many texts in one matrix, centred, with the output after the final norm.": (
        pl.col("convention") == "thesis"
    ),
    "†: the metric changes with the number of tokens alone.": "depends_on_length",
}

_STATEMENT, _CRITERION, _NUMBER, _DETAIL = 9, 7, 9.5, 6.3  # points
# inches; the axes of the board are in inches too, so that text and boxes fit each other
_STATEMENT_WIDTH, _CLAIM_WIDTH, _CELL_WIDTH, _GAP, _PADDING = 3.2, 5.05, 1.55, 0.04, 0.09
_LEAST_ROW, _LEAST_WIDTH = 0.27, 6.6  # a board of one model has room for its note
_NO_BREAK = "\u00a0"
_LEAST_TOGETHER = 3  # claims tested in no model that share a row


class _Cell(NamedTuple):
    """What a cell says: the verdict, a number, and small lines below it; without a number, only the lines."""

    verdict: str
    number: str
    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        """Height of its texts in inches."""
        return _line(_NUMBER) * bool(self.number) + _line(_DETAIL) * len(self.lines)


class _Row(NamedTuple):
    """One claim, laid out: its wrapped texts, and its cells by model (None: for all models)."""

    statement: str
    criterion: str
    cells: dict[str | None, _Cell]

    @property
    def height(self) -> float:
        """Height in inches."""
        texts = max(_height(_STATEMENT, self.statement), _height(_CRITERION, self.criterion))
        return max(_LEAST_ROW, _PADDING + max(texts, *(cell.height for cell in self.cells.values())))


def claims(tables: Tables, shown: Shown) -> Figure:
    """The board of the source `shown.claims_of` from the table claims, whose order it keeps.

    A claim whose model is null has one cell for all models; where all are, the board has one column. A claim without a
    row for a model was not tested in it. The table comparisons says which controls are out of balance.
    """
    models, wanted = shown.models, f"claims of '{shown.claims_of}'"
    table = required(tables["claims"], shown, wanted, of=(), told="source", source=shown.claims_of)
    table = table.filter(pl.col("model").is_null() | pl.col("model").is_in([name for name, _ in models]))
    models = [(None, STUDY.capitalize())] if table["model"].is_null().all() else models
    unchanged = table["reason"].str.ends_with(MORE_CHANGE).any()  # said once, and not in each cell
    table = table.with_columns(pl.col("reason").str.strip_suffix(f". {MORE_CHANGE}"))
    table = table.join(
        tables["comparisons"].select(*_COMPARISONS), on=("variant", "minus"), how="left", maintain_order="left"
    )
    rows = _lay_out_board(table, len(models))
    headers = [_wrap_evenly(label, _characters(_STATEMENT, _CELL_WIDTH - 0.1)) for _, label in models]
    top = _line(_STATEMENT) + max(_height(_STATEMENT, header) for header in headers) + 2 * _PADDING
    height, width = top + sum(row.height for row in rows), _CLAIM_WIDTH + len(models) * _CELL_WIDTH
    figure = Figure(figsize=(max(_LEAST_WIDTH, width), height))
    axes = figure.add_subplot()
    axes.set(xlim=(0, figure.get_figwidth()), ylim=(height, 0))
    axes.set_axis_off()
    _write_header(axes, table, models, headers, top)
    for row in rows:
        if row.statement:
            axes.hlines(top, 0, width, color=RULE, lw=HAIR)
        _draw_row(axes, row, top, models)
        top += row.height
    looks = {f"{look.sign}  {verdict}": look.colour for verdict, look in VERDICTS.items()}
    handles = [Patch(fc=colour, ec=GREY, lw=FINE, label=label) for label, colour in looks.items()]
    return finish(figure, shown.title, _note(table, f"{MORE_CHANGE}." if unchanged else ""), handles)


def _note(table: pl.DataFrame, cure: str) -> str:
    tested = table.filter(pl.col("verdict") != NOT_TESTED)
    counts = {unit: tested.filter(unit=unit)["n_reviews"] for unit in (REVIEWS, SEEDS)}
    counts = {unit: found for unit, found in counts.items() if len(found)} or {REVIEWS: tested["n_reviews"].clear()}
    remarks = [words for words, holds in _REMARKS.items() if len(table.filter(holds))]
    numbers = ", ".join(counted(found, unit.removesuffix("s")) for unit, found in counts.items())
    return " ".join([_VERDICTS_IN_WORDS, *filter(None, [cure]), *remarks, f"n = {numbers}."])


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
    if together:
        reasons = "; ".join(reason or "no result" for reason in untested["reason"].unique(maintain_order=True))
        statement = f"{untested['claim'].n_unique()} claims, of which none could be tested"
        rows.append(_Row(statement, "each: tables/claims.csv", {None: _without_number(NOT_TESTED, reasons, n_models)}))
    return rows


def _lay_out(claim: pl.DataFrame, statement: str, names_convention: bool, n_models: int) -> _Row:
    first = claim.row(0, named=True)
    bound = f"{first['criterion']}{' †' if first['depends_on_length'] else ''}"
    criterion = f"{first['measured']} {bound.replace(' ', _NO_BREAK)}"
    if names_convention:
        criterion = f"{CONVENTIONS[first['convention']]}: {criterion}"
    if first["published"]:
        criterion += f"; published: {first['published']}"
    criterion = textwrap.fill(criterion, _characters(_CRITERION, _CLAIM_WIDTH - _STATEMENT_WIDTH))
    cells = {row["model"]: _cell(row, n_models if row["model"] is None else 1) for row in claim.iter_rows(named=True)}
    if len(set(cells.values())) == 1 and first["verdict"] == NOT_TESTED:  # for one reason in all models
        cells = {None: _cell(first, n_models)}
    statement = _wrap_evenly(statement, _characters(_STATEMENT, _STATEMENT_WIDTH))
    return _Row(statement, criterion.replace(_NO_BREAK, " "), cells)


def _cell(row: dict[str, Any], n_columns: int = 1) -> _Cell:
    """The cell of a row of the table claims, as wide as so many columns."""
    if row["verdict"] == NOT_TESTED or not _is_number(row["estimate"]):
        return _without_number(row["verdict"], row["reason"] or "no result", n_columns)
    (found,) = findings([row], {})
    number = short_number(row["estimate"], signed=row["statistic"] in _SIGNED)
    ends = [row["ci_low"], row["ci_high"]]
    between = f"[{', '.join(map(short_number, ends))}]" if all(map(_is_number, ends)) else ""
    if _is_number(row["relative_effect"]):
        between = f"{number} {between}".strip()
        number = share_in_words(found.share)
        number = number if found.side else signed(number)
    marks = caveats(row["fragile"], row["imbalance"])
    details = [found.side, *marks, between] if found.side else [between, *marks]
    details += [where_few([row["n_reviews"]], REVIEWS)] if row["unit"] == REVIEWS else []
    details += [f"p {probability(row['p_max_t'])}"] if row["p_decides"] else []
    if _is_number(row["share_changed"]) and row["share_changed"] < 1:
        details.append(f"{share_in_words(row['share_changed'])} changed")
    if _is_number(row["without_first"]):
        details.append(f"without first: {short_number(row['without_first'], signed=True)}")
    if row["first_decides"]:
        details.append(f"first (n {row['n_same_first']}): {row['verdict_same_first']}")
    if row["unit"] == POOLS:
        details.append(f"{row['n_reviews']} pools" if row["n_reviews"] > 1 else "one pool")
    return _Cell(row["verdict"], number, _packed(filter(None, details)))


def _without_number(verdict: str, reason: str, n_columns: int = 1) -> _Cell:
    return _Cell(verdict, "", tuple(textwrap.wrap(reason, _characters(_DETAIL, n_columns * _CELL_WIDTH - 0.3))))


def _packed(parts: Iterable[str]) -> tuple[str, ...]:
    """`parts` in as few lines as their order allows."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= _characters(_DETAIL, _CELL_WIDTH - 0.1):
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return tuple(lines)


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
    below = {"ha": "center", "va": "bottom"}
    for index, ((model, _), header) in enumerate(zip(models, headers, strict=True)):
        centre = _CLAIM_WIDTH + (index + 0.5) * _CELL_WIDTH
        verdicts = table.filter(pl.col("model").eq_missing(model))["verdict"].to_list()
        tally = "  ".join(f"{look.sign} {verdicts.count(name)}" for name, look in VERDICTS.items() if name in verdicts)
        above = height - _line(_STATEMENT) - _PADDING
        axes.text(centre, above, header, fontsize=_STATEMENT, weight="bold", **below)
        axes.text(centre, height - 0.06, tally, fontsize=8, color=NOTE, **below)


def _draw_row(axes: Axes, row: _Row, top: float, models: Named) -> None:
    middle = top + row.height / 2
    text = {"ha": "left", "va": "center", "linespacing": 1.15}
    if row.statement:
        axes.text(0, middle, row.statement, fontsize=_STATEMENT, color=DARK, **text)
    axes.text(_STATEMENT_WIDTH, middle, row.criterion, fontsize=_CRITERION, color=GREY, **text)
    if None in row.cells:
        _draw_cell(axes, row.cells[None], (_CLAIM_WIDTH, top), len(models) * _CELL_WIDTH, row.height)
        return
    for index, (model, _) in enumerate(models):
        cell = row.cells.get(model, _without_number(NOT_TESTED, "no result"))
        _draw_cell(axes, cell, (_CLAIM_WIDTH + index * _CELL_WIDTH, top), _CELL_WIDTH, row.height)


def _draw_cell(axes: Axes, cell: _Cell, corner: tuple[float, float], width: float, height: float) -> None:
    """A box with the verdict's sign, the number and the lines below it; `corner` is the upper left one."""
    look, (left, top) = VERDICTS[cell.verdict], corner
    dashed = {"ec": RULE, "ls": (0, (3, 2))} if cell.verdict == NOT_TESTED else {"ec": look.colour}
    box = {"width": width - _GAP, "height": height - _GAP, "fc": look.colour, "lw": FINE, "label": cell.verdict}
    axes.add_patch(Rectangle((left + _GAP / 2, top + _GAP / 2), **box, **dashed))
    middle, centre = top + height / 2, left + width / 2
    text = {"ha": "center", "color": look.ink, "va": "center"}
    if not cell.number:
        axes.text(left + 0.12, middle, look.sign, fontsize=_NUMBER, weight="bold", **text)
        axes.text(centre + 0.08, middle, "\n".join(cell.lines), fontsize=_DETAIL, linespacing=1.1, **text)
        return
    first = middle - cell.height / 2 + _line(_NUMBER) / 2
    axes.text(centre - 0.4, first, look.sign, fontsize=_NUMBER + 2, weight="bold", **text)
    axes.text(centre + 0.1, first, cell.number, fontsize=_NUMBER, weight="bold", **text)
    for index, line in enumerate(cell.lines):
        place = first + _line(_NUMBER) / 2 + (index + 0.5) * _line(_DETAIL)
        axes.text(centre, place, line, fontsize=_DETAIL, **text)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
