"""Numbers and aligned columns of the plan, for readers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def aligned(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Callable[[Mapping[str, Any]], str]]) -> str:
    """Rows as text below the names of `columns`, which give the cells: the first to the left, others to the right."""
    lines = [list(columns), *([cell(row) for cell in columns.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        + "\n"
        for name, *cells in lines
    )


def count(column: str) -> Callable[[Mapping[str, Any]], str]:
    """The cell of a whole number: 7,505."""
    return lambda row: f"{row[column]:,}"


def three_digits(number: float) -> str:
    """At least three digits, no fraction beyond them: 0.0227, 16.3, 7,505."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
