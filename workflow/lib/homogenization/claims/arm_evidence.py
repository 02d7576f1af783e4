"""What a claim about trained models is judged by: the seeds, each the mean over reviews."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence
from homogenization.claims.measurement import Claim, Measurement, Size, UnavailableError
from homogenization.names.verdicts import SEEDS
from homogenization.tables.arms import AT_LOSS, paired_at_loss, paired_values
from homogenization.tables.regions import at_layers

_CELL = ("layer", "depth")


def measure_arms(claim: Claim, evidence: Evidence) -> Measurement:
    """The difference of two arms, averaged over layers, with its interval over seeds.

    Sizes are shares of what depth does to the metric in the models that are subtracted, mean over them.

    Raises:
        UnavailableError: the study has no such arm, step, metric, view, variant, point or layers.
    """
    arm, minus, trained = claim["arm"], claim["minus"], evidence.settings.trained
    models = [name for name, of, _, _ in trained if of in (arm, minus)] + [minus]
    if arm not in {of for _, of, _, _ in trained}:
        raise UnavailableError(f"the study has no trained arm '{arm}'")
    rows = evidence.tables.metrics.filter(pl.col("model").is_in(models))
    for column in ("metric", "view", "variant", "point"):
        rows = rows.filter(pl.col(column) == claim[column])
        if rows.is_empty():
            raise UnavailableError(f"the study has no {column} '{claim[column]}' of these arms")
    rows = rows.filter(at_layers(claim["layers"]), pl.col("value").is_not_nan())
    over_reviews = (
        rows.sort("review_id").group_by("model", *_CELL, maintain_order=True).agg(pl.col("value").mean().alias("mean"))
    )
    if claim["at"] == AT_LOSS:
        return _at_equal_loss(claim, over_reviews, evidence)
    paired = paired_values(over_reviews, trained, (arm, minus), _CELL).drop_nulls("value")
    steps = paired["step"].unique().sort().to_list()
    if not steps:
        raise UnavailableError(f"the study has no seed of '{arm}' beside one of '{minus}'")
    step = steps[-1] if claim["step"] is None else claim["step"]
    if step not in steps:
        raise UnavailableError(f"the study has no snapshot after {step} steps; it has {', '.join(map(str, steps))}")
    seeds = {seed for _, of, seed, at in trained if of == arm and at == step}
    subtracted = [name for name, of, seed, at in trained if of == minus and at == step and seed in seeds] or [minus]
    return _over_seeds(paired.filter(step=step), claim, subtracted, evidence)


def _at_equal_loss(claim: Claim, over_reviews: pl.DataFrame, evidence: Evidence) -> Measurement:
    """The difference where both arms have learnt as much; sizes are shares of the last snapshots' range over depth."""
    arm, minus, trained = claim["arm"], claim["minus"], evidence.settings.trained
    paired = paired_at_loss(over_reviews, trained, evidence.tables.training, (arm, minus), _CELL).drop_nulls("value")
    if paired.is_empty():
        raise UnavailableError(f"'{arm}' and '{minus}' have no snapshots around an equal held-out loss")
    last = max(at for _, of, _, at in trained if of == minus)
    seeds = set(paired["seed"])
    subtracted = [name for name, of, seed, at in trained if of == minus and at == last and seed in seeds]
    return _over_seeds(paired, claim, subtracted, evidence)


def _over_seeds(paired: pl.DataFrame, claim: Claim, subtracted: Sequence[str], evidence: Evidence) -> Measurement:
    by_seed = paired.sort("seed", "layer").group_by("seed", maintain_order=True).agg(pl.mean("value"))
    sizes = [evidence.size(name, claim["view"], claim["metric"]) for name in subtracted]
    return evidence.mean_over(by_seed["value"].to_numpy(), SEEDS, Size(*np.mean(sizes, axis=0).tolist()))
