"""The parameters of a figure, and the rows of its tables that it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

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
        views: views of the token matrix in the order of the rows.
        view: the one view of a figure that has one.
        metric: name of the metric, for a figure of one metric.
        label: axis label of the metric, with its unit.
        homogenization: sign of the metric's change when tokens grow alike, as in `metrics.registry.Metric`.
        contrasts: pairs of a variant and the one that is subtracted from it; rows keep the order of the latter.
        alpha: level of significance; intervals have the confidence 1 - `alpha`.
        margin: differences are negligible within this share of what depth does to the metric.
        metric_titles: title of each metric by its name, for a figure of all metrics.
        threshold: least F1 at which a rewritten review is accepted.
        min_reviews: fewest accepted reviews of a rewritten variant that is drawn.
        arms: (name, label) pairs of trained models, in the order of the configuration.
        arm_pairs: [arm, minus, label] of the arms that are compared seed by seed.
        max_imbalance: largest absolute standardised mean difference that counts as balanced.
        claims_of: source of the claims of a board.
    """

    source: str
    title: str
    models: Named = ()
    variants: Named = ()
    rewritten: Named = ()
    mauve_variants: Sequence[str] = ()
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
    claims_of: str = ""
    arms: Named = ()
    arm_pairs: Sequence[Sequence[str]] = ()


def names_of(named: Named) -> list[str]:
    """The names without their labels."""
    return [name for name, _ in named]


def rows_of(table: pl.DataFrame, shown: Shown, of: Sequence[str] = ("model", "variant"), **equal: str) -> pl.DataFrame:
    """The rows of `table` in whose columns `of` (model, variant, arm) stands what is `shown`, with `equal` others."""
    return table.filter(*(pl.col(column).is_in(names_of(getattr(shown, f"{column}s"))) for column in of), **equal)


def named_in(named: Named, present: pl.Series) -> list[Sequence[str]]:
    """Those of the (name, label) pairs whose names are `present`."""
    there = set(present)
    return [pair for pair in named if pair[0] in there]


def require_rows(rows: pl.DataFrame, shown: Shown, wanted: str, present: pl.Series) -> pl.DataFrame:
    """The rows that a figure is drawn from: an empty figure is refused.

    Args:
        rows: the part of the table that the figure is drawn from.
        shown: description of the figure, whose `source` the message names.
        wanted: description of `rows`; "" for those of the models.
        present: column of the table in which the wanted names should be.

    Raises:
        HomogenizationError: `rows` is empty.
    """
    if rows.is_empty():
        wanted = wanted or f"models {', '.join(names_of(shown.models))}"
        there = ", ".join(sorted(present.unique().to_list())) or "nothing"
        raise HomogenizationError(
            f"{shown.source}: no rows for {wanted}; the table holds {there}. Check the name in the config; if it is "
            f"right, delete the table and run the same command again."
        )
    return rows
