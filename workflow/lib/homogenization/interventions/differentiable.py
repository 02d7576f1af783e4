"""Metrics of the tokens of one review as functions that torch differentiates, in the views of `readings`."""

from collections.abc import Callable, Collection

import numpy as np
import torch

from homogenization.interventions.cells import AFTER_QUARTER, CENTRED
from homogenization.interventions.patterns import quarter
from homogenization.interventions.readings import tokens_left
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

_ZERO = 8 * np.finfo(np.float64).eps  # of the largest eigenvalue: rounding of an eigenvalue that is 0


def views_of(tokens: torch.Tensor, massive: Collection[int]) -> dict[str, torch.Tensor]:
    """Rows of each view of the tokens (n, d), as `homogenization.interventions.readings.read` takes them."""
    return {
        ALL_TOKENS: tokens,
        WITHOUT_FIRST: tokens[tokens_left(len(tokens), massive)],
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
