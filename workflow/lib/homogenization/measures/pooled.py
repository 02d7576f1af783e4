"""Singular values and cosines of the tokens of all reviews of a shard together, centred by their common mean.

Some papers pool tokens over texts before they measure how alike they are. This is the anisotropy of a cloud of tokens,
whatever text they are from; the measures of single reviews ask how alike the tokens of one text are.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from homogenization.measures.geometry import token_geometry
from homogenization.measures.reviews import Each, TokenMeasure, measured_table
from homogenization.measures.views import look_of
from homogenization.metrics.cosines import mean_of_pairs, unit_rows
from homogenization.metrics.gram import roots_of, symmetric_eigenvalues
from homogenization.names.columns import columns
from homogenization.names.points import FINAL_NORM, RESIDUAL_STREAM
from homogenization.run.errors import HomogenizationError
from homogenization.states.stream import OVERFLOW, Block, TokenStates

_BLOCK_TOKENS = 4096
COSINE_BINS = 40
_PAIRED_TOKENS = 1024  # all pairs of a shard are too many for a histogram
RAW, CENTRED = "pooled", "pooled_centred"
_WITHOUT_FIRST = "_without_first"

#: A row for each layer, point and view.
POOLED_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    "view": pl.String,  #: as in `pooled.parquet`
    "n_tokens": pl.Int64,  #: tokens of all reviews
    "width": pl.Int64,  #: of the residual stream
    "cosine_anisotropy": pl.Float64,  #: mean cosine of pairs
    "cosine_std": pl.Float64,  #: standard deviation of the cosines; NaN in the views without `centred`
    "cosine_histogram": pl.List(pl.Int64),  #: pairs in equal bins on [−1, 1]; empty in the views without `centred`
    "singular_values": pl.List(pl.Float64),  #: descending; empty in the views without `centred`
}
# tokens, which of them are the first of a review, which are drawn for the distribution of cosines
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class Pooled(TokenMeasure):
    """Pooled tokens at every point and layer: the table `POOLED_SCHEMA` of one job.

    Views are `pooled` (tokens as they are) and `pooled_centred` (minus the mean of all tokens of the view), each with
    all tokens and, as `..._without_first`, without the first token of each review. Cosine anisotropy is the mean
    cosine over all pairs of tokens of the shard. Singular values, and the distribution of the cosines (standard
    deviation and histogram), are of the centred views alone; the latter is over the pairs of 1,024 tokens
    drawn at random, the same at every layer. A view of fewer than two tokens has no row.

    Args:
        states: states of one shard.

    Raises:
        HomogenizationError: states that are not finite.
    """

    schemas = (POOLED_SCHEMA,)

    def __init__(self, states: TokenStates) -> None:
        self.states = states
        self.rows = np.arange(int(states.review_offsets[-1]))
        self._sums: dict[tuple[str, int], Sums] | None = None

    def walks(self) -> tuple["_Walk", "_Walk"]:
        """The walk for the means, and the one for the sums around them."""
        is_first, is_drawn = marks(self.states)
        means: dict[tuple[str, int], Means] = {}
        sums = self._sums = {}

        def add_to_means(place: tuple[str, int], tokens: Any, part: slice) -> None:
            means.setdefault(place, Means()).add(tokens, is_first[part])

        def add_to_sums(place: tuple[str, int], tokens: Any, part: slice) -> None:
            if means[place].n_tokens > 1:
                sums.setdefault(place, Sums(means[place])).add(tokens, is_first[part], is_drawn[part])

        return _Walk(add_to_means), _Walk(add_to_sums)

    def tables(self, each: Each) -> tuple[pl.DataFrame]:
        """The table; singular values and cosines of a view are one piece of the work that `each` shares out."""
        places: deque[dict[str, Any]] = deque()

        def clouds() -> Iterator[_Cloud]:
            for point, layer, of_point in self._sums_of_points():
                for cloud in of_point.clouds():
                    places.append({"shard": self.states.attributes["shard"], "layer": layer, "point": point})
                    yield cloud

        rows = ({**places.popleft(), **columns_of_cloud} for columns_of_cloud in each(_measured, clouds()))
        return (measured_table(rows, self.states, POOLED_SCHEMA),)

    def _sums_of_points(self) -> Iterator[tuple[str, int, "Sums"]]:
        if self._sums is None:
            yield from _sums_of_points(self.states)
            return
        for place in list(self._sums):  # one point after another gives back what it holds of the device's memory
            yield *place, self._sums.pop(place)


class _Walk:
    """A consumer of all tokens, each once at every point, as float64 where they lie: on CUDA, or as arrays of numpy."""

    def __init__(self, take: Callable[[tuple[str, int], Any, slice], None]) -> None:
        self._take = take
        self._taken: Counter[tuple[str, int]] = Counter()

    def add(self, block: Block) -> None:
        """Take the tokens that have not come before."""
        place = block.point, block.layer
        start = self._taken[place]
        if block.start > start:
            raise RuntimeError(f"{place}: the states of tokens {start} to {block.start} were left out")
        states = block.states[start - block.start :]
        if len(states):
            tokens = states.double() if states.is_cuda else states.float().cpu().numpy().astype(np.float64)
            self._take(place, tokens, slice(start, start + len(states)))
            self._taken[place] += len(states)


def _sums_of_points(store: TokenStates) -> Iterator[tuple[str, int, "Sums"]]:
    is_first, is_drawn = marks(store)
    points = [(RESIDUAL_STREAM, layer, partial(store.residual_stream, layer)) for layer in store.layers]
    if len(is_first) and store.final_norm(slice(0, 1)) is not None:
        points.append((FINAL_NORM, store.n_blocks, store.final_norm))
    for point, layer, read in points:
        blocks = partial(_blocks, read, is_first, is_drawn, f"{point}, layer {layer}")
        if (sums := _sums(blocks)) is not None:
            yield point, layer, sums
        print(f"{point}, layer {layer}: {len(is_first)} tokens", flush=True)


def marks(states: TokenStates) -> tuple[np.ndarray, np.ndarray]:
    """Whether each token of a shard is the first of its review, and whether its cosines are counted, bool (tokens,)."""
    is_first = np.zeros(int(states.review_offsets[-1]), dtype=bool)
    is_first[states.review_offsets[:-1]] = True
    is_drawn = np.zeros(len(is_first), dtype=bool)
    is_drawn[np.random.default_rng(0).permutation(len(is_first))[:_PAIRED_TOKENS]] = True
    return is_first, is_drawn


def _blocks(
    read: Callable[[slice], np.ndarray], is_first: np.ndarray, is_drawn: np.ndarray, where: str
) -> Iterator[Part]:
    """Yield the tokens in parts: float64 (n, width), bool (n,), bool (n,)."""
    for start in range(0, len(is_first), _BLOCK_TOKENS):
        block = slice(start, min(start + _BLOCK_TOKENS, len(is_first)))
        tokens = read(block).astype(np.float64)
        if not np.isfinite(tokens).all():
            raise HomogenizationError(f"{where}: states that are not finite. {OVERFLOW}")
        yield tokens, is_first[block], is_drawn[block]


def pooled(blocks: Callable[[], Iterator[Part]]) -> Iterator[dict[str, Any]]:
    """Yield the columns from view on, of each view of pooled tokens.

    Args:
        blocks: function that begins a walk over the tokens; there are two.
    """
    sums = _sums(blocks)
    return map(_measured, () if sums is None else sums.clouds())


def _sums(blocks: Callable[[], Iterator[Part]]) -> "Sums | None":
    """The sums of two walks over the tokens; None where there are fewer than two."""
    means = Means()
    for tokens, is_first, _ in blocks():
        means.add(tokens, is_first)
    if means.n_tokens < 2:
        return None
    sums = Sums(means)
    for block in blocks():
        sums.add(*block)
    return sums


class Means:
    """The first walk over pooled tokens, for their means.

    Like `Sums`, it takes arrays of numpy or tensors of torch, float64, and adds them up where they lie. A part counts
    as a whole or, where memory runs out, not at all.
    """

    def __init__(self) -> None:
        self._firsts: list[np.ndarray] = []
        self._sum_of_others: Any = 0.0
        self.n_others = 0

    def add(self, tokens: Any, is_first: np.ndarray) -> None:
        """Add tokens (n, width), and whether each is the first of a review, bool (n,)."""
        first, others = _on_host(_chosen(tokens, is_first)), _chosen(tokens, ~is_first)
        self._sum_of_others = self._sum_of_others + others.sum(axis=0)
        self._firsts.append(first)
        self.n_others += len(others)

    @cached_property
    def first(self) -> np.ndarray:
        """(reviews, width) first tokens."""
        return np.concatenate(self._firsts) if self._firsts else np.empty((0, 0))

    @property
    def n_tokens(self) -> int:
        """Tokens of all reviews."""
        return self.n_others + len(self.first)

    @cached_property
    def of_others(self) -> np.ndarray:
        """(width,) mean of the tokens that are not the first of a review."""
        return _on_host(self._sum_of_others) / max(self.n_others, 1)

    @cached_property
    def of_all(self) -> np.ndarray:
        """(width,) mean of all tokens."""
        return (_on_host(self._sum_of_others) + self.first.sum(axis=0)) / self.n_tokens


class Sums:
    """The second walk, for a Gram matrix (width, width) of the centred tokens other than the first, and directions.

    The Gram matrix of all tokens follows from it by sums of squares alone, in which nothing cancels: with m and m' the
    means of all and of the other n' tokens, it is Gram' + n' (m' - m)(m' - m)^T + the products of the first tokens - m.
    """

    def __init__(self, means: Means) -> None:
        """Take the result of the first walk, over at least two tokens."""
        self._means = means
        width = means.first.shape[1]
        self._gram: Any = np.zeros((width, width))
        self._directions: dict[str, tuple[Any, Any]] = dict.fromkeys(_views(), (0.0, 0))
        self._drawn: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, tokens: Any, is_first: np.ndarray, is_drawn: np.ndarray) -> None:
        """Add tokens (n, width), whether each is the first of a review, and whether its cosines count, bool (n,)."""
        mean, mean_of_others = (_like(tokens, of) for of in (self._means.of_all, self._means.of_others))
        others = _chosen(tokens, ~is_first)
        centred = others - mean_of_others
        if not isinstance(tokens, np.ndarray) and isinstance(self._gram, np.ndarray):
            self._gram = _like(tokens, self._gram)
        added = {
            RAW: _directions(tokens),
            RAW + _WITHOUT_FIRST: _directions(others),
            CENTRED: _directions(tokens - mean),
            CENTRED + _WITHOUT_FIRST: _directions(centred),
        }
        drawn = _on_host(_chosen(tokens, is_drawn)), is_first[is_drawn]
        product = centred.T @ centred
        # from here on nothing asks for memory of a device
        self._gram += product
        for view, (total, n_directed) in added.items():
            total_before, n_before = self._directions[view]
            self._directions[view] = total_before + total, n_before + n_directed
        self._drawn.append(drawn)

    def clouds(self) -> Iterator["_Cloud"]:
        """What is measured of each view with at least two tokens, in main memory."""
        means, gram = self._means, _on_host(self._gram)
        n_others, n_tokens, width = means.n_others, means.n_tokens, len(gram)
        shift, of_first = means.of_others - means.of_all, means.first - means.of_all
        grams = {
            CENTRED: gram + n_others * np.outer(shift, shift) + of_first.T @ of_first,
            CENTRED + _WITHOUT_FIRST: gram,
        }
        rows, rows_first = (np.concatenate(parts) for parts in zip(*self._drawn, strict=True))
        chosen = {CENTRED: rows - means.of_all, CENTRED + _WITHOUT_FIRST: rows[~rows_first] - means.of_others}
        for view in _views():
            n = n_others if view.endswith(_WITHOUT_FIRST) else n_tokens
            if n < 2:
                continue
            total, n_directed = map(_on_host, self._directions[view])
            mean_cosine = float(mean_of_pairs(total @ total, n_directed, n))
            yield _Cloud(view, n, width, mean_cosine, grams.get(view), chosen.get(view, rows[:0]))


@dataclass(frozen=True)
class _Cloud:
    """What is measured of one view of pooled tokens.

    Attributes:
        view: the view.
        n_tokens: its tokens.
        width: width of the residual stream.
        mean_cosine: of all pairs of tokens.
        gram: (width, width) of centred tokens; None for views that are not centred.
        drawn: (at most 1,024, width) tokens for the distribution of cosines; none for views that are not centred.
    """

    view: str
    n_tokens: int
    width: int
    mean_cosine: float
    gram: np.ndarray | None
    drawn: np.ndarray


def _measured(cloud: _Cloud) -> dict[str, Any]:
    """The columns from view on; in a worker."""
    n_values = look_of("centred")[0].largest_rank(cloud.n_tokens, cloud.width)
    return {
        "view": cloud.view,
        "n_tokens": cloud.n_tokens,
        "width": cloud.width,
        "cosine_anisotropy": cloud.mean_cosine,
        **_distribution(cloud.drawn),
        "singular_values": [] if cloud.gram is None else roots_of(symmetric_eigenvalues(cloud.gram))[:n_values],
    }


def _on_host(values: Any) -> np.ndarray:
    """An array of numpy, from one (or a number) or from a tensor of torch."""
    return np.asanyarray(values.cpu() if hasattr(values, "cpu") else values)


def _chosen(tokens: Any, mask: np.ndarray) -> Any:
    """The tokens (n, width) for which `mask`, bool (n,), is true."""
    return tokens[mask if isinstance(tokens, np.ndarray) else tokens.new_tensor(np.flatnonzero(mask)).long()]


def _like(tokens: Any, values: np.ndarray) -> Any:
    """`values` as what `tokens` are, and where they lie."""
    return values if isinstance(tokens, np.ndarray) else tokens.new_tensor(values)


def _distribution(tokens: np.ndarray) -> dict[str, Any]:
    """Standard deviation and histogram of the cosines of all pairs; NaN and an empty list without a pair."""
    if len(tokens) < 2:
        return {"cosine_std": np.nan, "cosine_histogram": []}
    geometry = token_geometry(tokens, COSINE_BINS)
    return {name: geometry[name] for name in ("cosine_std", "cosine_histogram")}


def _views() -> list[str]:
    return [base + suffix for base in (RAW, CENTRED) for suffix in ("", _WITHOUT_FIRST)]


def _directions(tokens: Any) -> tuple[Any, Any]:
    """Of tokens (n, width): the sum of their unit vectors, and the number of those that are not zero."""
    units = unit_rows(tokens)
    return units.sum(0), (units != 0).any(1).sum()
