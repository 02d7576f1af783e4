"""Effects of interventions review by review: conditions, changes from the untouched run, controls of equal dose.

A condition is what was done to attention: kind, pattern, blocks, strength. A review in which the condition moved the
sink to another token has no value in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from homogenization.interventions.patterns import CONTROLS as STEERING_CONTROLS
from homogenization.names.numbers import NO_HEAD
from homogenization.statistics.resampling import differences, means, uniform_weights, weighted_means
from homogenization.tables.intervened import CONDITION, UNTOUCHED
from homogenization.tables.over_reviews import as_array

CONTROLS = {  # kind -> patterns that do as much to attention, but not what a pattern is about
    "steering": tuple(STEERING_CONTROLS),
    "masked": ("random",),
}
REMOVED = "removed"
STRENGTH, KL = "strength", "kl"  # what a condition and its control have in common


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
        """The conditions of `pattern` with a strength, otherwise like `like`, weakest first."""
        alike = [
            other
            for other in self.values
            if (other.kind, other.pattern, other.blocks) == (like.kind, pattern, like.blocks)
            and other.strength is not None
        ]
        return sorted(alike, key=lambda other: other.strength)


def runs_of(table: pl.DataFrame) -> Runs:
    """The runs in rows of the table `intervened` that belong to one model and variant, in any order."""
    reviews = table.filter(kind=UNTOUCHED).select("review_id").unique().sort("review_id")
    cells = table.select("layers", "view", "metric").unique().sort("layers", "view", "metric")
    conditions = table.select(CONDITION).unique(maintain_order=True)
    names = [Condition(*key) if key[0] != UNTOUCHED else Condition(UNTOUCHED) for key in conditions.rows()]
    stayed = table.filter(~pl.col("sink_moved").fill_null(False))
    gone = table.filter("sink_moved").with_columns(moved=1.0)
    arrays = (
        *(as_array(stayed, name, conditions, reviews, cells) for name in ("value", "untouched")),
        as_array(stayed, "kl", conditions, reviews),
        ~np.isnan(as_array(gone, "moved", conditions, reviews)),
    )
    by_condition = (dict(zip(names, array, strict=True)) for array in arrays)
    return Runs(reviews["review_id"].to_list(), cells.rows(), *by_condition, bool(table["branch_norm"].any()))


def no_control(pattern: str, branch_norm: bool) -> str | None:
    """Why a pattern is no control in a model, where a norm may follow attention in its branch; None where it is one."""
    if pattern != REMOVED or not branch_norm:
        return None
    return "a norm follows attention in this model's blocks and undoes what 'removed' does, so it is no control"


def too_few(n_reviews: int, min_reviews: int) -> str | None:
    """Why an effect of attention has too few reviews to be tested; None where there are enough."""
    if n_reviews >= min_reviews:
        return None
    return f"{n_reviews} review{'s have' if n_reviews != 1 else ' has'} a value; at least {min_reviews} are needed"


def change(runs: Runs, condition: Condition) -> np.ndarray:
    """(reviews, cells) change of the metric from the untouched run; NaN where either lacks it."""
    return differences(runs.values[condition], runs.untouched[condition])


def _root(kl: np.ndarray) -> np.ndarray:
    """The root of a divergence, which rounding can make negative."""
    return np.sqrt(kl.clip(min=0.0))


class Curve(NamedTuple):
    """A control's effect as a function of its KL: (points + 1, ...) arrays, the untouched run first.

    Attributes:
        changes: (points + 1, reviews, cells) changes from the untouched run.
        kl: (points + 1, reviews) nats.
    """

    changes: np.ndarray
    kl: np.ndarray


def curve_of(runs: Runs, condition: Condition, pattern: str) -> Curve:
    """The curve of the control `pattern` over its strengths that have a KL."""
    points = [point for point in runs.curve(condition, pattern) if np.isfinite(runs.kl[point]).any()]
    nothing = np.zeros_like(runs.values[condition])
    changes = [nothing, *(change(runs, point) for point in points)]
    return Curve(np.stack(changes), np.stack([nothing[:, 0], *(runs.kl[point] for point in points)]))


def less_at_equal_kl(
    changes: np.ndarray, kl: np.ndarray, control: Curve, weights: np.ndarray, reaches: bool = False
) -> np.ndarray:
    """Mean change of a condition minus that of its control where the control's mean KL is as large.

    The control's mean change is interpolated between its strengths, linearly in the root of its mean KL: for small
    doses the KL grows with the square of the strength, and the change with the strength itself. The curve of the mean
    KL is made monotone by its running maximum. One weight of a review holds for the condition and for every point of
    the control's curve.

    Args:
        changes: (reviews, cells) changes by the condition.
        kl: (reviews,) KL of the condition.
        control: the control's curve.
        weights: (draws, reviews) weights of the reviews.
        reaches: whether the last segment is continued where a draw's KL lies beyond the curve, which keeps draws near
            its end; otherwise such a draw is NaN.

    Returns:
        (draws, cells).
    """
    if len(control.kl) == 1:  # the untouched run alone
        return np.full((len(weights), changes.shape[1]), np.nan)
    target = _root(weighted_means(kl[:, None], weights))[:, 0]
    curve = _root(np.maximum.accumulate(weighted_means(control.kl.T, weights), axis=1))  # (draws, points + 1)
    segment = (curve[:, 1:-1] < target[:, None]).sum(axis=1)
    draw = np.arange(len(weights))
    start, stop = curve[draw, segment], curve[draw, segment + 1]
    share = np.divide(target - start, stop - start, out=np.ones_like(start), where=stop > start)
    of_points = np.stack([weighted_means(point, weights) for point in control.changes])  # (points + 1, draws, cells)
    low, high = of_points[segment, draw], of_points[segment + 1, draw]
    share = np.where(np.isnan(curve[:, -1]) | (~np.bool_(reaches) & (target > curve[:, -1])), np.nan, share)
    return weighted_means(changes, weights) - (low + share[:, None] * (high - low))


def _of_same_reviews(changes: np.ndarray, kl: np.ndarray, control: Curve) -> tuple[np.ndarray, np.ndarray, Curve]:
    """The arguments without the reviews that the condition lacks, or a strength of the control up to its KL."""
    there = ~np.isnan(kl)
    while there.any():
        dose, points = (_root(means(of)) for of in (kl[there, None], control.kl[:, there].T))
        needed = 1 + int((np.fmax.accumulate(points[:-1]) < dose[0]).sum())
        both = there & ~np.isnan(control.kl[:needed]).any(axis=0)
        if both.sum() == there.sum():
            break
        there = both
    of_control, of_condition = (np.where(there[:, None], of, np.nan) for of in (control.changes, changes))
    left = control._replace(changes=of_control, kl=np.where(there, control.kl, np.nan))
    return of_condition, np.where(there, kl, np.nan), left


def less_by_review(changes: np.ndarray, kl: np.ndarray, control: Curve) -> np.ndarray:
    """`less_at_equal_kl` as a mean over reviews: what each review adds to it.

    A review counts if the condition has it and the control has it at every strength that the comparison reads: with
    others on one side alone, the difference would be one of reviews. Arguments are those of `less_at_equal_kl`.

    Returns:
        (reviews, cells) pseudo-values of the jackknife, moved so that their mean is the comparison; what is said of the
        mean of reviews holds of them (Tukey 1958). NaN in reviews that do not count, and where the control's curve does
        not reach the condition's KL.
    """
    n = len(kl)
    changes, kl, control = _of_same_reviews(changes, kl, control)
    estimate = less_at_equal_kl(changes, kl, control, uniform_weights(n))[0]
    without = less_at_equal_kl(changes, kl, control, (1 - np.eye(n)) / max(n - 1, 1), reaches=True)
    present = ~np.isnan(changes)
    pseudo = np.where(present, -(present.sum(axis=0) - 1) * without, np.nan)
    return pseudo - means(pseudo) + estimate


def at_equal_kl(runs: Runs, condition: Condition, pattern: str) -> tuple[np.ndarray, str | None]:
    """`less_by_review` of a condition minus the control `pattern`, and why no review has a value; None where one has.

    Args:
        runs: runs of a model.
        condition: a condition of `runs`.
        pattern: the control, of which `runs` have a strength.
    """
    curve, own = curve_of(runs, condition, pattern), means(runs.kl[condition][:, None])[0]
    values = change(runs, condition)
    pseudo = less_by_review(values, runs.kl[condition], curve)
    if not np.isnan(pseudo).all() or not np.isfinite(values).any():
        return pseudo, None
    if np.isnan(own):
        return pseudo, f"{NO_HEAD}, so that a dose has no KL"
    reached = means(curve.kl.T).max()
    return pseudo, f"the KL of '{pattern}' reaches {reached:.3g} nats, that of '{condition.pattern}' is {own:.3g}"


def moved_at_equal_kl(runs: Runs, condition: Condition, pattern: str, pseudo: np.ndarray) -> np.ndarray:
    """(reviews,) bool: whether a sink that moved, in the condition or in the control `pattern`, leaves a review out.

    `pseudo` are the (reviews, cells) pseudo-values of the comparison, NaN in the reviews that are left out.
    """
    moved = np.logical_or.reduce([runs.moved[one] for one in (condition, *runs.curve(condition, pattern))])
    return moved & np.isnan(pseudo).all(axis=1)
