"""The difference between two variants."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from homogenization.claims.evidence import Evidence, Found, at_layers_of, selected, view_of
from homogenization.claims.terms import AT_LAYERS, Claim, UnavailableError, is_pooled
from homogenization.names.verdicts import NOT_TESTED, POOLS
from homogenization.tables.comparisons import too_few_of_all
from homogenization.tables.regions import at_layers


def in_words(claim: Claim) -> str:
    """The mean difference, and the layers over which it is averaged."""
    return f"mean difference {AT_LAYERS[claim['layers']]}"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The difference of the table `contrasts`; of pooled tokens, that of the pools."""
    if is_pooled(claim):
        variant, minus = (evidence.values_of(claim, model, claim[role]) for role in ("variant", "minus"))
        if reason := too_few_of_all(evidence.similarity, claim["variant"], claim["minus"]):
            raise UnavailableError(reason)
        paired = variant.join(minus, on=("review_id", "layer"), suffix="_minus", maintain_order="left")
        difference = at_layers_of(claim, paired.with_columns(paired["value"] - paired["value_minus"]))
        return evidence.mean(difference, POOLS) | evidence.size(model, view_of(claim), claim["metric"])
    row = _row_of(claim, model, evidence)
    return selected(claim, row)


def _row_of(claim: Claim, model: str, evidence: Evidence) -> Mapping[str, Any]:
    """The row of the table `contrasts` that a claim is about: of one layer, or of a part of the depth.

    Raises:
        UnavailableError: the study lacks the metric, a variant, view, point or the layers, or does not test it.
    """
    variant, minus, layers, metric = (claim[name] for name in ("variant", "minus", "layers", "metric"))
    keys = {name: claim[name] for name in ("variant", "minus", "point", "view", "metric")}
    rows = evidence.contrasts.filter(pl.col("group").is_null(), **keys, model=model)
    if rows.is_empty():
        for text in (variant, minus):
            evidence.values_of(claim, model, text)  # names what the study lacks
        raise UnavailableError(f"the study does not compare '{variant}' with '{minus}'")
    chosen = rows.filter(layers=layers)
    if chosen.is_empty():
        chosen = rows.filter(pl.col("layers").is_null(), at_layers(layers))
    if len(chosen) != 1:
        raise UnavailableError(f"the study has no values of {metric} at the layers '{layers}'")
    row = chosen.row(0, named=True)
    if row["verdict"] == NOT_TESTED:
        raise UnavailableError(row["reason"])
    if not row["n_reviews"]:
        raise UnavailableError(f"no review has {metric} in both '{variant}' and '{minus}'")
    return row
