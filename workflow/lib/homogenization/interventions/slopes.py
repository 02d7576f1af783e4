"""Slopes at a dose of 0: how fast a metric after the last block changes as steering is turned on in one block.

For A' = A + sum over blocks b and patterns p of λ_bp (P_p - A), the derivative of a metric M by λ_bp at 0 is the inner
product of dM/dA_b with P_p - A_b, in the rows that steering changes. A backward pass for each metric gives dM/dA_b,
block by block, and so the slopes of all patterns. Everything is float64.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import polars as pl
import torch

from homogenization.interventions.attribution import attribution_of_review
from homogenization.interventions.changes import sight
from homogenization.interventions.conditions import CENTRED, cells
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import tokens_left, views_of
from homogenization.interventions.recorded import Recorded, RecordedBlock, in_float64, on_host, record
from homogenization.interventions.schedule import Pack
from homogenization.interventions.schemas import ATTRIBUTION_NUMBERS, ATTRIBUTION_SCHEMA, SLOPES_SCHEMA, crossed
from homogenization.measures.blocks import known_layout
from homogenization.metrics.differentiable import DIFFERENTIABLE
from homogenization.models.devices import ran_out_of_memory
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.states.network import PackedModel

logger = logging.getLogger(__name__)


def slopes_of_review(recorded: Recorded, draw: bytes, patterns: Sequence[str], metrics: Sequence[str]) -> np.ndarray:
    """Derivatives of metrics after the last block by the strength of steering in each block, at 0.

    Args:
        recorded: a pass over one review.
        draw: the name of the review's draws.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.

    Returns:
        float64 (blocks, patterns, cells), cells as `conditions.cells` has them; NaN where a view has too few tokens.
    """
    tokens = recorded.layers[-1].detach().requires_grad_()
    rows = views_of(tokens, tokens_left(len(tokens), recorded.massive))
    defined, by_output = [], []
    for number, (view, metric) in enumerate(cells(metrics)):
        if len(rows[view]) > 1:
            value = DIFFERENTIABLE[metric](rows[view], view == CENTRED)
            by_output += torch.autograd.grad(value, tokens, retain_graph=True)
            defined.append(number)
    slopes = np.full((recorded.n_blocks, len(patterns), len(cells(metrics))), np.nan)

    def read(block: RecordedBlock, by_weights: list[list[torch.Tensor]]) -> None:
        sums = tokens.new_zeros(len(patterns), len(by_weights))
        for chunk, attention in enumerate(block.maps):
            seen = sight(attention, draw)
            for number, name in enumerate(patterns):
                difference = seen.of_first(PATTERNS[name](seen) - attention.weights)
                sums[number] += torch.stack([(of_cell[chunk] * difference).sum() for of_cell in by_weights])
        slopes[block.index][:, defined] = on_host(sums)

    if by_output:
        recorded.backwards(by_output, read)
    return slopes


@contextmanager
def _fitting(review: str, model: PackedModel) -> Iterator[None]:
    """A context whose errors for a full memory name the cure: a review can't be halved."""
    try:
        yield
    except RuntimeError as error:
        if not ran_out_of_memory(error):
            raise
        raise HomogenizationError(
            f"interventions.slopes: {review} does not fit into the memory of {model.device}. Lower max_tokens of the "
            "model, set 'slopes: null', or run it where there is more memory ('device: cpu', or several gpus)."
        ) from None


def slopes_tables(
    model: PackedModel,
    reviews: Pack,
    patterns: Sequence[str],
    metrics: Sequence[str],
    identity: Mapping[str, str],
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`slopes_of_review` and `attribution_of_review` of all reviews.

    Args:
        model: transformer; it is left in float64, as `in_float64` makes it.
        reviews: what it reads.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.
        identity: `model` and `variant`, for the tables.

    Returns:
        The tables `SLOPES_SCHEMA`, by review, block, pattern and cell, and `ATTRIBUTION_SCHEMA`, by review, block and
        pattern; the latter without rows where the blocks of the model are of no known layout.

    Raises:
        HomogenizationError: a review that does not fit into memory, or blocks that `record` refuses.
    """
    model, slopes, attribution = in_float64(model), [], []
    layout, attributed = known_layout(model), [name for name in patterns if name != "removed"]
    if layout is None:
        logger.warning(
            "%s: what patterns deliver is not measured, since its blocks are of no known layout; to measure it, add an "
            "entry to LAYOUTS in homogenization/measures/blocks.py",
            model.architecture,
        )

    with progress(sum(reviews.lengths), "tokens") as advance:
        for name, ids, draw in zip(reviews.names, reviews.texts, reviews.draws, strict=True):
            with _fitting(f"review {name} of {len(ids)} tokens", model):
                recorded = record(model, ids, layout)
                slopes.append(slopes_of_review(recorded, draw, patterns, metrics))
                attribution += [attribution_of_review(recorded, draw, attributed)] if layout else []
            advance(len(ids))
    views, measured = zip(*cells(metrics), strict=True)
    by_block = {"review_id": reviews.names}, {"block": range(1, model.n_blocks + 1)}
    table = crossed(SLOPES_SCHEMA, *by_block, {"pattern": patterns}, {"view": views, "metric": measured})
    table = table.with_columns(slope=np.stack(slopes).ravel(), layer=pl.lit(model.n_blocks))
    columns = {name: pl.lit(identity[name]) for name in ("model", "variant")}
    table = table.with_columns(**columns).select(*SLOPES_SCHEMA).cast(SLOPES_SCHEMA)
    if not attribution or not attributed:
        return table, pl.DataFrame(schema=ATTRIBUTION_SCHEMA)
    numbers = pl.DataFrame(np.stack(attribution).reshape(-1, len(ATTRIBUTION_NUMBERS)), schema=ATTRIBUTION_NUMBERS)
    rows = crossed(ATTRIBUTION_SCHEMA, *by_block, {"pattern": attributed}).hstack(numbers)
    columns["branch_norm"] = pl.lit(layout.norm_behind_attention is not None)
    return table, rows.with_columns(**columns).select(*ATTRIBUTION_SCHEMA).cast(ATTRIBUTION_SCHEMA)
