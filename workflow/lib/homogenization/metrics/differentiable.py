"""Metrics of the tokens of one review as functions that torch differentiates, for penalties.

Each has the value of the metric of the same name, of the rows that it is given; `centred` rows are minus their mean,
which bounds their rank.
"""

import torch
from scipy.linalg import eigh
from torch import Tensor

from homogenization.metrics.cosines import mean_cosine
from homogenization.metrics.gram import ZERO_SHARE


def cosine_anisotropy(rows: Tensor, centred: bool = False) -> Tensor:
    """Mean cosine of all pairs of rows (n, d), n > 1; a row of zeros has the cosine 0 with the others."""
    return mean_cosine(rows)


def normalized_effective_rank(rows: Tensor, centred: bool = False) -> Tensor:
    """Exponential of the entropy of the singular values' shares (Roy & Vetterli 2007), over the largest possible rank.

    That is min(n, d), and min(n - 1, d) of `centred` rows, which sum to 0. Rows of zeros have the least that it can be,
    as one direction has; rows that are not finite have NaN.
    """
    eigenvalues = _eigenvalues(rows)
    kept = eigenvalues[~(eigenvalues <= ZERO_SHARE * eigenvalues[-1].detach())]  # a root of 0 has no derivative
    shares = kept.sqrt() / kept.sqrt().sum()
    return (-(shares * shares.log()).sum()).exp() / min(len(rows) - centred, rows.shape[1])


def _eigenvalues(rows: Tensor) -> Tensor:
    """Squared singular values, ascending; NaN where rows are not finite."""
    products = rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows
    try:
        return torch.linalg.eigvalsh(products)
    except torch.linalg.LinAlgError:
        return _by_vectors(products)


def _by_vectors(symmetric: Tensor) -> Tensor:
    """Eigenvalues v'Sv of the eigenvectors v, whose derivatives are vv'; NaN for an S that is not finite.

    torch takes divide and conquer for derivatives, which can stop without a result; QL converges always.
    """
    if not torch.isfinite(symmetric).all():
        return symmetric.diagonal() * torch.nan
    vectors = torch.from_numpy(eigh(symmetric.detach().cpu().double().numpy(), driver="ev")[1]).to(symmetric)
    return ((symmetric @ vectors) * vectors).sum(dim=0)
