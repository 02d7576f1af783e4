"""Metrics of a token matrix that depend on its singular values alone.

With singular values s_1 >= s_2 >= ... of an n x d matrix: p = s / sum s, q = s^2 / sum s^2, H the entropy in nats.
To add a metric, write one function of a `SpectrumBatch` and decorate it; nothing that reads the states runs again. It
imports numpy alone, because every parse of the Snakefile reads the names.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from homogenization.metrics.registry import Metric, registrar

SPECTRAL_METRICS: dict[str, Metric] = {}
spectral_metric = registrar(SPECTRAL_METRICS)


@dataclass(frozen=True)
class SpectrumBatch:
    """The spectra of many matrices at once.

    Attributes:
        singular_values: (rows, k) float64, descending, filled up with zeros; k >= 1.
        size: (rows,) int, the largest rank that each matrix can have: min(n, d), and min(n - 1, d) if it is centred;
            its values after the first `size` are filling.
    """

    singular_values: np.ndarray
    size: np.ndarray

    @classmethod
    def from_flat(cls, values: np.ndarray, size: np.ndarray) -> "SpectrumBatch":
        """The batch of spectra that stand end to end in `values`, `size` values each."""
        filled = np.zeros((len(size), max(1, size.max(initial=0))))
        filled[np.arange(filled.shape[1]) < size[:, None]] = values
        return cls(filled, size)

    @cached_property
    def largest(self) -> np.ndarray:
        """(rows,) s_1; NaN for a matrix of zeros and for one without rows, where no metric is defined."""
        first = self.singular_values[:, 0]
        return np.where(first > 0, first, np.nan)

    @cached_property
    def relative(self) -> np.ndarray:
        """(rows, k) s / s_1, so that no power overflows."""
        return self.singular_values / self.largest[:, None]

    @cached_property
    def p(self) -> np.ndarray:
        """(rows, k) shares of the singular values."""
        return self.relative / self.relative.sum(axis=1, keepdims=True)

    @cached_property
    def q(self) -> np.ndarray:
        """(rows, k) shares of the squared singular values, that is of the variance or energy."""
        squares = self.relative**2
        return squares / squares.sum(axis=1, keepdims=True)


@spectral_metric(
    title="Effective rank",
    label="effective rank, exp H(σ/Σσ)",
    bounds=(1, None),
    homogenization=-1,
    with_length="grows",
)
def effective_rank(spectra: SpectrumBatch) -> np.ndarray:
    """How many directions the tokens use: exp H(p), p the singular values as shares (Roy & Vetterli 2007)."""
    logarithms = np.log(np.where(spectra.p == 0, 1.0, spectra.p))
    return np.exp(-(spectra.p * logarithms).sum(axis=1))


@spectral_metric(
    title="Normalised effective rank",
    label="effective rank / its bound",
    bounds=(0, 1),
    homogenization=-1,
    with_length="changes",
)
def normalized_effective_rank(spectra: SpectrumBatch) -> np.ndarray:
    """Effective rank / the largest possible rank: the raw one grows with the number of tokens.

    The largest possible rank is min(tokens, width), and min(tokens − 1, width) of a centred view, whose rows sum to 0.
    """
    return effective_rank(spectra) / spectra.size


@spectral_metric(
    title="Maximum explainable variance (singular anisotropy)",
    label="maximum explainable variance, σ₁² / Σσ²",
    bounds=(0, 1),
    homogenization=1,
    with_length="changes",
)
def max_explainable_variance(spectra: SpectrumBatch) -> np.ndarray:
    """Share of the first singular direction in the sum of squares, σ₁² / Σσ²: 1 if all tokens lie on one line."""
    return spectra.q[:, 0]


@spectral_metric(
    title="Schatten 1-norm (nuclear norm)", label="Schatten 1-norm, Σσ", bounds=(0, None), with_length="grows"
)
def schatten_1(spectra: SpectrumBatch) -> np.ndarray:
    """Sum of the singular values."""
    return spectra.relative.sum(axis=1) * spectra.largest


@spectral_metric(
    title="Schatten 2-norm (Frobenius norm)", label="Schatten 2-norm, (Σσ²)^½", bounds=(0, None), with_length="grows"
)
def schatten_2(spectra: SpectrumBatch) -> np.ndarray:
    """Root of the sum of the squared singular values, and so of the squared lengths of the tokens."""
    return np.sqrt((spectra.relative**2).sum(axis=1)) * spectra.largest


@spectral_metric(
    title="Schatten ∞-norm (spectral norm)", label="Schatten ∞-norm, σ₁", bounds=(0, None), with_length="grows"
)
def schatten_inf(spectra: SpectrumBatch) -> np.ndarray:
    """The largest singular value."""
    return spectra.largest


@spectral_metric(
    title="Schatten ratio, 1 to 2",
    label="Schatten ratio, ‖X‖₁ / ‖X‖₂",
    bounds=(1, None),
    homogenization=-1,
    with_length="grows",
)
def schatten_1_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """Schatten 1-norm / 2-norm: 1 if all tokens lie on one line, at most the root of the largest possible rank."""
    return spectra.relative.sum(axis=1) / np.sqrt((spectra.relative**2).sum(axis=1))


@spectral_metric(
    title="Participation ratio",
    label="participation ratio, (Σσ²)² / Σσ⁴",
    bounds=(1, None),
    homogenization=-1,
    with_length="grows",
)
def participation_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """How many directions share the variance: 1 / Σq², q the squared singular values as shares (Gao et al. 2017)."""
    return 1 / (spectra.q**2).sum(axis=1)


def evaluate(metric: str, spectra: SpectrumBatch) -> np.ndarray:
    """(rows,) values of the registered `metric`; NaN where a matrix has no nonzero singular value."""
    return SPECTRAL_METRICS[metric].compute(spectra)
