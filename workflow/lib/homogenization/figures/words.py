"""Numbers as figures write them, and the label of the depth."""

import polars as pl

from homogenization.names.numbers import signed as with_sign
from homogenization.names.numbers import typeset

DEPTH_LABEL = "Relative depth (layer / blocks)"


def short_number(value: float, signed: bool = False) -> str:
    """Two significant digits, or three from 100 on and between .1 and 1: `−0.012`, `0.653`, `+1.4`, `2.1e−5`."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.9995e-3 or size >= 99_950:
        text = f"{value:.1e}"
    elif size >= 99.5:
        text = f"{value:.0f}"
    elif 0.0995 <= size < 1:
        text = f"{value:.3f}"
    else:
        text = f"{value:#.2g}".rstrip(".")
    return with_sign(typeset(text)) if signed else typeset(text)


def counted(counts: pl.Series, unit: str = "review") -> str:
    """`64 reviews`, or `58 to 64 reviews` where the counts differ."""
    counts = counts.drop_nulls()
    low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {unit}" + ("s" if high != 1 else "")
