"""What claims speak of: conventions, layers and views; and the error of what a study cannot test."""

from collections.abc import Mapping
from typing import Any

from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.metrics.registry import view_without_first

Claim = Mapping[str, Any]  # as `config.claims.Claim.as_params()` gives it

# What a metric is of: each text by itself, or the centred tokens of many texts, with the output after the last norm.
RAW, THESIS = "raw", "thesis"
AT_LAYERS = {  # layers that are averaged -> in words
    "all": "over all layers",
    "first": "in the first layers",
    "middle": "in the middle layers",
    "last": "in the last layers",
    "input": "at the input",
    "output": "at the output",
}
SINCE = {"input": (0, "at the input"), "first block": (1, "after the first block")}  # -> layer, in words


class UnavailableError(Exception):
    """The study lacks what a claim is about; the message is the reason."""


def is_pooled(claim: Claim) -> bool:
    """Whether a claim is about the tokens of many texts in one centred matrix."""
    return claim["convention"] == THESIS


def views_of(metric: str) -> tuple[str, ...]:
    """The views of a metric, its first one first: a metric of the spectrum has every view."""
    return describe_metric(metric).views or tuple(VIEWS)


def without_first(claim: Claim) -> Claim | None:
    """The claim with the first token left out of its metric; None where it is already, or there is no such view."""
    view = view_without_first(claim["view"])
    return {**claim, "view": view} if view in views_of(claim["metric"]) else None
