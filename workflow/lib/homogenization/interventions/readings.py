"""How alike the tokens of one review are in each view, from states in memory; and which tokens are massive."""

from collections.abc import Collection, Sequence

import numpy as np

from homogenization.interventions.conditions import AFTER_QUARTER, CENTRED, cells
from homogenization.interventions.patterns import quarter
from homogenization.measures.massive import are_massive
from homogenization.measures.spectra import singular_values
from homogenization.metrics.cosines import norms
from homogenization.metrics.geometry import GEOMETRY_METRICS, TokenMatrix
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate


def massive_tokens(states: Sequence[np.ndarray]) -> frozenset[int]:
    """Places of the massive tokens (`measures.massive`) of a review: (n, d) before the first and after each block."""
    lengths = np.stack([norms(tokens) for tokens in states])
    return frozenset(np.flatnonzero(are_massive(lengths, np.linspace(0, 1, len(states)))).tolist())


def read(states: Sequence[np.ndarray], massive: Collection[int], metrics: Sequence[str]) -> np.ndarray:
    """Metrics of one review's states, (n, d) of each layer: float64 (layers, cells), in the order of `cells`.

    The view `without_first` leaves out the `massive` tokens too, those of either run where two are compared. NaN where
    a view has too few tokens.
    """
    left = _tokens_left(len(states[0]), massive)
    return np.array([_of_layer(tokens.astype(np.float64), left, metrics) for tokens in states])


def pooled(states: Sequence[np.ndarray], massive: Collection[int]) -> np.ndarray:
    """Mean of the tokens of one review at each layer, float32 (layers, d), of `states` (n, d); NaN without any.

    The first token and the massive ones, which would decide it alone, are left out.
    """
    left = _tokens_left(len(states[0]), massive)
    means = [tokens[left].mean(axis=0, dtype=np.float64) if left else tokens[0] * np.nan for tokens in states]
    return np.stack(means).astype(np.float32)


def _tokens_left(n_tokens: int, massive: Collection[int]) -> list[int]:
    return sorted(set(range(1, n_tokens)) - set(massive))


def _of_layer(tokens: np.ndarray, left: Sequence[int], metrics: Sequence[str]) -> list[float]:
    """The metrics of tokens (n, d), in the order of `cells`."""
    rows = {
        ALL_TOKENS: tokens,
        WITHOUT_FIRST: tokens[left],
        CENTRED: tokens - tokens.mean(axis=0),
        AFTER_QUARTER: tokens[quarter(len(tokens)) :],
    }
    looks = dict.fromkeys(rows, "raw") | {CENTRED: "centred"}
    matrices = {view: TokenMatrix(of_view) for view, of_view in rows.items()}
    spectral = any(metric in SPECTRAL_METRICS for metric in metrics)
    spectra = {view: _spectrum(rows[view], look) for view, look in looks.items()} if spectral else {}

    def value(view: str, metric: str) -> float:
        if metric in SPECTRAL_METRICS:
            return evaluate(metric, spectra[view])[0]
        return GEOMETRY_METRICS[metric].compute(matrices[view])

    return [value(view, metric) for view, metric in cells(metrics)]


def _spectrum(rows: np.ndarray, look: str) -> SpectrumBatch:
    """Singular values of rows (n, d), n >= 0, which a look of `measures.views` sees."""
    values = singular_values(rows, [look])[look]
    return SpectrumBatch.from_flat(values, np.array([len(values)]))
