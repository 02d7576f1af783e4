"""What a claim about trained models is judged by: the seeds, each the mean over reviews."""

import numpy as np
import polars as pl

from homogenization.statistics.evidence import Claim, Evidence, Measurement, UnavailableError, mean_with_t_interval
from homogenization.statistics.verdicts import SEEDS
from homogenization.tables.arms import paired_values
from homogenization.tables.regions import at_layers

_CELL = ("layer", "depth")


def measure_arms(claim: Claim, evidence: Evidence) -> Measurement:
    """The difference of two arms, averaged over layers, with Student's interval over seeds.

    Sizes are shares of what depth does to the metric in the models that are subtracted, mean over them.

    Raises:
        UnavailableError: the study has no such arm, step, metric, view, variant, point or layers.
    """
    arm, minus, trained = claim["arm"], claim["minus"], evidence.trained
    models = [name for name, of, _, _ in trained if of in (arm, minus)] + [minus]
    if arm not in {of for _, of, _, _ in trained}:
        raise UnavailableError(f"the study has no trained arm '{arm}'")
    rows = evidence.metrics.filter(pl.col("model").is_in(models))
    for column in ("metric", "view", "variant", "point"):
        rows = rows.filter(pl.col(column) == claim[column])
        if rows.is_empty():
            raise UnavailableError(f"the study has no {column} '{claim[column]}' of these arms")
    rows = rows.filter(at_layers(claim["layers"]), pl.col("value").is_not_nan())
    over_reviews = (
        rows.sort("review_id").group_by("model", *_CELL, maintain_order=True).agg(pl.col("value").mean().alias("mean"))
    )
    paired = paired_values(over_reviews, trained, arm, minus, _CELL).drop_nulls("value")
    steps = paired["step"].unique().sort().to_list()
    if not steps:
        raise UnavailableError(f"the study has no seed of '{arm}' beside one of '{minus}'")
    step = steps[-1] if claim["step"] is None else claim["step"]
    if step not in steps:
        raise UnavailableError(f"the study has no snapshot after {step} steps; it has {', '.join(map(str, steps))}")
    by_seed = paired.filter(step=step).sort("seed", "layer").group_by("seed", maintain_order=True).agg(pl.mean("value"))
    seeds = {seed for _, of, seed, at in trained if of == arm and at == step}
    subtracted = [name for name, of, seed, at in trained if of == minus and at == step and seed in seeds] or [minus]
    ranges = [evidence.depth_range(name, claim["view"], claim["metric"]) for name in subtracted]
    return mean_with_t_interval(by_seed["value"].to_numpy(), evidence, SEEDS, float(np.mean(ranges)))
