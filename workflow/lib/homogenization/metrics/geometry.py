"""Metrics of token norms and directions.

Each metric is a function of two arguments: the columns of the table `geometry` (a mapping of name to array), and the
view, `all_tokens` or `without_first`. To add a metric, write one such function and decorate it.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

import numpy as np

from homogenization.metrics.cosines import mean_of_pairs
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, Columns, Metric, registrar

GEOMETRY_METRICS: dict[str, Metric] = {}
geometry_metric = registrar(GEOMETRY_METRICS)

BOTH = (ALL_TOKENS, WITHOUT_FIRST)


def _of_view(columns: Columns, name: str, view: str) -> np.ndarray:
    return columns[name] if view == ALL_TOKENS else columns[f"{name}_{view}"]


@geometry_metric(
    title="Resultant length",
    label="resultant length, ‖mean x/‖x‖‖",
    bounds=(0, 1),
    views=BOTH,
    homogenization=1,
    with_length="changes",
)
def resultant_length(columns: Columns, view: str) -> np.ndarray:
    """Length of the mean of all tokens scaled to length 1: 1 if all point the same way (Mardia & Jupp 2000)."""
    return _of_view(columns, "resultant_length", view)


@geometry_metric(
    title="Cosine anisotropy",
    label="mean cosine of token pairs",
    bounds=(-1, 1),
    views=BOTH,
    homogenization=1,
    with_length="same",
)
def cosine_anisotropy(columns: Columns, view: str) -> np.ndarray:
    """Mean cosine of all pairs of different tokens: 1 if all point the same way (Godey et al. 2024).

    (n R^2 - m / n) / (n - 1) with m nonzero tokens; for m = n, the usual case, (n R^2 - 1) / (n - 1). NaN for fewer
    than two tokens.
    """
    n = columns["n_tokens"] - (view == WITHOUT_FIRST)
    n = np.where(n > 1, n, np.nan)
    length = _of_view(columns, "resultant_length", view)
    return mean_of_pairs((n * length) ** 2, _of_view(columns, "n_directed", view), n)


@geometry_metric(
    title="Dispersion of cosines",
    label="standard deviation of token pairs' cosines",
    bounds=(0, 1),
    views=BOTH,
    with_length="same",
)
def cosine_dispersion(columns: Columns, view: str) -> np.ndarray:
    """Standard deviation of the cosines of token pairs."""
    return _of_view(columns, "cosine_std", view)


@geometry_metric(
    title="Norm of the first token", label="‖x₁‖", bounds=(0, None), views=(ALL_TOKENS,), with_length="same"
)
def first_token_norm(columns: Columns, view: str) -> np.ndarray:
    """Length of the vector of the first token."""
    return columns["norm_first"]


@geometry_metric(
    title="Norm of the other tokens",
    label="median ‖x‖ after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def other_token_norm(columns: Columns, view: str) -> np.ndarray:
    """Median length of the vectors of the tokens after the first."""
    return columns["norm_rest_median"]


@geometry_metric(
    title="Largest norm after the first token",
    label="max ‖x‖ after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
    with_length="changes",
)
def other_token_norm_max(columns: Columns, view: str) -> np.ndarray:
    """Largest norm of the tokens after the first: massive activations can sit on any token."""
    return columns["norm_rest_max"]


@geometry_metric(
    title="Norm of the first token, relative",
    label="‖x₁‖ / median ‖x‖ of the others",
    bounds=(0, None),
    views=(ALL_TOKENS,),
    with_length="same",
)
def first_token_norm_ratio(columns: Columns, view: str) -> np.ndarray:
    """Length of the first token / median length of the others; undefined where that is 0."""
    others = columns["norm_rest_median"]
    return columns["norm_first"] / np.where(others > 0, others, np.nan)


@geometry_metric(
    title="Share of the first token in the energy",
    label="‖x₁‖² / ‖X‖²",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def first_token_energy_share(columns: Columns, view: str) -> np.ndarray:
    """Share of the first token in the sum of squared lengths: a lower bound of the maximum explainable variance."""
    return columns["squared_norm_share_first"]


@geometry_metric(
    title="Cosine to the first token",
    label="mean cosine to the first token",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
    homogenization=1,
    with_length="same",
)
def cosine_to_first_token(columns: Columns, view: str) -> np.ndarray:
    """Mean cosine of the other tokens to the first."""
    return columns["cosine_to_first"]


@geometry_metric(title="Number of tokens", label="tokens", bounds=(1, None), views=(ALL_TOKENS,), with_length="grows")
def n_tokens(columns: Columns, view: str) -> np.ndarray:
    """Number of tokens that the model reads, the same at every layer."""
    return columns["n_tokens"].astype(np.float64)
