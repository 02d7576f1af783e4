"""How alike the tokens of one review are in each view, from states in memory; and which tokens are massive."""

from collections.abc import Collection, Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor

from homogenization.interventions.conditions import AFTER_QUARTER, CENTRED, COSINE, TO_FIRST, VIEWS, cells
from homogenization.interventions.patterns import quarter
from homogenization.measures.massive import are_massive
from homogenization.measures.spectra import singular_values
from homogenization.metrics.cosines import mean_cosine, mean_cosine_to_first, norms
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate

Tokens = TypeVar("Tokens", np.ndarray, Tensor)


def massive_tokens(states: Sequence[np.ndarray]) -> frozenset[int]:
    """Places of the massive tokens of a review (`measures.massive`).

    Args:
        states: (n, d) before the first block and after each block.
    """
    lengths = np.stack([norms(tokens) for tokens in states])
    return frozenset(np.flatnonzero(are_massive(lengths, np.linspace(0, 1, len(states)))).tolist())


def read(states: Sequence[np.ndarray], massive: Collection[int], metrics: Sequence[str]) -> np.ndarray:
    """Metrics of one review in one run.

    Args:
        states: (n, d) float32 of each layer.
        massive: places of the massive tokens, which the view `without_first` leaves out with the first: where two runs
            are compared, those of either.
        metrics: names of `METRICS`.

    Returns:
        float64 (layers, cells), in the order of `cells`; NaN where a view has too few tokens.
    """
    left = tokens_left(len(states[0]), massive)
    columns = {cell: np.empty(len(states)) for cell in cells(metrics)}
    spectral = [metric for metric in metrics if metric in SPECTRAL_METRICS]
    spectra: dict[str, list[np.ndarray]] = {view: [] for view in VIEWS}
    for layer, tokens in enumerate(states):
        tokens = tokens.astype(np.float64)
        rows = views_of(tokens, left)
        for view in VIEWS if COSINE in metrics else ():
            columns[view, COSINE][layer] = mean_cosine(rows[view])
        if TO_FIRST in metrics:
            columns[ALL_TOKENS, TO_FIRST][layer] = mean_cosine_to_first(tokens)
        for view, values in _spectra(tokens, rows, len(left) == len(tokens) - 1).items() if spectral else ():
            spectra[view].append(values)
    for view, of_layers in spectra.items() if spectral else ():
        sizes = np.array([len(values) for values in of_layers])
        batch = SpectrumBatch.from_flat(np.concatenate(of_layers), sizes)
        for metric in spectral:
            columns[view, metric][:] = evaluate(metric, batch)
    return np.stack(list(columns.values()), axis=-1) if columns else np.empty((len(states), 0))


def pooled(states: Sequence[np.ndarray], massive: Collection[int]) -> np.ndarray:
    """Mean of the tokens of one review at each layer, without the first token and the massive ones.

    These would decide the mean alone: after block 12 of SmolLM2-135M, the first token is 174 times as long as others.

    Args:
        states: (n, d) float32 of each layer.
        massive: places of the run's massive tokens.

    Returns:
        float32 (layers, d); NaN where no token is left.
    """
    left = tokens_left(len(states[0]), massive)
    if not left:
        return np.full((len(states), states[0].shape[1]), np.nan, dtype=np.float32)
    return np.stack([tokens[left].mean(axis=0, dtype=np.float64) for tokens in states]).astype(np.float32)


def tokens_left(n_tokens: int, massive: Collection[int]) -> list[int]:
    """Places of the tokens without the first and the massive ones."""
    return sorted(set(range(n_tokens)) - set(massive) - {0})


def views_of(tokens: Tokens, left: Sequence[int]) -> dict[str, Tokens]:
    """The rows of each view of tokens (n, d); `left` are those without the first and the massive ones."""
    rows = (tokens, tokens[left], tokens - tokens.mean(0), tokens[quarter(len(tokens)) :])
    return dict(zip(VIEWS, rows, strict=True))


def _spectra(tokens: np.ndarray, rows: dict[str, np.ndarray], only_first: bool) -> dict[str, np.ndarray]:
    """Singular values of each view; `only_first` where `without_first` leaves no other token out."""
    shared = singular_values(tokens, ["raw", "raw_without_first", "centred"])
    spectra = {ALL_TOKENS: shared["raw"], WITHOUT_FIRST: shared["raw_without_first"], CENTRED: shared["centred"]}
    for view in (AFTER_QUARTER, *([] if only_first else [WITHOUT_FIRST])):
        spectra[view] = singular_values(rows[view], ["raw"])["raw"] if len(rows[view]) else np.empty(0)
    return spectra
