"""Which variants have enough accepted reviews to be drawn, and how many each has."""

from dataclasses import dataclass

import polars as pl
from matplotlib.lines import Line2D

from homogenization.figures.shown import Named
from homogenization.figures.words import counted
from homogenization.names.variants import ORIGINAL


@dataclass(frozen=True)
class Accepted:
    """The variants of a figure of means over accepted reviews.

    Attributes:
        table: rows of the variants that are drawn.
        variants: (name, label) pairs of these in their order; labels have the number of reviews where numbers differ.
        counts: the number of reviews in words, for the note.
        left_out: legend entries, without a line, of the variants that have too few accepted reviews.
    """

    table: pl.DataFrame
    variants: Named
    counts: str
    left_out: list[Line2D]


def accepted(table: pl.DataFrame, variants: Named, min_reviews: int) -> Accepted:
    """Leave out the `variants` with fewer than `min_reviews` accepted reviews.

    A mean over the few reviews that happen to be accepted says little beside one over all. A variant that has as many
    reviews as the original has lost none and is drawn, however few there are.

    Args:
        table: rows of these variants, columns variant and n_reviews.
        variants: (name, label) pairs in the order of the legend.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
    """
    most = dict(table.group_by("variant").agg(pl.col("n_reviews").max().fill_null(0)).iter_rows())
    needed = max(1, min(min_reviews, most.get(ORIGINAL, min_reviews)))
    drawn = [(name, label) for name, label in variants if most.get(name, 0) >= needed]
    few = [(label, most.get(name, 0)) for name, label in variants if most.get(name, 0) < needed]
    of_drawn = table.filter(pl.col("variant").is_in([name for name, _ in drawn]))
    alike = len({most[name] for name, _ in drawn}) <= 1
    if alike:
        counts = f"n = {counted(of_drawn['n_reviews'])}" + ", the same in every variant" * (len(drawn) > 1)
    else:
        # the number stays in one piece where the label is wrapped
        drawn = [(name, f"{label} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{most[name]:,})") for name, label in drawn]
        counts = "n: the reviews accepted in the variant, so variants are means over different reviews"
    if few:
        counts += f"; fewer than {needed} accepted reviews are not drawn"
    left_out = [Line2D([], [], ls="", label=f"{label}: {count_in_words(count)}, not drawn") for label, count in few]
    return Accepted(of_drawn, drawn, counts, left_out)


def count_in_words(count: int) -> str:
    """`no accepted review`, `1 accepted review` or `3 accepted reviews`."""
    return "no accepted review" if count == 0 else f"{count:,} accepted review" + ("s" if count > 1 else "")
