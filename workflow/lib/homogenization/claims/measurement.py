"""What a statistic of a claim finds in the tables of a study."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from homogenization.vocabulary.verdicts import REVIEWS

Claim = Mapping[str, Any]  # as `config.claims.Claim.as_params()` gives it

# How a metric is taken: of each text by itself, or of the centred tokens of many texts, the output after the last norm.
RAW, THESIS = "raw", "thesis"
ROBUST, KEPT = "robust", "kept"


class UnavailableError(Exception):
    """The study lacks what a claim is about; the message is the reason."""


@dataclass(frozen=True)
class Interval:
    """An estimate between the ends of its interval; NaN where it has none."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurement:
    """A statistic of one model.

    Attributes:
        interval: the statistic and its interval.
        n: number of reviews or pools behind it.
        unit: `REVIEWS`, `POOLS` or `SEEDS`.
        values: (n,) float64 whose mean is the estimate, in the order of the reviews' names; None where the statistic is
            not a mean over reviews.
        checks: the statistic estimated in other ways: `ROBUST` where it has a robust form, and `KEPT`.
        depth_range: what depth does to the metric, in units of the statistic; NaN where it is no difference or change.
        without_first: the statistic with the first token left out; NaN where it is not compared.
        beyond: the statistic less the same with the first token left out; None where it is not compared.
        note: what a reader of the verdict has to know of the reviews, in words; None where there is nothing.
    """

    interval: Interval
    n: int
    unit: str = REVIEWS
    values: np.ndarray | None = None
    checks: Mapping[str, Interval] = field(default_factory=dict)
    depth_range: float = np.nan
    without_first: float = np.nan
    beyond: Interval | None = None
    note: str | None = None


def is_pooled(claim: Claim) -> bool:
    """Whether a claim is about the tokens of many texts in one centred matrix."""
    return claim["convention"] == THESIS
