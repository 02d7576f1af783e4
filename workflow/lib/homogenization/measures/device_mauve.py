"""MAUVE on a device: products of matrices there, and eigenvectors of small matrices on the CPU.

What is computed is that of `measures.mauve`, from the same drawn tokens and the same first centres. The components with
90 % of the variance are taken from a subspace of half as many dimensions as there are tokens, which a few products with
their Gram matrix find (subspace iteration; Halko et al. 2011): its eigenvectors take an eighth of the time of all.
Where it holds too little of the variance, all are computed. Seeds, and the starts of their k-means, go through each
product together: fewer seeds where memory runs out, and if one is too many, `measures.mauve` computes what is left.
Rounding differs from the CPU's, so that k-means can end in another of its optima; and a cluster that loses all its
tokens keeps its centre.
"""

import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch

from homogenization.measures.mauve import (
    EXPLAINED_VARIANCE,
    MAX_ITERATIONS,
    Clouds,
    Halves,
    Layer,
    clouds_of,
    drawn_centres,
    hash_weights,
    hashes,
    leading_components,
    mauve,
    values_on_cpu,
)
from homogenization.measures.reviews import Each
from homogenization.models.devices import ran_out_of_memory
from homogenization.states.held import HeldStates

_FAST_IN_FLOAT64 = {(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)}  # compute capabilities: P100, V100, A100, H100, B200
_STEPS = 4  # of subspace iteration
_HELD_VARIANCE = 0.95  # of a subspace whose components count; less, and all components are computed
_SHIFT = 1e-13  # of the trace; with it, a Gram matrix of any columns has a Cholesky factor
_BYTES = 4e9  # of the pairs of clouds that go through products together

logger = logging.getLogger(__name__)


def is_fast(device: torch.device) -> bool:
    """Whether MAUVE is computed on `device`: a CUDA device with units for float64, which few have."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) in _FAST_IN_FLOAT64


@dataclass(frozen=True)
class _Space:
    """Where the components of pairs of clouds are sought.

    Attributes:
        rows: (pairs, 2 m, d) float32, centred.
        basis: (pairs, r, s) float64, orthonormal columns; r is 2 m, or d where that is not larger.
        is_held: (pairs,) bool, whether the basis holds enough of the variance.
        problems: by pair, the matrix in whose leading eigenvectors the components are, float32, and the variance.
    """

    rows: torch.Tensor
    basis: torch.Tensor
    is_held: np.ndarray
    problems: Sequence[tuple[np.ndarray, float]]


def values(
    states: HeldStates, device: torch.device, each: Each, halves: Halves, n_clusters: int, scale: float
) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield what tells a pair of clouds apart (`layer_from`, `layer_to`, `kind`, `seed`), and its MAUVE.

    Where memory runs out, half as many seeds go together from there on. If one alone does not fit, the pairs that are
    left are computed on the CPU. Pairs that are done are not computed again.

    Args:
        states: states that are held, those of the drawn tokens among them.
        device: device that computes.
        each: calls a function of each of many arguments, as `map` does; here for eigenvectors, on the CPU.
        halves: drawn tokens by seed.
        n_clusters: clusters of a pair.
        scale: scaling factor c of the divergences.

    Raises:
        HomogenizationError: states that are not finite.
    """
    done: set[tuple[Any, ...]] = set()
    together = _together(states, halves)
    _release(device)
    while together:
        try:
            for names, value in _on_device(states, device, each, halves, n_clusters, scale, together, done):
                done.add(tuple(names.values()))
                yield names, value
            return
        except RuntimeError as error:
            if not ran_out_of_memory(error):
                raise
            logger.info("%s", str(error))  # text only: a record with the error would keep the tensors of its frames
        _release(device)
        together //= 2
        logger.warning(
            "MAUVE: %s ran out of memory, and %s; from here on %s",
            device,
            f"{torch.cuda.mem_get_info(device)[0] / 2**30:.1f} GiB are free" if device.type == "cuda" else "it is full",
            f"{together} seeds go together" if together else "the CPU computes it. Lower mauve.n_tokens to avoid this",
        )
    yield from values_on_cpu(states, halves, n_clusters, scale, each, done)


def _release(device: torch.device) -> None:
    """Give back the memory that torch keeps, here for libraries that take theirs elsewhere."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


def _together(states: HeldStates, halves: Halves) -> int:
    """How many seeds go through products together."""
    (first, _), *_ = halves.values()
    m, width = len(first), states.stored(states.layers[0], first[:1]).shape[1]
    return min(len(halves), max(1, int(_BYTES / (2 * m * (16 * width + 100 * m)))))


def _on_device(
    states: HeldStates,
    device: torch.device,
    each: Each,
    halves: Halves,
    n_clusters: int,
    scale: float,
    together: int,
    done: Collection[tuple[Any, ...]],
) -> Iterator[tuple[dict[str, Any], float]]:
    """The `values` of the pairs of clouds that are not `done`, so many seeds together."""
    waiting: deque[tuple[Clouds, _Space]] = deque()

    def read(layer: int, tokens: np.ndarray) -> Layer:
        rows = states.stored(layer, tokens).to(device).float()
        weights = torch.from_numpy(hash_weights(rows.shape[1])).to(device)
        return rows, hashes(rows.view(torch.int32), weights)

    def problems() -> Iterator[tuple[np.ndarray, float]]:
        for clouds in clouds_of(read, states.layers, halves, together, done):
            space = _space(torch.cat([clouds.first, clouds.second], dim=1))
            waiting.append((clouds, space))
            yield from space.problems

    found = iter(each(_components, problems()))
    for first in found:
        clouds, space = waiting.popleft()
        components = [first, *islice(found, len(clouds.names) - 1)]
        seeds = [names["seed"] for names in clouds.names]
        starts = [list(drawn_centres(*of, n_clusters)) for of in zip(clouds.kinds, seeds, strict=True)]
        labels = k_means(scores(space, components), starts, n_clusters)
        for names, of_names in zip(clouds.names, labels, strict=True):
            yield names, mauve(of_names, n_clusters, scale)


def _space(rows: torch.Tensor) -> _Space:
    """The subspaces of the components of unit rows (pairs, n, d)."""
    tokens = rows.double()
    centred = tokens - tokens.mean(dim=1, keepdim=True)
    products = centred @ centred.mT if centred.shape[1] < centred.shape[2] else centred.mT @ centred
    basis = _leading_space(products)
    inner = basis.mT @ (products @ basis)
    held, variances = torch.stack([_trace(inner), _trace(products)]).cpu().numpy()
    is_held = held >= _HELD_VARIANCE * variances
    inner = inner.float().cpu().numpy()
    matrices = inner if is_held.all() else products.float().cpu().numpy()
    of_pairs = zip(is_held, inner, matrices, variances, strict=True)
    problems = [(small if held else whole, variance) for held, small, whole, variance in of_pairs]
    return _Space(centred.float(), basis, is_held, problems)


def _leading_space(products: torch.Tensor) -> torch.Tensor:
    """(pairs, r, r) symmetric, not negative -> (pairs, r, r // 2) float64 with orthonormal columns."""
    pairs, r, _ = products.shape
    start = np.random.default_rng(0).standard_normal((r, r // 2))
    basis = torch.from_numpy(start).to(products.device).expand(pairs, -1, -1)
    for _ in range(_STEPS):
        basis = _orthonormal(products @ basis)
    return _orthonormal(basis)


def _orthonormal(columns: torch.Tensor) -> torch.Tensor:
    """Columns (pairs, r, s) with the same span, closer to orthonormal; of columns that nearly are so, orthonormal."""
    gram = columns.mT @ columns
    shift = _SHIFT * _trace(gram) + torch.finfo(gram.dtype).tiny
    gram.diagonal(dim1=1, dim2=2).add_(shift[:, None])
    factor, _ = torch.linalg.cholesky_ex(gram)
    return torch.linalg.solve_triangular(factor.mT, columns, upper=True, left=False)


def _trace(matrices: torch.Tensor) -> torch.Tensor:
    return matrices.diagonal(dim1=1, dim2=2).sum(dim=1)


def _components(problem: tuple[np.ndarray, float]) -> tuple[np.ndarray, np.ndarray]:
    """Variances (k,) and eigenvectors (s, k) of the leading components; in a worker."""
    matrix, variance = problem
    variances, vectors = leading_components(matrix, EXPLAINED_VARIANCE, variance)
    return variances, vectors.copy()


def scores(space: _Space, components: Iterable[tuple[np.ndarray, np.ndarray]]) -> torch.Tensor:
    """(pairs, n, k) float32 scores on the components; a pair with fewer than k has zeros in place of the others."""
    of_pairs = []
    parts = zip(space.rows, space.basis, space.is_held, components, strict=True)
    for rows, basis, held, (variances, vectors) in parts:
        found = torch.from_numpy(vectors).to(rows.device)
        found = basis.float() @ found if held else found
        scaled = torch.from_numpy(np.sqrt(variances)).to(rows.device)
        of_pairs.append((found * scaled if len(rows) < rows.shape[1] else rows @ found).T)
    # (k, n) of each, filled up with rows of zeros
    return torch.nn.utils.rnn.pad_sequence(of_pairs, batch_first=True).mT.contiguous()


def k_means(rows: torch.Tensor, starts: Sequence[Sequence[np.ndarray]], n_clusters: int) -> np.ndarray:
    """(pairs, n) cluster of each row of (pairs, n, k), of the best of several starts, as `mauve.clustered` finds them.

    Args:
        rows: scores.
        starts: by pair and start, the rows that are the first centres.
        n_clusters: number of clusters; a start with fewer centres leaves the others empty.
    """
    pairs, n, width = rows.shape
    n_starts = len(starts[0])
    chosen = np.full((pairs, n_starts, n_clusters), -1)
    for place in np.ndindex(pairs, n_starts):
        centres = starts[place[0]][place[1]]
        chosen[(*place, slice(len(centres)))] = centres
    first = torch.from_numpy(chosen.reshape(pairs, -1)).to(rows.device)
    # what is no centre is infinitely far
    far = torch.zeros(first.shape, dtype=rows.dtype, device=rows.device).masked_fill(first < 0, torch.inf)
    centres = rows.gather(1, first.clamp(min=0)[:, :, None].expand(-1, -1, width))
    labels = None
    for _ in range(MAX_ITERATIONS + 1):
        # squared distances less the squared lengths of the rows
        distances = far[:, None] + centres.square().sum(dim=2)[:, None] - 2 * rows @ centres.mT
        distances = distances.view(pairs, n, n_starts, n_clusters)
        before, labels = labels, distances.argmin(dim=3)
        if before is not None and bool((labels == before).all()):
            break
        members = torch.nn.functional.one_hot(labels, n_clusters).to(rows.dtype).view(pairs, n, -1)
        sizes = members.sum(dim=1)[:, :, None]
        centres = torch.where(sizes > 0, members.mT @ rows / sizes.clamp(min=1), centres)
    inertia = distances.amin(dim=3).sum(dim=1, dtype=torch.float64)
    best = inertia.argmin(dim=1)
    return labels[torch.arange(pairs, device=rows.device), :, best].cpu().numpy()
