"""Metrics of a token matrix that depend on its singular values alone.

With singular values s_1 >= s_2 >= ... of an n x d matrix: p = s / sum s, q = s^2 / sum s^2, H the entropy in nats.
To add a metric, write one function of a `SpectrumBatch` and decorate it with `spectral_metric`; it is then tabulated
and drawn by its name, and nothing that reads the states runs again.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from homogenization.metrics.registry import Metric, registrar

SPECTRAL_METRICS: dict[str, Metric] = {}
spectral_metric = registrar(SPECTRAL_METRICS)

# The smallest share of the largest eigenvalue that a float64 Gram matrix resolves well enough for a logarithm.
_RESOLVED = 1e-12


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

    @cached_property
    def energy_entropy(self) -> np.ndarray:
        """(rows,) H(q) in nats."""
        return _entropy(self.q)


def _entropy(shares: np.ndarray) -> np.ndarray:
    """(rows, k) shares -> (rows,) entropy in nats."""
    logarithms = np.log(np.where(shares == 0, 1.0, shares))
    return -np.einsum("ij,ij->i", shares, logarithms)


@spectral_metric(
    title="Effective rank",
    label="effective rank, exp H(σ/Σσ)",
    bounds=(1, None),
    homogenization=-1,
    with_length="grows",
)
def effective_rank(spectra: SpectrumBatch) -> np.ndarray:
    """How many directions the tokens use: exp H(p), p the singular values as shares (Roy & Vetterli 2007)."""
    return np.exp(_entropy(spectra.p))


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


def _schatten(spectra: SpectrumBatch, power: int) -> np.ndarray:
    """(sum s^power)^(1/power) / s_1."""
    return (spectra.relative**power).sum(axis=1) ** (1 / power)


@spectral_metric(
    title="Schatten 1-norm (nuclear norm)", label="Schatten 1-norm, Σσ", bounds=(0, None), with_length="grows"
)
def schatten_1(spectra: SpectrumBatch) -> np.ndarray:
    """Sum of the singular values of the token matrix."""
    return _schatten(spectra, 1) * spectra.largest


@spectral_metric(
    title="Schatten 2-norm (Frobenius norm)", label="Schatten 2-norm, (Σσ²)^½", bounds=(0, None), with_length="grows"
)
def schatten_2(spectra: SpectrumBatch) -> np.ndarray:
    """Square root of the sum of the squared singular values, and so of the squared lengths of the tokens."""
    return _schatten(spectra, 2) * spectra.largest


@spectral_metric(title="Schatten 4-norm", label="Schatten 4-norm, (Σσ⁴)^¼", bounds=(0, None), with_length="grows")
def schatten_4(spectra: SpectrumBatch) -> np.ndarray:
    """Fourth root of the sum of the fourth powers of the singular values."""
    return _schatten(spectra, 4) * spectra.largest


@spectral_metric(
    title="Schatten ∞-norm (spectral norm)", label="Schatten ∞-norm, σ₁", bounds=(0, None), with_length="grows"
)
def schatten_inf(spectra: SpectrumBatch) -> np.ndarray:
    """Largest singular value of the token matrix."""
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
    return _schatten(spectra, 1) / _schatten(spectra, 2)


@spectral_metric(
    title="Schatten ratio, 4 to 2",
    label="Schatten ratio, ‖X‖₄ / ‖X‖₂",
    bounds=(0, 1),
    homogenization=1,
    with_length="changes",
)
def schatten_4_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """Schatten 4-norm / 2-norm: 1 if all tokens lie on one line, at least r^(−1/4), r the largest possible rank."""
    return _schatten(spectra, 4) / _schatten(spectra, 2)


@spectral_metric(
    title="Schatten ratio, ∞ to 2",
    label="Schatten ratio, ‖X‖∞ / ‖X‖₂",
    bounds=(0, 1),
    homogenization=1,
    with_length="changes",
)
def schatten_inf_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """Largest singular value / Schatten 2-norm: the square root of the maximum explainable variance."""
    return 1 / _schatten(spectra, 2)


@spectral_metric(
    title="Matrix entropy",
    label="matrix entropy H(σ²/Σσ²) (nats)",
    bounds=(0, None),
    homogenization=-1,
    with_length="grows",
)
def matrix_entropy(spectra: SpectrumBatch) -> np.ndarray:
    """Entropy H(q) of the squared singular values as shares, in nats: the von Neumann entropy of X Xᵀ / trace."""
    return spectra.energy_entropy


@spectral_metric(
    title="Normalised matrix entropy",
    label="matrix entropy / its bound",
    bounds=(0, 1),
    homogenization=-1,
    with_length="changes",
)
def normalized_matrix_entropy(spectra: SpectrumBatch) -> np.ndarray:
    """Matrix entropy / its largest possible value, ln of the largest possible rank; undefined for a rank of 1."""
    return spectra.energy_entropy / np.where(spectra.size > 1, np.log(np.maximum(spectra.size, 2)), np.nan)


@spectral_metric(
    title="Rank by matrix entropy", label="exp H(σ²/Σσ²)", bounds=(1, None), homogenization=-1, with_length="grows"
)
def matrix_entropy_rank(spectra: SpectrumBatch) -> np.ndarray:
    """Exp H(q), from the squared singular values as shares; the effective rank takes the values themselves."""
    return np.exp(spectra.energy_entropy)


@spectral_metric(
    title="Stable rank", label="stable rank, Σσ² / σ₁²", bounds=(1, None), homogenization=-1, with_length="grows"
)
def stable_rank(spectra: SpectrumBatch) -> np.ndarray:
    """Sum of the squared singular values / the largest of them (Rudelson & Vershynin 2007)."""
    return 1 / spectra.q[:, 0]


@spectral_metric(
    title="Participation ratio",
    label="participation ratio, (Σσ²)² / Σσ⁴",
    bounds=(1, None),
    homogenization=-1,
    with_length="grows",
)
def participation_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """How many directions share the variance: 1 / Σq², q the squared singular values as shares (Gao et al. 2017)."""
    return 1 / np.einsum("ij,ij->i", spectra.q, spectra.q)


@spectral_metric(
    title="Normalised participation ratio",
    label="participation ratio / its bound",
    bounds=(0, 1),
    homogenization=-1,
    with_length="changes",
)
def normalized_participation_ratio(spectra: SpectrumBatch) -> np.ndarray:
    """Participation ratio / its largest possible value, the largest possible rank."""
    return participation_ratio(spectra) / spectra.size


@spectral_metric(
    title="Decay of the eigenspectrum (α-ReQ)",
    label="α of λₖ ∝ k^−α",
    bounds=(0, None),
    homogenization=1,
    with_length="grows",
)
def alpha_req(spectra: SpectrumBatch) -> np.ndarray:
    """Steepness α of the power law λₖ ∝ k^−α of the eigenvalues λ = σ² / tokens (Agrawal et al. 2022).

    Minus the slope of the least-squares line of log lambda_k against log k: 0 for orthonormal rows, larger the faster
    the spectrum decays. All eigenvalues above 1e-12 of the largest count alike; the authors' code fits ranks 4 to 100
    with weights 1/k, so compare trends rather than values. NaN for fewer than two such eigenvalues.
    """
    values = spectra.relative**2  # the factor 1/n only moves the intercept
    counted = values > _RESOLVED
    number = counted.sum(axis=1)
    number = np.where(number > 1, number, np.nan)
    x = np.where(counted, np.log(np.arange(1, values.shape[1] + 1)), 0.0)
    y = np.log(np.where(counted, values, 1.0))
    x = np.where(counted, x - (x.sum(axis=1) / number)[:, None], 0.0)
    with np.errstate(invalid="ignore"):  # a matrix of zeros gives 0 / 0, the intended NaN
        return -np.einsum("ij,ij->i", x, y) / np.einsum("ij,ij->i", x, x)


def evaluate(metric: str, spectra: SpectrumBatch) -> np.ndarray:
    """(rows,) values of the registered `metric`; NaN where a matrix has no nonzero singular value."""
    return SPECTRAL_METRICS[metric].compute(spectra)
