"""Numbers as figures write them."""

import polars as pl

from homogenization.names.numbers import signed as with_sign


def short_number(value: float, signed: bool = False) -> str:
    """Two significant digits, or three from 100 on and between .1 and 1: `−0.012`, `0.653`, `+1.4`, `2.1e−5`."""
    size = abs(value)
    if size == 0:
        return "0"
    if size < 0.9995e-3 or size >= 99_950:
        digits, _, exponent = f"{value:.1e}".partition("e")
        text = f"{digits}e{int(exponent)}"
    elif size >= 99.5:
        text = f"{value:.0f}"
    elif 0.0995 <= size < 1:
        text = f"{value:.3f}"
    else:
        text = f"{value:#.2g}".rstrip(".")
    return with_sign(true_minus(text)) if signed else true_minus(text)


def two_decimals(value: float) -> str:
    """Two decimals, none from 10 on, and no minus sign before a zero: `0.45`, `−12`, `0`."""
    text = f"{value:.0f}" if abs(value) >= 9.995 else f"{value:.2f}"
    return "0" if float(text) == 0 else true_minus(text)


def percent(share: float) -> str:
    """`100 %` for 1 alone: a smaller share is never rounded up to it."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.1f} %"


def true_minus(text: str) -> str:
    """`text` with minus signs in place of hyphens."""
    return text.replace("-", "−")


def counted(counts: pl.Series, unit: str = "review") -> str:
    """`64 reviews`, or `58 to 64 reviews` where the counts differ."""
    counts = counts.drop_nulls()
    low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {unit}" + ("s" if high != 1 else "")
