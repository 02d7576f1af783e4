"""Numbers and aligned columns of the plan, for readers."""

from collections.abc import Sequence


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """`lines` of cells as text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        + "\n"
        for name, *cells in lines
    )


def three_digits(number: float) -> str:
    """At least three digits, no fraction beyond them: 0.0227, 16.3, 7,505."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def duration(seconds: float) -> str:
    """Seconds in the largest unit of which there is one at least: 32.1 s, 2.14 min, 7.9 h."""
    size, unit = next((pair for pair in ((3600, "h"), (60, "min")) if seconds >= pair[0]), (1, "s"))
    return f"{three_digits(seconds / size)} {unit}"
