"""Slopes at a dose of 0: how fast a metric after the last block changes as the dial of one block is turned on.

For A' = A + sum over blocks b and patterns p of λ_bp (P_p - A), the derivative of a metric M by λ_bp at 0 is the inner
product of dM/dA_b with P_p - A_b, in the rows that the dial changes. One backward pass gives dM/dA_b for all blocks,
and so the slopes of all patterns. Everything is float64.
"""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch

from homogenization.interventions.cells import cells
from homogenization.interventions.changes import sight
from homogenization.interventions.delivered import delivered_of_review
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import tokens_left, views_of
from homogenization.interventions.recorded import Recorded, in_float64, record
from homogenization.interventions.schedule import Pack
from homogenization.interventions.schemas import DELIVERED_NUMBERS, DELIVERED_SCHEMA, SLOPES_SCHEMA, crossed
from homogenization.measures.blocks import known_layout
from homogenization.metrics.differentiable import DIFFERENTIABLE
from homogenization.run.progress import progress
from homogenization.states.network import PackedModel

logger = logging.getLogger(__name__)


def slopes_of_review(recorded: Recorded, draw: bytes, patterns: Sequence[str], metrics: Sequence[str]) -> np.ndarray:
    """Derivatives of metrics after the last block by the dial's strength in each block, at 0.

    Args:
        recorded: a pass over one review.
        draw: the name of the review's draws.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.

    Returns:
        float64 (blocks, patterns, cells), cells as in `homogenization.interventions.cells.cells`; NaN where a view has
        too few tokens.
    """
    tokens = recorded.layers[-1]
    rows = views_of(tokens, tokens_left(len(tokens), recorded.massive))
    slopes = np.zeros((recorded.n_blocks, len(patterns), len(cells(metrics))))
    gradients = [
        torch.autograd.grad(DIFFERENTIABLE[metric](rows[view]), recorded.probes, retain_graph=True)
        if len(rows[view]) > 1
        else None
        for view, metric in cells(metrics)
    ]
    for chunk, attention in enumerate(recorded.maps):
        seen = sight(attention, draw)
        for number, name in enumerate(patterns):
            difference = seen.of_first(PATTERNS[name].rows(seen) - attention.weights)
            for cell, of_cell in enumerate(gradients):
                slope = np.nan if of_cell is None else float((of_cell[chunk] * difference).sum())
                slopes[attention.block, number, cell] += slope
    return slopes


def slopes_tables(
    model: PackedModel,
    reviews: Pack,
    patterns: Sequence[str],
    metrics: Sequence[str],
    identity: Mapping[str, str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`slopes_of_review` and `delivered_of_review` of all reviews.

    Args:
        model: transformer; it is converted to float64.
        reviews: what it reads.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.
        identity: `model` and `variant`, for the tables.

    Returns:
        The tables `SLOPES_SCHEMA`, by review, block, pattern and cell, and `DELIVERED_SCHEMA`, by review, block and
        pattern; the latter without rows where the blocks of the model are of no known layout.
    """
    model, slopes, delivered = in_float64(model), [], []
    layout, delivering = known_layout(model), [name for name in patterns if name != "removed"]
    if layout is None:
        logger.warning(
            "%s: what patterns deliver is not measured, since its blocks are of no known layout; to measure it, add an "
            "entry to LAYOUTS in homogenization/measures/blocks.py",
            model.architecture,
        )
    with progress(sum(reviews.lengths), "tokens") as advance:
        for ids, draw in zip(reviews.texts, reviews.draws, strict=True):
            recorded = record(model, ids, layout)
            slopes.append(slopes_of_review(recorded, draw, patterns, metrics))
            if layout is not None:
                delivered.append(delivered_of_review(recorded, draw, delivering))
            advance(len(ids))
    views, measured = zip(*cells(metrics), strict=True)
    by_block = {"review_id": reviews.names}, {"block": range(1, model.n_blocks + 1)}
    table = crossed(SLOPES_SCHEMA, *by_block, {"pattern": patterns}, {"view": views, "metric": measured})
    table = table.with_columns(slope=np.stack(slopes).ravel(), layer=pl.lit(model.n_blocks))
    columns = {name: pl.lit(identity[name]) for name in ("model", "variant")}
    table = table.with_columns(**columns).select(*SLOPES_SCHEMA).cast(SLOPES_SCHEMA)
    if not delivered or not delivering:
        return table, pl.DataFrame(schema=DELIVERED_SCHEMA)
    numbers = pl.DataFrame(np.stack(delivered).reshape(-1, len(DELIVERED_NUMBERS)), schema=DELIVERED_NUMBERS)
    rows = crossed(DELIVERED_SCHEMA, *by_block, {"pattern": delivering}).hstack(numbers)
    columns["branch_norm"] = pl.lit(layout.norm_behind_attention is not None)
    return table, rows.with_columns(**columns).select(*DELIVERED_SCHEMA).cast(DELIVERED_SCHEMA)
