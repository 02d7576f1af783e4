"""The most prominent peak or trough: its place in the table `extrema`, and the reviews at its layers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence, Found, estimated
from homogenization.claims.terms import Claim, UnavailableError, without_first
from homogenization.names.columns import ENDS
from homogenization.names.numbers import share_in_words, significant
from homogenization.statistics.layers import layer_values
from homogenization.statistics.resampling import weighted_means

_SIGNS = {"peak": 1, "trough": -1}


def in_words(claim: Claim) -> str:
    """What is measured of which extremum."""
    of = "share without the first token" if claim["of"] == "remains" else claim["of"]
    return f"{of} of the most prominent {claim['kind']}"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The prominence, height, depth or what remains without the first token of the most prominent settled extremum.

    Layer and base are those of the table. The depth has the interval that stands there; the others are computed anew,
    of the reviews at these two layers.

    Raises:
        UnavailableError: the study looks for no extrema, has no settled one of this kind, or lacks the metric, the
            variant or, for what remains, the view without the first token.
    """
    rows, extremum = _settled(claim, model, evidence)
    if claim["of"] == "depth":
        return {**estimated([extremum[f"depth{end}"] for end in ENDS]), "n_reviews": extremum["n_reviews"]}
    layers = [extremum["layer"], extremum["base_layer"]]
    if claim["of"] == "remains":
        return _remains(claim, model, evidence, layers)
    there, base = (rows.filter(layer=layer).select("review_id", "value") for layer in layers)
    if claim["of"] == "height":
        return evidence.mean(there)
    difference = _SIGNS[claim["kind"]] * (pl.col("value") - pl.col("value_base"))
    standing_out = there.join(base, on="review_id", suffix="_base").select("review_id", value=difference)
    return evidence.mean(standing_out) | evidence.size(model, claim["view"], claim["metric"])


def _settled(claim: Claim, model: str, evidence: Evidence) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """The values of a claim, and the row of the most prominent settled extremum of its kind."""
    if evidence.extrema is None:
        raise UnavailableError("the study looks for no peaks and troughs")
    rows = evidence.values_of(claim, model, claim["variant"])
    keys = {name: claim[name] for name in ("variant", "metric", "view", "kind")}
    extrema = evidence.extrema.filter(model=model, **keys).sort("prominence", descending=True)
    if extrema.is_empty():
        raise UnavailableError(f"the study finds no {claim['kind']} of {claim['metric']} between its ends")
    settled = extrema.filter("settled")
    if settled.is_empty():
        most = extrema.row(0, named=True)
        raise UnavailableError(
            f"the reviews settle no {claim['kind']}: the most prominent, in layer {most['layer']}, stands out by "
            f"{significant(most['prominence'], 2)} (error {significant(most['noise'], 2)}) and is found in "
            f"{share_in_words(most['found_share'])} of the draws"
        )
    return rows, settled.row(0, named=True)


def _remains(claim: Claim, model: str, evidence: Evidence, layers: list[int]) -> Found:
    """The share of the prominence, between the two layers, that the metric has without the first token."""
    bare = without_first(claim)
    if bare is None:
        raise UnavailableError(f"{claim['metric']} has no view without the first token for '{claim['view']}'")
    sides = (bare, claim)
    rows = pl.concat([evidence.values_of(one, model, claim["variant"]) for one in sides])
    job = layer_values(rows.filter(pl.col("layer").is_in(layers)))
    at = [job.layers.tolist().index(layer) for layer in layers]
    steps = np.stack([np.subtract(*job.of(one["view"], one["metric"])[:, at].T) for one in sides], axis=1)
    return evidence.over_reviews(_share, steps[~np.isnan(steps).any(axis=1)])


def _share(steps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    less, whole = weighted_means(steps, weights).T
    return np.divide(less, whole, out=np.full_like(less, np.nan), where=whole != 0)
