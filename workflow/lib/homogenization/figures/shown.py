"""The parameters of a figure, and the rows of its tables that it shows: of its variants, with enough reviews."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from homogenization.figures.words import counted
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError

Named = Sequence[Sequence[str]]  # ordered (name, label) pairs, as the parameters of a rule carry them
Tables = Mapping[str, pl.DataFrame]  # by name of the file in results/tables, without the suffix


@dataclass(frozen=True)
class Shown:
    """What the configuration says about a figure; the fields that the figure uses are the parameters of its rule.

    Attributes:
        source: file of the figure's first table, for messages.
        title: text above the figure.
        models: (name, label) pairs in the order of the panels.
        variants: (name, label) pairs in the order of the legend.
        rewritten: `variants` without the original.
        mauve_variants: names of the variants whose MAUVE is computed.
        placed: names of the variants whose phrases have another place in their sentences.
        views: views of the token matrix in the order of the rows.
        view: the one view of a figure that has one.
        metric: name of the metric, for a figure of one metric.
        label: axis label of the metric, with its unit.
        homogenization: sign of the metric's change when tokens grow alike, as in `metrics.registry.Metric`.
        contrasts: pairs of a variant and the one that is subtracted from it; rows keep the order of the latter.
        alpha: level of significance; intervals have the confidence 1 - `alpha`.
        margin: differences are negligible within this share of the yardstick.
        metric_titles: title of each metric by its name, for a figure of all metrics.
        threshold: least F1 at which a rewritten review is accepted.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
        max_imbalance: largest absolute standardised mean difference that counts as balanced.
        style: `report`, or `paper` (`figures.style`).
    """

    source: str
    title: str
    models: Named = ()
    variants: Named = ()
    rewritten: Named = ()
    mauve_variants: Sequence[str] = ()
    placed: Sequence[str] = ()
    views: Sequence[str] = ()
    view: str = ""
    metric: str = ""
    label: str = ""
    homogenization: int = 0
    contrasts: Sequence[Sequence[str]] = ()
    alpha: float = 0.05
    margin: float = 0.0
    metric_titles: Mapping[str, str] = field(default_factory=dict)
    threshold: float = 0.0
    min_reviews: int = 0
    max_imbalance: float = 0.0
    style: str = "report"


def names_of(named: Named) -> list[str]:
    """The names without their labels."""
    return [name for name, _ in named]


def rows_of(table: pl.DataFrame, shown: Shown, of: Sequence[str] = ("model", "variant"), **equal: str) -> pl.DataFrame:
    """The rows of `table` in whose columns `of` (model, variant) stands what is `shown`, with `equal` others."""
    return table.filter(*(pl.col(column).is_in(names_of(getattr(shown, f"{column}s"))) for column in of), **equal)


def named_in(named: Named, present: Iterable[str]) -> list[Sequence[str]]:
    """Those of the (name, label) pairs whose names are `present`."""
    there = set(present)
    return [pair for pair in named if pair[0] in there]


def required(
    table: pl.DataFrame,
    shown: Shown,
    wanted: str = "",
    *,
    of: Sequence[str] = ("model", "variant"),
    told: str | pl.Series = "model",
    **equal: str,
) -> pl.DataFrame:
    """The rows that a figure is drawn from (`rows_of`): an empty figure is refused.

    Args:
        table: the table, whose file is `shown.source`.
        shown: description of the figure.
        wanted: description of the rows; "" for those of the models.
        of: columns in which stands what is shown.
        told: column of the table, or values, among which the wanted names should be.
        equal: values of further columns.

    Raises:
        HomogenizationError: there are no such rows.
    """
    rows = rows_of(table, shown, of, **equal)
    if rows.is_empty():
        wanted = wanted or f"models {', '.join(names_of(shown.models))}"
        present = table[told] if isinstance(told, str) else told
        there = ", ".join(sorted(present.unique().to_list())) or "nothing"
        raise HomogenizationError(
            f"{shown.source}: no rows for {wanted}; the table holds {there}. Check the name in the config; if it is "
            f"right, delete the table and run the same command again."
        )
    return rows


class Accepted(NamedTuple):
    """The variants of a figure of means over accepted reviews.

    Attributes:
        table: rows of the variants that are drawn.
        variants: (name, label) pairs of these in their order; labels have the number of reviews where numbers differ.
        counts: the number of reviews in words, for the note.
        left_out: words on each variant that has too few accepted reviews, for the legend.
    """

    table: pl.DataFrame
    variants: Named
    counts: str
    left_out: list[str]


def accepted(table: pl.DataFrame, variants: Named, min_reviews: int) -> Accepted:
    """Leave out the `variants` with fewer than `min_reviews` accepted reviews.

    A mean over the few reviews that happen to be accepted says little compared with one over all. A variant that has as
    many reviews as the original has lost none and is drawn, however few there are.

    Args:
        table: rows of these variants, columns variant and n_reviews.
        variants: (name, label) pairs in the order of the legend.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
    """
    most = dict(table.group_by("variant").agg(pl.col("n_reviews").max().fill_null(0)).iter_rows())
    needed = max(1, min(min_reviews, most.get(ORIGINAL, min_reviews)))
    drawn = [(name, label) for name, label in variants if most.get(name, 0) >= needed]
    few = [(label, most.get(name, 0)) for name, label in variants if most.get(name, 0) < needed]
    of_drawn = table.filter(pl.col("variant").is_in(names_of(drawn)))
    if len({most[name] for name, _ in drawn}) <= 1:
        counts = f"n = {counted(of_drawn['n_reviews'])}" + ", the same in every variant" * (len(drawn) > 1)
    else:
        # the number stays in one piece where the label is wrapped
        drawn = [(name, f"{label} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{most[name]:,})") for name, label in drawn]
        counts = "n: the reviews accepted in the variant, so variants are means over different reviews"
    if few:
        counts += f"; fewer than {needed} accepted reviews are not drawn"
    left_out = [f"{label}: {count_in_words(count)}, not drawn" for label, count in few]
    return Accepted(of_drawn, drawn, counts, left_out)


def count_in_words(count: int) -> str:
    """`no accepted review`, `1 accepted review` or `3 accepted reviews`."""
    return "no accepted review" if count == 0 else f"{count:,} accepted review" + ("s" if count > 1 else "")


def spans_decades(table: pl.DataFrame) -> bool:
    """Whether the column mean needs a logarithmic axis: positive, beyond 1, and a hundredfold from low to high."""
    means = table["mean"].drop_nulls().drop_nans()
    return len(means) > 0 and means.min() > 0 and means.max() > 1 and means.max() / means.min() >= 100
