"""The tables `interventions` and `consequences`: what changed attention does, beside controls of equal dose.

A condition is what was done to attention: kind, pattern, blocks, strength. A review in which the condition moved the
sink to another token has no value in it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.interventions.patterns import CONTROLS as STEERING_CONTROLS
from homogenization.names.columns import columns
from homogenization.names.consequences import KL
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import NOT_TESTED
from homogenization.statistics.estimate import ESTIMATE_SCHEMA, Settings, differences, estimate
from homogenization.statistics.rest import from_line
from homogenization.tables.comparisons import same_texts
from homogenization.tables.intervened import CONDITION, UNTOUCHED
from homogenization.tables.over_reviews import as_array

#: A row for each estimand of each condition, part of the depth, metric and view ([causes](interventions.md#estimands)).
#: Reviews whose sink moved, in the condition or in its control, are left out.
EFFECTS_SCHEMA = {
    **columns("model", "variant"),
    **columns(*CONDITION),
    #: `untouched`; a control, at equal strength; or a control `at equal KL`. In `consequences` also, of what the
    #: untouched model reads, another text, or `layers middle`
    "minus": pl.String,
    **columns("layers", "view"),
    **columns("metric"),
    **ESTIMATE_SCHEMA,
}
SCHEMAS = {"interventions": EFFECTS_SCHEMA}
CONTROLS = {  # kind -> patterns that do as much to attention, but not what a pattern is about
    "steering": tuple(STEERING_CONTROLS),
    "masked": ("random",),
}
AT_EQUAL_KL = " at equal KL"
LAYERS_MIDDLE = "layers middle"
NO_HEAD = "the model predicts no next token"
_REMOVED = "removed"
_NO_CONTROL = "a norm follows attention in this model's blocks and undoes what 'removed' does, so it is no control"
_CELL = ("layers", "view", "metric")
_KEYS = list(EFFECTS_SCHEMA)[: -len(ESTIMATE_SCHEMA)]


class Condition(NamedTuple):
    """What was done to attention; pattern, blocks and strength are None where a kind has none."""

    kind: str
    pattern: str | None = None
    blocks: str | None = None
    strength: float | None = None


class Dose(NamedTuple):
    """A condition's effect on each review: change from the untouched run (reviews, cells), and KL (reviews,), nats."""

    change: np.ndarray
    kl: np.ndarray


Estimand = tuple[str, np.ndarray, str | None]  # what is subtracted, (reviews, cells), why it is not tested


def effects_table(intervened: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Every estimand of every condition of `INTERVENED_BY_REVIEW_SCHEMA`: `EFFECTS_SCHEMA`, sorted by its keys."""
    parts = [pl.DataFrame(schema=EFFECTS_SCHEMA)]
    for (model, variant), rows in sorted(intervened.partition_by("model", "variant", as_dict=True).items()):
        cells = _cells_of(intervened.filter(model=model))
        doses, control_is_one = doses_of(rows, cells), not rows["branch_norm"].any()
        for condition in doses:
            for minus, values, reason in _estimands(condition, doses, control_is_one):
                table = estimate(cells, values, settings, ("view", "metric"), reason)
                names = {"model": model, "variant": variant, "minus": minus, **condition._asdict()}
                parts.append(named(table, names))
    return pl.concat(parts).sort(_KEYS)


def _cells_of(rows: pl.DataFrame) -> pl.DataFrame:
    """The cells of one model, with the yardstick of its originals where they are among its variants."""
    originals_first = rows.sort(pl.col("variant") != ORIGINAL, "variant", maintain_order=True)
    return originals_first.select(*_CELL, "yardstick").unique(_CELL, keep="first", maintain_order=True).sort(_CELL)


def named(table: pl.DataFrame, names: Mapping[str, Any]) -> pl.DataFrame:
    """Rows of `EFFECTS_SCHEMA` from estimates and their keys; without what has no value for no reason."""
    table = table.with_columns(pl.lit(name, EFFECTS_SCHEMA[key]).alias(key) for key, name in names.items())
    return table.filter((pl.col("n_reviews") > 0) | pl.col("reason").is_not_null()).select(*EFFECTS_SCHEMA)


def doses_of(rows: pl.DataFrame, cells: pl.DataFrame) -> dict[Condition, Dose]:
    """What each condition but the untouched one does, from rows of one model and variant in any order."""
    reviews = rows.select("review_id").unique().sort("review_id")
    changed = rows.filter(pl.col("kind") != UNTOUCHED)
    conditions = changed.select(CONDITION).unique().sort(CONDITION)
    stayed = changed.filter(~pl.col("sink_moved").fill_null(False))
    axes = conditions, reviews, cells.select(_CELL)
    values, untouched = (as_array(stayed, name, *axes) for name in ("value", "untouched"))
    doses = map(Dose, differences(values, untouched), as_array(stayed, "kl", conditions, reviews))
    return dict(zip(map(Condition._make, conditions.rows()), doses, strict=True))


def _estimands(condition: Condition, doses: Mapping[Condition, Dose], control_is_one: bool) -> Iterator[Estimand]:
    own = doses[condition]
    yield UNTOUCHED, own.change, None
    controls = CONTROLS.get(condition.kind, ())
    for control in controls if condition.pattern not in controls else ():
        reason = None if control_is_one or control != _REMOVED else _NO_CONTROL
        if (like := condition._replace(pattern=control)) in doses:
            yield control, own.change - doses[like].change, reason
        curve = [doses[one] for one in sorted(doses) if one[:3] == like[:3] and one.strength is not None]
        if condition.strength is not None and curve:
            values, beyond = at_equal_kl(own, curve)
            yield control + AT_EQUAL_KL, values, reason or beyond


def at_equal_kl(own: Dose, curve: Sequence[Dose]) -> tuple[np.ndarray, str | None]:
    """Change by a condition minus that by its control where the control's mean KL is as large.

    The control's mean change is interpolated between the first of its strengths that reaches the condition's mean KL
    and the one before, linearly in the root of the mean KL: for small doses the KL grows with the square of the
    strength, and the change with the strength itself. A review counts if the condition and these strengths have it.

    Args:
        own: the condition's.
        curve: those of the control, weakest first.

    Returns:
        (reviews, cells) what each review adds to the mean difference (its influence, as in `rest`), NaN in reviews that
        do not count; and why there is no value.
    """
    points = [Dose(np.zeros_like(own.change), np.zeros_like(own.kl)), *curve]
    nothing = np.full_like(own.change, np.nan)
    if not np.isfinite(own.kl).any():
        return nothing, f"{NO_HEAD}, so that a dose has no KL" if np.isfinite(own.change).any() else None
    for number in range(1, len(points)):
        there = np.isfinite([own.kl, *(point.kl for point in points[: number + 1])]).all(axis=0)
        kls = np.array([own.kl, points[number - 1].kl, points[number].kl])[:, there]
        if not there.any() or kls[0].mean() > kls[2].mean():
            continue
        roots = np.sqrt(kls.mean(axis=1).clip(min=0))
        changes = np.array([own.change, points[number - 1].change, points[number].change])[:, there]
        changes = np.where(np.isnan(changes).any(axis=0), np.nan, changes)
        moves = (kls - kls.mean(axis=1, keepdims=True)) / np.where(roots > 0, 2 * roots, np.inf)[:, None]
        places = (roots[:, None] + moves)[..., None]  # whose means are the roots
        values = nothing.copy()
        apart = roots[2] > roots[1]
        values[there] = from_line(*zip(changes, places, strict=True)) if apart else changes[0] - changes[2]
        return values, None
    reached = max(np.nanmean(point.kl) if np.isfinite(point.kl).any() else 0.0 for point in curve)
    return nothing, f"the control's KL reaches {reached:.3g} nats, that of the condition is {np.nanmean(own.kl):.3g}"


def text_effects(
    consequences: pl.DataFrame, similarity: pl.DataFrame, controls: Mapping[str, Mapping[str, str]], settings: Settings
) -> pl.DataFrame:
    """What the untouched model reads in a text less in another, and at the output less in the middle: `EFFECTS_SCHEMA`.

    A text is compared with the original and its `controls`, by role, over the reviews whose two texts differ;
    `consequences` are rows of `INTERVENED_BY_REVIEW_SCHEMA`.
    """
    untouched = consequences.filter(pl.col("metric") != KL, kind=UNTOUCHED)  # whose KL is 0
    parts = [pl.DataFrame(schema=EFFECTS_SCHEMA)]
    for (model,), rows in sorted(untouched.partition_by("model", as_dict=True).items()):
        cells = _cells_of(rows)
        reviews = rows.select("review_id").unique().sort("review_id")
        texts = rows.select("variant").unique().sort("variant")
        values = dict(zip(texts["variant"], as_array(rows, "value", texts, reviews, cells.select(_CELL)), strict=True))
        output, middle = (cells.with_row_index("place").filter(layers=name) for name in ("output", "middle"))
        both = output.join(middle, on=("view", "metric"), suffix="_middle")
        for text, of_text in values.items():
            names = {"model": model, "variant": text, **Condition(UNTOUCHED, blocks="all")._asdict()}
            deeper = differences(of_text[:, both["place"].to_numpy()], of_text[:, both["place_middle"].to_numpy()])
            table = estimate(both.select(*_CELL, "yardstick"), deeper, settings)
            parts.append(named(table, names | {"minus": LAYERS_MIDDLE}))
            for other in dict.fromkeys([ORIGINAL, *controls.get(text, {}).values()]) if text != ORIGINAL else ():
                if other in values:
                    change = differences(of_text, values[other])
                    same = same_texts(similarity, text, other)["review_id"].to_list()
                    change[reviews["review_id"].is_in(same).to_numpy()] = np.nan
                    table = estimate(cells, change, settings, ("view", "metric"))
                    parts.append(named(table, names | {"minus": other}))
    return pl.concat(parts).filter(pl.col("n_reviews") > 0).sort(_KEYS)


def tabulate(intervened: pl.DataFrame, resampling: Mapping[str, Any], min_reviews: int) -> pl.DataFrame:
    """The table `interventions` from `intervened`; `resampling` and `min_reviews` are fields of `Settings`."""
    effects = effects_table(intervened, Settings(**resampling, min_reviews=min_reviews))
    for model, reason in effects.filter(verdict=NOT_TESTED).select("model", "reason").unique().sort(pl.all()).rows():
        logging.warning("interventions of %s: not tested: %s", model, reason)
    return effects
