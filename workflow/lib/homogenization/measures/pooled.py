"""Singular values and cosines of the tokens of all reviews of a shard together, centred by their common mean.

Some papers pool tokens over texts before they measure how alike they are. This is the anisotropy of a sample of tokens,
whatever text they are from; the measures of single reviews ask how alike the tokens of one text are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
from homogenization.states.stream import Block, TokenStates

_BLOCK_TOKENS = 4096
_PAIRED_TOKENS = 1024  # all pairs of a shard are too many
RAW, CENTRED = "pooled", "pooled_centred"
_WITHOUT_FIRST = "_without_first"
_VIEWS = (RAW, RAW + _WITHOUT_FIRST, CENTRED, CENTRED + _WITHOUT_FIRST)

#: A row for each layer, point and view.
POOLED_SCHEMA = {
    **columns("model", "variant", "shard", "layer", "point", "depth"),
    "view": pl.String,  #: as in `pooled.parquet`
    "n_tokens": pl.Int64,  #: tokens of all reviews
    "width": pl.Int64,  #: of the residual stream
    "cosine_anisotropy": pl.Float64,  #: mean cosine of pairs
    "cosine_std": pl.Float64,  #: standard deviation of the cosines; NaN in the views without `centred`
    "singular_values": pl.List(pl.Float64),  #: descending; empty in the views without `centred`
}
# of a view: what is known of its row; of centred views, their Gram matrix (width, width), and tokens (at most 1,024,
# width) for the spread of cosines
_Sample = tuple[dict[str, Any], np.ndarray | None, np.ndarray | None]


class Pooled(TokenMeasure):
    """Pooled tokens at every point and layer: the table `POOLED_SCHEMA` of one job.

    Views are `pooled` (tokens as they are) and `pooled_centred` (minus the mean of all tokens of the view), each with
    all tokens and, as `..._without_first`, without the first token of each review. Cosine anisotropy is the mean
    cosine over all pairs of tokens of the shard. Singular values, and the standard deviation of the cosines, are of the
    centred views alone; the latter is over the pairs of 1,024 tokens
    drawn at random, the same at every layer. A view of fewer than two tokens has no row.

    Args:
        states: states of one shard.
    """

    schemas = (POOLED_SCHEMA,)

    def __init__(self, states: TokenStates) -> None:
        self.states = states
        self.rows = np.arange(int(states.review_offsets[-1]))
        self._sums: dict[tuple[str, int], Sums] = {}  # of the points that walks have taken

    def walks(self) -> tuple["_Walk", "_Walk"]:
        """The walk for the means, and the one for the sums around them."""
        # whether each token is the first of its review, and whether its cosines are counted
        is_first, is_drawn = np.zeros((2, len(self.rows)), dtype=bool)
        is_first[self.states.review_offsets[:-1]] = True
        is_drawn[np.random.default_rng(0).permutation(len(is_drawn))[:_PAIRED_TOKENS]] = True
        means: dict[tuple[str, int], Means] = {}
        sums = self._sums

        def add_to_means(place: tuple[str, int], tokens: Any, part: slice) -> None:
            means.setdefault(place, Means()).add(tokens, is_first[part])

        def add_to_sums(place: tuple[str, int], tokens: Any, part: slice) -> None:
            if means[place].n_tokens > 1:
                sums.setdefault(place, Sums(means[place])).add(tokens, is_first[part], is_drawn[part])

        return _Walk(add_to_means), _Walk(add_to_sums)

    def tables(self, each: Each) -> tuple[pl.DataFrame]:
        """The table; singular values and cosines of a view are one piece of the work that `each` shares out."""
        return (measured_table(each(_measured, self._samples()), self.states, POOLED_SCHEMA),)

    def _samples(self) -> Iterator[_Sample]:
        for _ in [None] if self._sums else self._points():
            for point, layer in list(self._sums):  # one point after another gives back the memory of its sums
                place = {"shard": self.states.attributes["shard"], "layer": layer, "point": point}
                yield from self._sums.pop((point, layer)).samples(place)

    def _points(self) -> Iterator[None]:
        """Let both walks take the states of each point of a store, one point after another."""
        states, n_tokens = self.states, len(self.rows)
        if n_tokens < 2:
            return
        points = [(RESIDUAL_STREAM, layer, partial(states.residual_stream, layer)) for layer in states.layers]
        if states.final_norm(slice(0, 1)) is not None:
            points.append((FINAL_NORM, states.n_blocks, states.final_norm))
        for point, layer, read in points:
            for walk in self.walks():
                for start in range(0, n_tokens, _BLOCK_TOKENS):
                    walk.add(Block(point, layer, start, read(slice(start, min(start + _BLOCK_TOKENS, n_tokens)))))
            yield
            print(f"{point}, layer {layer}: {n_tokens} tokens", flush=True)


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
            if isinstance(states, np.ndarray):
                tokens = states.astype(np.float64)
            else:
                tokens = states.double() if states.is_cuda else states.double().numpy()
            self._take(place, tokens, slice(start, start + len(states)))
            self._taken[place] += len(states)


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
        self._directions: dict[str, tuple[Any, Any]] = dict.fromkeys(_VIEWS, (0.0, 0))
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

    def samples(self, place: Mapping[str, Any]) -> Iterator[_Sample]:
        """What is measured at `place` of each view with at least two tokens, in main memory."""
        means, gram = self._means, _on_host(self._gram)
        n_others, n_tokens, width = means.n_others, means.n_tokens, len(gram)
        shift, of_first = means.of_others - means.of_all, means.first - means.of_all
        grams = {
            CENTRED: gram + n_others * np.outer(shift, shift) + of_first.T @ of_first,
            CENTRED + _WITHOUT_FIRST: gram,
        }
        rows, rows_first = (np.concatenate(parts) for parts in zip(*self._drawn, strict=True))
        chosen = {CENTRED: rows - means.of_all, CENTRED + _WITHOUT_FIRST: rows[~rows_first] - means.of_others}
        for view in _VIEWS:
            n = n_others if view.endswith(_WITHOUT_FIRST) else n_tokens
            if n < 2:
                continue
            total, n_directed = map(_on_host, self._directions[view])
            mean_cosine = float(mean_of_pairs(total @ total, n_directed, n))
            row = {**place, "view": view, "n_tokens": n, "width": width, "cosine_anisotropy": mean_cosine}
            yield row, grams.get(view), chosen.get(view)


def _measured(sample: _Sample) -> dict[str, Any]:
    """The row of a view; in a worker."""
    row, gram, drawn = sample
    if gram is None:
        return {**row, "cosine_std": np.nan, "singular_values": []}
    n_values = look_of("centred")[0].largest_rank(row["n_tokens"], row["width"])
    return {
        **row,
        "cosine_std": token_geometry(drawn)["cosine_std"] if len(drawn) > 1 else np.nan,
        "singular_values": roots_of(symmetric_eigenvalues(gram))[:n_values],
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


def _directions(tokens: Any) -> tuple[Any, Any]:
    """Of tokens (n, width): the sum of their unit vectors, and the number of those that are not zero."""
    units = unit_rows(tokens)
    return units.sum(0), (units != 0).any(1).sum()
