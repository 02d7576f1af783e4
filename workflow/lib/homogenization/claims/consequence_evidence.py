"""What a claim about the consequences of homogenization is judged by."""

from dataclasses import replace

import numpy as np
import polars as pl

from homogenization.claims.evidence import Evidence
from homogenization.claims.intervention_evidence import find_condition, of_effects
from homogenization.claims.measurement import Claim, Measurement, Size, UnavailableError
from homogenization.names.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE, SHIFT
from homogenization.names.numbers import NO_HEAD
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.doses import COSINE
from homogenization.statistics.interventions import effects_table
from homogenization.tables.intervened import CONDITION, UNTOUCHED

LAYERS_OF = "layers "  # before the layers that are subtracted
_VIEWS = {KL: PREDICTIONS, CROSS_ENTROPY: PREDICTIONS, PROBE: POOLED, SHIFT: POOLED}
_COSINE = {"variant": ORIGINAL, "metric": "cosine_anisotropy", "view": "all_tokens", "layers": "all"}


def measure_consequence(claim: Claim, model: str, evidence: Evidence) -> Measurement:
    """The outcome of a text or an intervention, minus that of what it is compared with, over reviews.

    Args:
        claim: values of a claim about a consequence.
        model: name of a model.
        evidence: what claims are judged by.

    Raises:
        UnavailableError: the study lacks the outcome, text, condition or control, or the control's dose does not reach
            that of the condition.
    """
    rows = _rows_of(claim, model, evidence, claim["variant"], claim["layers"])
    if claim["kind"] != UNTOUCHED:
        return _of_condition(claim, rows, model, evidence)
    variant, layers, minus = claim["variant"], claim["layers"], claim["minus"]
    of_layers = minus.startswith(LAYERS_OF)
    if of_layers:
        other = _rows_of(claim, model, evidence, variant, minus.removeprefix(LAYERS_OF))
    else:
        other = _rows_of(claim, model, evidence, minus, layers)
    sides = [table.filter(kind=UNTOUCHED).select("review_id", "value") for table in (rows, other)]
    joined = sides[0].join(sides[1], on="review_id", suffix="_minus")
    if joined.is_empty():
        raise UnavailableError(f"no review has {claim['outcome']} in both '{variant}' and '{minus}'")
    share = np.nan
    if not minus.startswith(LAYERS_OF):
        joined, share = evidence.where_texts_differ(joined, claim)
    difference = joined.select("review_id", value=pl.col("value") - pl.col("value_minus"))
    if of_layers:
        measured = evidence.mean_over_reviews(difference, _size_of(rows))
    else:
        measured = evidence.mean_of_texts(model, (variant, minus), difference, _size_of(rows))
    return replace(measured, share_changed=share)


def _of_condition(claim: Claim, rows: pl.DataFrame, model: str, evidence: Evidence) -> Measurement:
    """The change of an outcome by an intervention, minus that by a control: an estimand of `interventions`.

    It is of this claim alone, so that its interval decides.
    """
    condition = find_condition(claim, rows)
    if claim["at"] == COSINE:
        rows = _dosed_by_cosine(rows, model, evidence)
    like = pl.col("kind").is_in([UNTOUCHED, condition.kind]), pl.col("blocks").eq_missing(condition.blocks)
    patterns = [condition.pattern, claim["minus"]]
    compared = rows.filter((pl.col("kind") == UNTOUCHED) | (like[0] & like[1] & pl.col("pattern").is_in(patterns)))
    settings = evidence.settings
    dose = COSINE if claim["at"] == COSINE else KL
    effects = effects_table(compared, settings.resampling, settings.min_reviews, dose)
    measured = of_effects(claim, condition, effects, evidence)
    return replace(measured, p_value=np.nan, p_max_t=np.nan)


def _size_of(rows: pl.DataFrame) -> Size:
    """What depth does to the metric of rows of one cell in the untouched run, and how far its reviews lie apart."""
    return Size(*(np.nan if number is None else number for number in rows.select("depth_range", "review_sd").row(0)))


def _rows_of(claim: Claim, model: str, evidence: Evidence, variant: str, layers: str) -> pl.DataFrame:
    """Rows of the table `consequences` of the claim's outcome, in a text and over layers."""
    if evidence.tables.consequences is None:
        raise UnavailableError("the study measures no consequences")
    rows = evidence.tables.consequences.filter(model=model)
    outcome = claim["outcome"]
    if _VIEWS.get(outcome) == PREDICTIONS and len(rows) and PREDICTIONS not in rows["view"]:
        raise UnavailableError(NO_HEAD)
    for column, value, lacking in (
        ("variant", variant, f"the model does not read '{variant}' for consequences"),
        ("metric", outcome, f"the study has no {outcome} of '{variant}' in this model"),
        ("view", _VIEWS.get(outcome, claim["view"]), f"the study has no view '{claim['view']}' of {outcome}"),
        ("layers", layers, f"the study has no {outcome} over the layers '{layers}'"),
    ):
        rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            raise UnavailableError(lacking)
    return rows


def _dosed_by_cosine(rows: pl.DataFrame, model: str, evidence: Evidence) -> pl.DataFrame:
    """`rows` with the change of the originals' mean cosine over all layers as their dose, in the column of the KL."""
    own = [pl.col(name) == value for name, value in _COSINE.items()]
    cosines = evidence.tables.consequences.filter(*own, model=model).select("review_id", *CONDITION, "value")
    untouched = cosines.filter(kind=UNTOUCHED).select("review_id", untouched="value")
    change = cosines.join(untouched, on="review_id").with_columns(dose=pl.col("value") - pl.col("untouched"))
    keys = ["review_id", *CONDITION]
    dosed = rows.join(change.select(*keys, "dose"), on=keys, how="left", nulls_equal=True, maintain_order="left")
    return dosed.with_columns(kl=pl.col("dose").fill_null(np.nan)).drop("dose")
