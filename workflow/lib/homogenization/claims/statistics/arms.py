"""What sets trained models apart: the replicate is the seed, whose value is the mean over reviews."""

from collections.abc import Sequence

import polars as pl

from homogenization.claims.evidence import Evidence, Found, narrowed, rows_at_layers
from homogenization.claims.terms import AT_LAYERS, Claim, UnavailableError
from homogenization.names.verdicts import SEEDS
from homogenization.tables.arms import AT_LOSS, paired_at_loss, paired_values

_CELL = ("layer", "depth")


def in_words(claim: Claim) -> str:
    """The mean difference, at which snapshots and where."""
    at = " at equal held-out loss" * (claim["at"] == AT_LOSS)
    return f"mean difference over seeds{at} {AT_LAYERS[claim['layers']]}"


def measure(claim: Claim, model: None, evidence: Evidence) -> Found:
    """The difference of two arms, averaged over layers, with its interval over seeds.

    Sizes are shares of what depth does to the metric in the models that are subtracted, mean over them; at equal loss,
    in their last snapshots.

    Raises:
        UnavailableError: the study has no such arm, step, metric, view, variant, point or layers.
    """
    arm, minus, trained = claim["arm"], claim["minus"], evidence.trained
    if arm not in {of for _, of, _, _ in trained}:
        raise UnavailableError(f"the study has no trained arm '{arm}'")
    over_reviews = _over_reviews(claim, evidence)
    if claim["at"] == AT_LOSS:
        training = evidence.training
        paired = paired_at_loss(over_reviews, trained, training, (arm, minus), _CELL).drop_nulls("value")
        if paired.is_empty():
            raise UnavailableError(f"'{arm}' and '{minus}' have no snapshots around an equal held-out loss")
        step = max(at for _, of, _, at in trained if of == minus)
    else:
        paired = paired_values(over_reviews, trained, (arm, minus), _CELL).drop_nulls("value")
        step = _step_of(claim, paired["step"].unique().sort().to_list())
        paired = paired.filter(step=step)
    seeds = set(paired["seed"])
    subtracted = [name for name, of, seed, at in trained if of == minus and at == step and seed in seeds] or [minus]
    by_seed = paired.sort("seed", "layer").group_by("seed", maintain_order=True).agg(pl.mean("value"))
    sizes = pl.DataFrame([evidence.size(name, claim["view"], claim["metric"]) for name in subtracted])
    return evidence.mean(by_seed, SEEDS) | sizes.mean().row(0, named=True)


def _over_reviews(claim: Claim, evidence: Evidence) -> pl.DataFrame:
    """model, layer, depth and mean of the claim's metric at its layers in the models of both arms."""
    arms = (claim["arm"], claim["minus"])
    models = [name for name, of, _, _ in evidence.trained if of in arms] + [claim["minus"]]
    rows = narrowed(
        evidence.metrics.filter(pl.col("model").is_in(models)),
        *(
            (column, claim[column], f"the study has no {column} '{claim[column]}' of these arms")
            for column in ("metric", "view", "variant", "point")
        ),
    )
    rows = rows_at_layers(claim, rows.filter(pl.col("value").is_not_nan())).sort("review_id")
    return rows.group_by("model", *_CELL, maintain_order=True).agg(pl.col("value").mean().alias("mean"))


def _step_of(claim: Claim, steps: Sequence[int]) -> int:
    """The step of a claim, or the last, among those after which both arms have a snapshot."""
    if not steps:
        raise UnavailableError(f"the study has no seed that both '{claim['arm']}' and '{claim['minus']}' have")
    step = steps[-1] if claim["step"] is None else claim["step"]
    if step not in steps:
        raise UnavailableError(f"the study has no snapshot after {step} steps; it has {', '.join(map(str, steps))}")
    return step
