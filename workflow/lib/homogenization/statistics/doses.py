"""Effects of interventions review by review: the conditions, the change from the untouched run, and the controls.

A condition is what was done to attention: kind, pattern, blocks, strength. A review in which the condition moved the
sink to another token has no value in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from homogenization.tables.intervened import CONDITION, UNTOUCHED

CONTROLS = {  # kind -> patterns that do as much to attention, but not what a pattern is about
    "steering": ("removed", "uniform", "scattered", "permuted"),
    "masked": ("random",),
    "template": ("permuted_template",),
}
REMOVED = "removed"
STRENGTH, KL, COSINE = "strength", "kl", "cosine"  # what a condition and its control have in common
WHOLE, ODD, EVEN = "whole", "odd", "even"
# Relative uncertainty of metrics from float32 states: a condition that changes no weight changes them by rounding.
_PRECISION = 1e-9


class Condition(NamedTuple):
    """What was done to attention; pattern, blocks and strength are None where a kind has none."""

    kind: str
    pattern: str | None = None
    blocks: str | None = None
    strength: float | None = None


@dataclass(frozen=True)
class Runs:
    """The runs of one model over one variant.

    Attributes:
        review_ids: names of the reviews of the untouched run, sorted.
        cells: (layers, view, metric) of each cell, sorted.
        values: by condition, (reviews, cells) float64: the metric averaged over layers; NaN where a review lacks it.
        untouched: by condition, the same of the untouched run over the same tokens.
        kl: by condition, (reviews,) float64, nats; NaN where a review lacks it.
        moved: by condition, (reviews,) bool: whether a review is left out because its sink moved.
        branch_norm: whether a norm follows the model's attention inside its branch.
    """

    review_ids: Sequence[str]
    cells: Sequence[tuple[str, str, str]]
    values: Mapping[Condition, np.ndarray]
    untouched: Mapping[Condition, np.ndarray]
    kl: Mapping[Condition, np.ndarray]
    moved: Mapping[Condition, np.ndarray]
    branch_norm: bool = False

    def patterns(self, kind: str) -> list[str]:
        """The patterns of the conditions of a kind, sorted."""
        return sorted({condition.pattern for condition in self.values if condition.kind == kind})

    def curve(self, like: Condition, pattern: str) -> list[Condition]:
        """The conditions of `pattern`, otherwise like `like` and of a strength of its sign, weakest first."""
        alike = [
            other
            for other in self.values
            if (other.kind, other.pattern, other.blocks) == (like.kind, pattern, like.blocks)
            and other.strength is not None
            and (other.strength > 0) == (like.strength > 0)
        ]
        return sorted(alike, key=lambda other: abs(other.strength))


def runs_of(table: pl.DataFrame) -> Runs:
    """The runs in rows of the table `intervened` that belong to one model and variant, in any order."""
    reviews = table.filter(kind=UNTOUCHED).select("review_id").unique().sort("review_id")
    cells = table.select("layers", "view", "metric").unique().sort("layers", "view", "metric")
    placed = table.join(reviews.with_row_index("row"), on="review_id").join(
        cells.with_row_index("cell"), on=cells.columns
    )
    values, untouched, kl, moved = {}, {}, {}, {}
    for key, rows in placed.partition_by(CONDITION, as_dict=True).items():
        condition = Condition(*key) if key[0] != UNTOUCHED else Condition(UNTOUCHED)
        moved[condition] = np.zeros(len(reviews), dtype=bool)
        moved[condition][rows.filter("sink_moved")["row"].to_numpy()] = True
        stayed = rows.filter(~pl.col("sink_moved").fill_null(False))
        row = stayed["row"].to_numpy()
        for name, numbers in (("value", values), ("untouched", untouched)):
            numbers[condition] = np.full((len(reviews), len(cells)), np.nan)
            numbers[condition][row, stayed["cell"].to_numpy()] = stayed[name].to_numpy()
        kl[condition] = np.full(len(reviews), np.nan)
        kl[condition][row] = stayed["kl"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    return Runs(
        reviews["review_id"].to_list(), cells.rows(), values, untouched, kl, moved, bool(table["branch_norm"].any())
    )


def no_control(pattern: str, branch_norm: bool) -> str | None:
    """Why a pattern is no control in a model; None where it is one.

    Args:
        pattern: name of a control.
        branch_norm: whether a norm follows the model's attention inside its branch.
    """
    if pattern != REMOVED or not branch_norm:
        return None
    return "a norm follows attention in this model's blocks and undoes what 'removed' does, so it is no control"


def too_few(n_reviews: int, min_reviews: int) -> str | None:
    """Why an effect of attention has too few reviews to be tested; None where there are enough."""
    if n_reviews >= min_reviews:
        return None
    return f"{n_reviews} review{'s have' if n_reviews != 1 else ' has'} a value; at least {min_reviews} are needed"


def change(runs: Runs, condition: Condition, part: str = WHOLE) -> np.ndarray:
    """(reviews, cells) change of the metric from the untouched run; NaN where either lacks it.

    Args:
        runs: runs of a model.
        condition: a condition of `runs`.
        part: `odd` is (f(s) - f(-s)) / 2 and `even` (f(s) + f(-s)) / 2 of the changes f, at the condition's strength s:
            to second order, the odd part is the direction of the effect and the even part the damage.
    """
    own = _less(runs.values[condition], runs.untouched[condition])
    if part == WHOLE:
        return own
    opposite = change(runs, opposite_of(condition))
    return (own - opposite) / 2 if part == ODD else (own + opposite) / 2


def conditions_of(condition: Condition, part: str) -> list[Condition]:
    """The conditions whose runs `change` reads."""
    return [condition] if part == WHOLE else [condition, opposite_of(condition)]


def opposite_of(condition: Condition) -> Condition:
    """The condition of the opposite strength."""
    return condition._replace(strength=-condition.strength)


def control_of(condition: Condition, pattern: str) -> Condition:
    """The condition of the control `pattern` at the same strength."""
    return condition._replace(pattern=pattern)


def _less(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    difference = first - second
    same = np.abs(difference) <= _PRECISION * np.maximum(np.abs(first), np.abs(second))
    return np.where(same, 0.0, difference)
