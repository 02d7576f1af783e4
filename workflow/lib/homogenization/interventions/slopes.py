"""Slopes at a dose of 0: how fast a metric after the last block changes as the dial of one block is turned on.

For A' = A + sum over blocks b and patterns p of λ_bp (P_p - A), the derivative of a metric M by λ_bp at 0 is the inner
product of dM/dA_b with P_p - A_b. One backward pass gives dM/dA_b for all blocks, and so the slopes of all patterns.
Everything is float64: a network rounds some steps to float32 by itself, which is prevented here.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import torch
from torch.overrides import TorchFunctionMode

from homogenization.interventions.cells import AFTER_QUARTER, CENTRED, cells
from homogenization.interventions.changes import sight
from homogenization.interventions.patterns import PATTERNS, quarter
from homogenization.interventions.readings import massive_tokens
from homogenization.interventions.schemas import SLOPES_SCHEMA
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.run.progress import progress
from homogenization.states.attention import AttentionMap
from homogenization.states.network import PackedModel, run_packed

_ZERO = 8 * np.finfo(np.float64).eps  # of the largest eigenvalue: rounding of an eigenvalue that is 0


class InFloat64(TorchFunctionMode):
    """A context in which what asks for float32 gets float64."""

    def __torch_function__(
        self, function: Callable, types: Any, args: tuple = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Call `function` with float64 in the place of float32."""
        if function is torch.Tensor.float:
            function = torch.Tensor.double
        wider = [torch.float64 if value is torch.float32 else value for value in args]
        named = {name: torch.float64 if value is torch.float32 else value for name, value in (kwargs or {}).items()}
        return function(*wider, **named)


def in_float64(model: PackedModel) -> PackedModel:
    """The model in float64, whose parameters take no gradient; the network itself is converted."""
    device = {"device": "cpu"} if model.device.type == "mps" else {}
    model.network.to(dtype=torch.float64, **device).requires_grad_(False)
    return model


def slopes_of_review(
    model: PackedModel, token_ids: Sequence[int], draw: bytes, patterns: Sequence[str], metrics: Sequence[str]
) -> np.ndarray:
    """Derivatives of metrics after the last block by the dial's strength in each block, at 0.

    Args:
        model: transformer from `in_float64`.
        token_ids: token ids of one review.
        draw: the name of the review's draws.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.

    Returns:
        float64 (blocks, patterns, cells), cells as in `homogenization.interventions.cells.cells`; NaN where a view has
        too few tokens.
    """
    maps: list[AttentionMap] = []
    probes: list[torch.Tensor] = []

    def through(attention: AttentionMap) -> torch.Tensor:
        probe = torch.zeros_like(attention.weights, requires_grad=True)
        maps.append(replace(attention, weights=attention.weights.detach()))
        probes.append(probe)
        return attention.weights + probe

    layers: list[torch.Tensor] = []
    with InFloat64():
        run_packed(
            model, token_ids, [len(token_ids)], False, lambda _, taken: layers.append(taken), through, gradients=True
        )
    tokens = layers[-1]
    massive = massive_tokens([layer.detach().cpu().numpy() for layer in layers])
    rows = _views(tokens, massive)
    found = np.zeros((model.n_blocks, len(patterns), len(cells(metrics))))
    gradients = [
        torch.autograd.grad(DIFFERENTIABLE[metric](rows[view]), probes, retain_graph=True)
        if len(rows[view]) > 1
        else None
        for view, metric in cells(metrics)
    ]
    for chunk, attention in enumerate(maps):
        seen = sight(attention, draw)
        for number, name in enumerate(patterns):
            difference = PATTERNS[name].rows(seen) - attention.weights
            for cell, of_cell in enumerate(gradients):
                slope = np.nan if of_cell is None else float((of_cell[chunk] * difference).sum())
                found[attention.block, number, cell] += slope
    return found


def _views(tokens: torch.Tensor, massive: Collection[int]) -> dict[str, torch.Tensor]:
    """Rows of each view, as `homogenization.interventions.readings.read` takes them."""
    left = sorted(set(range(len(tokens))) - set(massive) - {0})
    return {
        ALL_TOKENS: tokens,
        WITHOUT_FIRST: tokens[left],
        CENTRED: tokens - tokens.mean(dim=0),
        AFTER_QUARTER: tokens[quarter(len(tokens)) :],
    }


def _units(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Directions of rows (n, d), and which rows have one."""
    lengths = rows.norm(dim=-1, keepdim=True)
    return rows / torch.where(lengths > 0, lengths, 1.0), lengths > 0


def _cosine(rows: torch.Tensor) -> torch.Tensor:
    units, directed = _units(rows)
    resultant = units.sum(dim=0)
    return (resultant @ resultant - directed.sum()) / (len(rows) * (len(rows) - 1))


def _cosine_to_first(rows: torch.Tensor) -> torch.Tensor:
    units, _ = _units(rows)
    return (units[1:] @ units[0]).mean()


def _eigenvalues(rows: torch.Tensor) -> torch.Tensor:
    """Squared singular values, ascending."""
    return torch.linalg.eigvalsh(rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows)


def _explainable(rows: torch.Tensor) -> torch.Tensor:
    eigenvalues = _eigenvalues(rows)
    return eigenvalues[-1] / eigenvalues.sum()


def _normalized_rank(rows: torch.Tensor) -> torch.Tensor:
    eigenvalues = _eigenvalues(rows)
    kept = eigenvalues[eigenvalues > _ZERO * eigenvalues[-1]]  # a root of 0 has no derivative
    shares = kept.sqrt() / kept.sqrt().sum()
    return (-(shares * shares.log()).sum()).exp() / min(rows.shape)


DIFFERENTIABLE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "cosine_anisotropy": _cosine,
    "cosine_to_first_token": _cosine_to_first,
    "max_explainable_variance": _explainable,
    "normalized_effective_rank": _normalized_rank,
}


def slopes_table(
    model: PackedModel,
    names: Sequence[str],
    token_ids: Sequence[np.ndarray],
    draws: Sequence[bytes],
    patterns: Sequence[str],
    metrics: Sequence[str],
    identity: Mapping[str, str],
) -> pl.DataFrame:
    """`slopes_of_review` of all reviews: the table `SLOPES_SCHEMA`, by review, block, pattern and cell.

    Args:
        model: transformer; it is converted to float64.
        names: names of the reviews.
        token_ids: token ids of each.
        draws: for each, the name of its draws.
        patterns: names of P.
        metrics: names of `DIFFERENTIABLE`.
        identity: `model` and `variant`, for the table.
    """
    model, parts = in_float64(model), []
    of_cells = cells(metrics)
    with progress(sum(map(len, token_ids)), "tokens") as advance:
        for ids, draw in zip(token_ids, draws, strict=True):
            parts.append(slopes_of_review(model, ids, draw, patterns, metrics))
            advance(len(ids))
    values = np.stack(parts)
    review, block, pattern, cell = np.indices(values.shape).reshape(4, -1)
    views, measured = (np.asarray([pair[part] for pair in of_cells], dtype=object) for part in (0, 1))
    columns = {
        "model": np.full(len(review), identity["model"], dtype=object),
        "variant": np.full(len(review), identity["variant"], dtype=object),
        "review_id": np.asarray(names, dtype=object)[review],
        "block": block + 1,
        "pattern": np.asarray(patterns, dtype=object)[pattern],
        "layer": np.full(len(review), model.n_blocks),
        "view": views[cell],
        "metric": measured[cell],
        "slope": values.ravel(),
    }
    return pl.DataFrame(columns).cast(SLOPES_SCHEMA)
