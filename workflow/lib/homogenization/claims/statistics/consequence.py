"""What a text or an intervention costs."""

import numpy as np
import polars as pl

from homogenization.claims.evidence import SIZE, Evidence, Found, narrowed
from homogenization.claims.statistics.intervention import dose_in_words, find_condition, of_effects
from homogenization.claims.terms import AT_LAYERS, Claim, UnavailableError
from homogenization.names.consequences import CROSS_ENTROPY, KL, POOLED, PREDICTIONS, PROBE
from homogenization.names.numbers import NO_HEAD
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.interventions import effects_table
from homogenization.tables.comparisons import same_texts, too_few_changed
from homogenization.tables.intervened import UNTOUCHED

LAYERS_OF = "layers "  # before the layers that are subtracted
_VIEWS = {KL: PREDICTIONS, CROSS_ENTROPY: PREDICTIONS, PROBE: POOLED}


def in_words(claim: Claim) -> str:
    """The outcome, what it is compared with, and where: `mean change of kl by first .1 (steering, blocks: all)`."""
    outcome = claim["outcome"] if claim["variant"] == ORIGINAL else f"{claim['outcome']} of {claim['variant']}"
    untouched = claim["kind"] == UNTOUCHED
    words = f"{outcome} minus {claim['minus']}" if untouched else f"change of {outcome} by {dose_in_words(claim)}"
    at_the_output_alone = claim["outcome"] in (KL, CROSS_ENTROPY)
    return f"mean {words}" if at_the_output_alone else f"mean {words} {AT_LAYERS[claim['layers']]}"


def measure(claim: Claim, model: str, evidence: Evidence) -> Found:
    """The outcome of a text or an intervention, minus that of what it is compared with, over reviews.

    Raises:
        UnavailableError: the study lacks the outcome, text, condition or control, or the control's dose does not reach
            that of the condition.
    """
    variant, layers, minus = claim["variant"], claim["layers"], claim["minus"]
    rows = _rows_of(claim, model, evidence, variant, layers)
    if claim["kind"] != UNTOUCHED:
        return _of_condition(claim, rows, evidence)
    of_layers = minus.startswith(LAYERS_OF)
    cell = (variant, minus.removeprefix(LAYERS_OF)) if of_layers else (minus, layers)
    other = _rows_of(claim, model, evidence, *cell)
    sides = [table.filter(kind=UNTOUCHED).select("review_id", "value") for table in (rows, other)]
    joined = sides[0].join(sides[1], on="review_id", suffix="_minus")
    if joined.is_empty():
        raise UnavailableError(f"no review has {claim['outcome']} in both '{variant}' and '{minus}'")
    difference = joined.select("review_id", value=pl.col("value") - pl.col("value_minus"))
    size = rows.select(pl.col(SIZE).fill_null(np.nan)).row(0, named=True)
    if of_layers:
        return evidence.mean(difference) | size
    differing = _where_texts_differ(difference, claim, evidence)
    return evidence.mean(differing) | size | {"share_changed": len(differing) / len(difference)}


def _where_texts_differ(difference: pl.DataFrame, claim: Claim, evidence: Evidence) -> pl.DataFrame:
    """The rows of the reviews whose two texts differ.

    Raises:
        UnavailableError: these are too few.
    """
    pair = [claim["variant"], claim["minus"]]
    same = same_texts(evidence.similarity, *pair)
    differing = difference.join(same, on="review_id", how="anti", maintain_order="left")
    if reason := too_few_changed(pair, len(differing), len(difference), evidence.min_reviews):
        raise UnavailableError(reason)
    return differing


def _of_condition(claim: Claim, rows: pl.DataFrame, evidence: Evidence) -> Found:
    """The change of an outcome by an intervention, minus that by a control: an estimand of `interventions`.

    It is of this claim alone, so that its interval decides.
    """
    condition = find_condition(claim, rows)
    alike = pl.col("kind").eq(condition.kind) & pl.col("blocks").eq_missing(condition.blocks)
    alike &= pl.col("pattern").is_in([condition.pattern, claim["minus"]])
    compared = rows.filter((pl.col("kind") == UNTOUCHED) | alike)
    found = of_effects(claim, condition, effects_table(compared, evidence.resampling, evidence.min_reviews))
    return {name: value for name, value in found.items() if name not in ("p_value", "p_max_t")}


def _rows_of(claim: Claim, model: str, evidence: Evidence, variant: str, layers: str) -> pl.DataFrame:
    """Rows of the table `consequences` of the claim's outcome, in a text and over layers."""
    if evidence.consequences is None:
        raise UnavailableError("the study measures no consequences")
    rows, outcome = evidence.consequences.filter(model=model), claim["outcome"]
    view = _VIEWS.get(outcome, claim["view"])
    if view == PREDICTIONS and len(rows) and PREDICTIONS not in rows["view"]:
        raise UnavailableError(NO_HEAD)
    return narrowed(
        rows,
        ("variant", variant, f"the model does not read '{variant}' for consequences"),
        ("metric", outcome, f"the study has no {outcome} of '{variant}' in this model"),
        ("view", view, f"the study has no view '{claim['view']}' of {outcome}"),
        ("layers", layers, f"the study has no {outcome} over the layers '{layers}'"),
    )
