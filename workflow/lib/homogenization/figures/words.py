"""Numbers as figures write them, and the label of the depth."""

import polars as pl

DEPTH_LABEL = "Relative depth (layer / blocks)"


def counted(counts: pl.Series, unit: str = "review") -> str:
    """`64 reviews`, or `58 to 64 reviews` where the counts differ."""
    counts = counts.drop_nulls()
    low, high = (int(counts.min()), int(counts.max())) if len(counts) else (0, 0)
    number = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{number} {unit}" + ("s" if high != 1 else "")
