"""What a claim about a peak or a trough over depth is judged by: the table `extrema`, and the reviews at its layers."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence
from homogenization.claims.measurement import Claim, Interval, Measurement, UnavailableError
from homogenization.claims.statistic import without_first
from homogenization.names.numbers import share_in_words, significant
from homogenization.statistics.layers import layer_values
from homogenization.statistics.resampling import weighted_means

_SIGNS = {"peak": 1, "trough": -1}


def measure_extremum(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The prominence, height, depth or what remains without the first token of the most prominent settled extremum.

    Layer and base are those of the table. The depth has the interval that stands there; the others are taken again,
    of the reviews at these two layers.

    Raises:
        UnavailableError: the study looks for no extrema, has no settled one of this kind, or lacks the metric, the
            variant or, for what remains, the view without the first token.
    """
    extremum = _settled(claim, model, evidence)
    if claim["of"] == "depth":
        return Measurement(Interval(*(extremum[f"depth{end}"] for end in ("", "_low", "_high"))), extremum["n_reviews"])
    layers = [extremum["layer"], extremum["base_layer"]]
    if claim["of"] == "remains":
        return _remains(claim, model, evidence, layers)
    rows = evidence.values_of(claim, model, claim["variant"])
    there, base = (rows.filter(layer=layer).select("review_id", "value") for layer in layers)
    if claim["of"] == "height":
        return evidence.mean_over_reviews(there)
    standing_out = there.join(base, on="review_id", suffix="_base").select(
        "review_id", value=_SIGNS[claim["kind"]] * (pl.col("value") - pl.col("value_base"))
    )
    return evidence.mean_over_reviews(standing_out, evidence.size(model, claim["view"], claim["metric"]))


def _settled(claim: Claim, model: str, evidence: Evidence) -> Mapping[str, Any]:
    """The row of the most prominent settled extremum of the claim's kind."""
    if evidence.tables.extrema is None:
        raise UnavailableError("the study looks for no peaks and troughs")
    evidence.values_of(claim, model, claim["variant"])  # names what the study lacks
    keys = {name: claim[name] for name in ("variant", "metric", "view", "kind")}
    extrema = evidence.tables.extrema.filter(model=model, **keys).sort("prominence", descending=True)
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
    return settled.row(0, named=True)


def _remains(claim: Claim, model: str, evidence: Evidence, layers: list[int]) -> Measurement:
    """The share of the prominence, between the two layers, that the metric has without the first token."""
    bare = without_first(claim)
    if bare is None:
        raise UnavailableError(f"{claim['metric']} has no view without the first token beside '{claim['view']}'")
    rows = pl.concat([evidence.values_of(one, model, claim["variant"]) for one in (claim, bare)])
    job = layer_values(rows.filter(pl.col("layer").is_in(layers)))
    at = [int(np.flatnonzero(job.layers == layer)[0]) for layer in layers]
    steps = np.stack([np.subtract(*job.of(one["view"], one["metric"])[:, at].T) for one in (bare, claim)], axis=1)
    steps = steps[~np.isnan(steps).any(axis=1)]

    def of(reviews: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        def share(weights: np.ndarray) -> np.ndarray:
            less, whole = weighted_means(steps[reviews], weights).T
            return np.divide(less, whole, out=np.full_like(less, np.nan), where=whole != 0)

        return share

    return evidence.over_reviews(of, len(steps))
