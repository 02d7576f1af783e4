"""The views: the ways of looking at a review's token matrix before its spectrum is taken.

A view is {all tokens | without the first token} x {as is | centred | unit rows}. One token can decide the outcome: the
first token's norm is often 10^2 to 10^3 times the others'. It is dropped before anything else is done. To add a look
(`raw`, `centred` and `unit` are looks, and each makes two views), write one function from the token matrix to the
look's rows and decorate it with `look`.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from homogenization.metrics.cosines import unit_rows
from homogenization.metrics.geometry import TokenMatrix
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST

_WITHOUT_FIRST = f"_{WITHOUT_FIRST}"
# metrics that are not spectral have views of their own, which stand in the rows of the tokens as they are
ROWS_OF = {ALL_TOKENS: "raw", WITHOUT_FIRST: f"raw{_WITHOUT_FIRST}"}
TOKENS_OF = {rows: view for view, rows in ROWS_OF.items()}

Rows = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Look:
    """One way of looking at a token matrix, with or without its first token, and its name for readers.

    Attributes:
        rows: (n, d) float64 tokens -> (n, d) float64, n >= 0.
        sums_to_zero: whether the rows of any tokens sum to 0, so that at most n - 1 of n rows are independent.
        gram: (n, n) matrix with the eigenvalues of the inner products of the rows of n > 1 tokens, which without its
            first row and column has those of the tokens after the first; None for a look that has no such matrix.
    """

    title: str
    rows: Rows
    sums_to_zero: bool = False
    gram: Callable[[TokenMatrix], np.ndarray] | None = None

    def largest_rank(self, n: int, width: int) -> int:
        """The largest rank that the rows of n tokens, n >= 0, can have."""
        return min(max(n - self.sums_to_zero, 0), width)


_LOOKS: dict[str, Look] = {}


def look(title: str, **described: Any) -> Callable[[Rows], Rows]:
    """Register the decorated function as the `rows` of a `Look` of its name, with further fields."""

    def register(rows: Rows) -> Rows:
        _LOOKS[rows.__name__] = Look(title, rows, **described)
        return rows

    return register


def look_of(view: str) -> tuple[Look, bool]:
    """The look of a view, and whether the view leaves the first token out."""
    return _LOOKS[view.removesuffix(_WITHOUT_FIRST)], view.endswith(_WITHOUT_FIRST)


def view_rows(view: str, tokens: np.ndarray) -> np.ndarray:
    """The rows of a view of (n, d) tokens of any float type: float64 (n, d), or (n - 1, d) without the first token."""
    chosen, without_first = look_of(view)
    return chosen.rows(np.asarray(tokens[int(without_first) :], dtype=np.float64))


@look("as is", gram=lambda tokens: tokens.gram)
def raw(tokens: np.ndarray) -> np.ndarray:
    """The tokens as they are."""
    return tokens


def _scatter(tokens: TokenMatrix) -> np.ndarray:
    """Inner products around the mean of the tokens after the first: of the scatter, the first adds (n - 1) / n of its.

    (Welford 1962)
    """
    around = tokens.rows - tokens.rows[1:].mean(axis=0)
    around[0] *= np.sqrt(1 - 1 / len(around))
    return around @ around.T


@look("centred", sums_to_zero=True, gram=_scatter)
def centred(tokens: np.ndarray) -> np.ndarray:
    """The tokens minus their mean."""
    return tokens - tokens.mean(axis=0) if len(tokens) else tokens


@look("unit rows", gram=lambda tokens: tokens.cosines)
def unit(tokens: np.ndarray) -> np.ndarray:
    """The tokens scaled to length 1; zero tokens stay zero."""
    return unit_rows(tokens)


VIEWS = (*_LOOKS, *(name + _WITHOUT_FIRST for name in _LOOKS))
