"""Operations and seconds of what is measured of states, from the lengths of reviews and the size of a model.

Products of matrices are counted, and take their time at the rate of a core or GPU; what is no product takes seconds
that were measured once (docs/plan.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from homogenization.measures.views import look_of
from homogenization.plan.architecture import Architecture

_DRAWS = 4  # of common tokens
STARTUP = 3.0  # s: Python, libraries and the store
# times that a decomposition takes longer than products of as many operations
_SLOWER = 3
# seconds for each number of a review's states, its pairs of tokens, and the review at a point
_SPECTRA, _EIGENVALUES, _GEOMETRY, _PAIRS = 3e-9, 2e-8, 3e-9, 1.5e-8
_SPECTRA_CALL, _GEOMETRY_CALL = 1.2e-3, 5e-4
_POOLED, _POOLED_POINT = 6e-8, 0.08
_ALIGNED_PAIRS, _ALIGNED_CALL = 4e-8, 1.5e-3
# seconds of the process that runs the model for each review at a point that it hands on (docs/plan.md: how measured)
HANDED_ON = 1e-3
# k-means: steps of all starts together, components in parts of the largest number, seconds of a pair of clouds
_STEPS, _COMPONENTS, _CLOUDS = 125, 4, 0.1
_TOKENS_PER_CLUSTER = 10
_NUMBER = 7.6  # bytes of a singular value in a compressed file
_VECTORS = 6  # times the cube of a matrix: its eigenvalues with their vectors


@dataclass(frozen=True)
class Work:
    """What a measure takes.

    Attributes:
        products: operations in products of matrices.
        decompositions: operations in decompositions.
        seconds: seconds of everything else.
        reading: seconds to read states from a store and to convert them.
        numbers: numbers written.
    """

    products: float = 0.0
    decompositions: float = 0.0
    seconds: float = 0.0
    reading: float = 0.0
    numbers: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(*(mine + others for mine, others in zip(astuple(self), astuple(other), strict=True)))

    def times(self, number: float) -> "Work":
        """The same so many times."""
        return Work(*(part * number for part in astuple(self)))

    def seconds_on_a_core(self, gigaflops: float) -> float:
        """Seconds of one job, with the start of its process, at so many 10⁹ operations in a second."""
        return STARTUP + self.seconds + self.reading + (self.products + _SLOWER * self.decompositions) / gigaflops / 1e9


def written_bytes(work: Work) -> int:
    """Bytes of the singular values in compressed files."""
    return round(_NUMBER * work.numbers)


def spectra_work(lengths: np.ndarray, width: int, views: Sequence[str]) -> Work:
    """Singular values of reviews at one point.

    Of a review with n tokens, no more than the width d: one product of n² d operations, since it is symmetric, for all
    looks, and 4/3 n³ for the tridiagonal form of each. With more tokens: for each look a product of n d², and 4/3 d³.

    Args:
        lengths: Tokens of each review.
        width: Width of the residual stream.
        views: Names of `homogenization.measures.views.VIEWS`.
    """
    looks = len({look_of(view)[0].name for view in views})
    n = lengths.astype(float)
    small = np.minimum(n, width)
    products = np.where(n <= width, n**2 * width, looks * n * width**2)
    return Work(
        products.sum(),
        looks * (4 / 3 * small**3).sum(),
        (_EIGENVALUES * len(views) * small**2).sum(),
        (_SPECTRA * n * width + _SPECTRA_CALL).sum(),
        len(views) * small.sum(),
    )


def geometry_work(lengths: np.ndarray, width: int) -> Work:
    """Cosines of reviews at one point: a symmetric product of n² d operations each, and passes over the pairs."""
    n = lengths.astype(float)
    reading = (_GEOMETRY * n * width + _GEOMETRY_CALL).sum()
    return Work((n**2 * width).sum(), 0.0, (_PAIRS * n**2).sum(), reading)


def common_length_work(lengths: np.ndarray, width: int, n_tokens: int, views: Sequence[str]) -> Work:
    """Singular values and geometry of draws of `n_tokens` tokens of each review that has so many, at one point."""
    drawn = np.full(_DRAWS * int((lengths >= n_tokens).sum()), n_tokens)
    return spectra_work(drawn, width, views) + geometry_work(drawn, width)


def pooled_work(n_reviews: int, n_tokens: int, width: int) -> Work:
    """Pooled tokens of a job at one point: symmetric products of the width, and eigenvalues of two of them.

    The tokens other than the first of a review make one product, the first ones another: n d² operations each. The
    eigenvalues of a matrix take 4/3 d³. The distribution of cosines takes passes over the pairs of 1,024 tokens, twice.
    """
    paired = np.array([min(1024, n_tokens)] * 2)
    cosines = geometry_work(paired, width)
    reading = _POOLED * n_tokens * width + _POOLED_POINT
    return Work(n_tokens * width**2, 8 / 3 * width**3, 2 * _EIGENVALUES * width**2, reading, 2 * width) + cosines


def mauve_work(n_tokens: int, width: int, most: int) -> Work:
    """MAUVE of two halves of the tokens of a job, once: components, and clusters. float32, which is twice as fast.

    Args:
        n_tokens: Tokens of the job.
        width: Width of the residual stream.
        most: Largest number of tokens in a half.
    """
    half = min(most, n_tokens // 2)
    rows, small = 2 * half, min(2 * half, width)
    components = small / _COMPONENTS
    # squared distances to the centres in each step
    products = rows * width * small + 2 * rows * max(2, round(half / _TOKENS_PER_CLUSTER)) * components * _STEPS
    # with vectors, half of the operations of a decomposition are products
    return Work((products + _VECTORS * small**3) / 2, 0.0, _CLOUDS)


def component_work(lengths: np.ndarray, width: int) -> Work:
    """Components of reviews at one point: a symmetric product of n² d operations each, and passes over the pairs."""
    n = lengths.astype(float)
    return Work((n**2 * width).sum(), 0.0, (_ALIGNED_PAIRS * n**2 + _ALIGNED_CALL).sum(), (_SPECTRA * n * width).sum())


def component_seconds(
    architecture: Architecture, lengths: np.ndarray, on_cpu: bool, hardware: Mapping[str, float]
) -> float:
    """Seconds of what is measured of components between passes: norms, cosines, and the largest eigenvalue of 4 views.

    On the CPU, on one core. A GPU makes the products, without regard to their symmetry; meanwhile all cores but one,
    which hands the reviews on, do the rest.
    """
    points = architecture.n_blocks * architecture.n_points
    work = component_work(lengths, architecture.width).times(points)
    if on_cpu:
        return work.seconds_on_a_core(hardware["core_gflops"]) - STARTUP
    on_gpu = 2 * work.products / hardware["gpu_float64_tflops"] / 1e12
    return max(on_gpu, work.seconds / max(1, hardware["cores"] - 1), HANDED_ON * len(lengths) * points)


def mauve_on_gpu(n_tokens: int, width: int, most: int) -> tuple[Work, Work]:
    """MAUVE of two halves of the tokens of a job, once, in float64: on a GPU, and on a core beside it.

    The GPU finds half as many dimensions in four products with the scatter or the Gram matrix, whichever is smaller,
    makes them orthonormal five times, and clusters. The core decomposes the matrix of these dimensions.
    """
    half = min(most, n_tokens // 2)
    rows, small = 2 * half, min(2 * half, width)
    space, components = small // 2, small / _COMPONENTS
    # 4 products, and those in the space; 5 Gram matrices
    products = 2 * rows * width * small + 5 * 2 * small**2 * space + 6 * 2 * small * space**2
    # distances and centres of a step; all starts go on until the slowest has ended
    clusters = 2 * 2 * rows * max(2, round(half / _TOKENS_PER_CLUSTER)) * components * 2 * _STEPS
    factors = 5 * (space**3 / 3 + small * space**2)
    return Work(products + clusters, factors), Work(_VECTORS * space**3 / 2)
