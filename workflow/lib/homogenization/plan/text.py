"""Numbers and aligned columns of the plan, for readers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there is one at least: 32.1 s, 2.14 min, 7.9 h."""
    size, unit = next((pair for pair in ((3600, "h"), (60, "min")) if seconds >= pair[0]), (1, "s"))
    return f"{three_digits(seconds / size)} {unit}"


def text_of_work(rows: Sequence[Mapping[str, Any]], counts: Mapping[str, str], note: str) -> str:
    """Rows of `durations` with numbers of their own, for readers; empty where there are none.

    Args:
        rows: work, model, the columns of `counts`, petaflops and seconds_total.
        counts: columns of whole numbers, by their titles.
        note: a last line.
    """
    if not rows:
        return ""
    columns = {
        "": lambda row: f"{row['work']}, {row['model']}",
        **{title: count(column) for title, column in counts.items()},
        "PFLOP": lambda row: three_digits(row["petaflops"]),
        "time": lambda row: duration(row["seconds_total"]),
    }
    return f"{aligned(rows, columns)}{note}\n"
