"""What a statistic of a claim finds in the tables of a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from homogenization.names.verdicts import REVIEWS

Claim = Mapping[str, Any]  # as `config.claims.Claim.as_params()` gives it

# How a metric is taken: of each text by itself, or of the centred tokens of many texts, the output after the last norm.
RAW, THESIS = "raw", "thesis"


class UnavailableError(Exception):
    """The study lacks what a claim is about; the message is the reason."""


@dataclass(frozen=True)
class Interval:
    """An estimate between the ends of its interval; NaN where it has none."""

    estimate: float
    low: float
    high: float


class Size(NamedTuple):
    """What the size of a difference or change is measured by, in units of the statistic; NaN where it is neither.

    Attributes:
        depth_range: what depth does to the metric.
        review_sd: how far reviews lie apart.
    """

    depth_range: float = np.nan
    review_sd: float = np.nan

    def per(self, number: int) -> "Size":
        """The size of one of so many parts."""
        return Size(*(each / number for each in self))


NO_SIZE = Size()  # of what is no difference or change


@dataclass(frozen=True)
class Measurement:
    """A statistic of one model.

    Attributes:
        interval: the statistic and its interval.
        n: number of reviews or pools behind it.
        unit: `REVIEWS`, `POOLS` or `SEEDS`.
        spread: standard deviation (n - 1) of the values whose mean is the estimate, NaN where they do not vary; None
            where it is no mean over reviews.
        p_value: of a test that the statistic is 0, by itself; NaN where the interval decides.
        p_max_t: the same corrected within its family, which decides; NaN likewise.
        checks: the statistic estimated in other ways: `robust` where it has a robust form, and `kept`.
        size: what depth does to the metric, and how far reviews lie apart, in units of the statistic.
        without_first: the statistic with the first token left out; NaN where it is not compared.
        beyond: the statistic minus the same with the first token left out; None where it is not compared.
        n_same_first: reviews that begin with the same token in both texts that are compared; None where unknown.
        same_first: the statistic over these reviews; None where these are too few.
        share_changed: of a comparison of two texts, which is over the reviews in which these differ, the share of them;
            NaN where it is none, or is of all texts together.
        note: what a reader of the verdict has to know of the reviews, in words; None where there is nothing.
    """

    interval: Interval
    n: int
    unit: str = REVIEWS
    spread: float | None = None
    p_value: float = np.nan
    p_max_t: float = np.nan
    checks: Mapping[str, Interval] = field(default_factory=dict)
    size: Size = NO_SIZE
    without_first: float = np.nan
    beyond: Interval | None = None
    n_same_first: int | None = None
    same_first: Interval | None = None
    share_changed: float = np.nan
    note: str | None = None


def is_pooled(claim: Claim) -> bool:
    """Whether a claim is about the tokens of many texts in one centred matrix."""
    return claim["convention"] == THESIS
