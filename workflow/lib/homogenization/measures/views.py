"""The views: the ways of looking at a review's token matrix before its spectrum is taken.

A view is {all tokens | without the first token} x {as is | centred | unit rows}. Papers disagree because they choose
differently, and one token can decide the outcome: the first token's norm is often 10^2 to 10^3 times the others'.
Centring and normalising are never combined: centring first leaks the first token into every row. The first token is
dropped before anything else is done.

To add a look (`raw`, `centred` and `unit` are looks, and each makes two views), write one function from the token
matrix to the look's rows and decorate it with `look`. Say so if the rows sum to 0 (`sums_to_zero`), which bounds their
rank; the other arguments of `look` only save time.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from homogenization.metrics.cosines import inverse, norms, unit_rows

_WITHOUT_FIRST = "_without_first"
# Above this ratio of the subtracted mean to a token's norm, undoing the subtraction would cost that token precision.
_MAX_SHIFT = 4.0

Rows = Callable[[np.ndarray], np.ndarray]


class TokenGram:
    """Inner products between the tokens of one review; those of all looks follow from one matrix product.

    The product is taken after the mean of all tokens but the first is subtracted. Everything else follows by adding
    the mean back or by scaling rows. These steps cancel nothing, whereas centring a product of uncentred rows loses
    (mean / spread)^2 of the precision. Each number is computed once, when it is asked for.

    Attributes:
        tokens: (n, d) float64, n >= 1.
    """

    def __init__(self, tokens: np.ndarray) -> None:
        self.tokens = tokens

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tokens, and width."""
        return self.tokens.shape

    @cached_property
    def mean(self) -> np.ndarray:
        """(d,) mean of all tokens but the first."""
        return _mean_without_first(self.tokens)

    @cached_property
    def square(self) -> float:
        """Squared length of `mean`."""
        return (self.mean * self.mean).sum()

    @cached_property
    def norms(self) -> np.ndarray:
        """(n,) Euclidean norms of the tokens."""
        return norms(self.tokens)

    @cached_property
    def shifted(self) -> np.ndarray:
        """(n, n) inner products of the tokens minus the mean of all but the first."""
        rows = self.tokens - self.mean
        return rows @ rows.T  # numpy sees a symmetric product and does half the work

    @cached_property
    def along_mean(self) -> np.ndarray:
        """(n,) inner products of the tokens with `mean`, less half of its `square`."""
        return self.tokens @ self.mean - self.square / 2

    @property
    def shifts_too_far(self) -> bool:
        """Whether undoing the subtraction of the mean would cost the shortest token precision."""
        return bool(np.sqrt(self.square) > _MAX_SHIFT * self.norms.min())

    @cached_property
    def raw(self) -> np.ndarray:
        """(n, n) inner products of the tokens as they are."""
        if self.shifts_too_far:
            return self.tokens @ self.tokens.T
        return self.shifted + (self.along_mean + self.along_mean[:, None])

    @cached_property
    def centred(self) -> np.ndarray:
        """(n, n) inner products of the tokens minus the mean of all."""
        n, first = len(self.shifted), self.shifted[0]
        part = first / n - first[0] / (2 * n * n)  # the mean of all lies 1/n of the way from the others' to the first
        return self.shifted - (part + part[:, None])

    @cached_property
    def cosines(self) -> np.ndarray:
        """(n, n) cosines of the tokens; those of a zero token are 0."""
        scale = inverse(self.norms)
        return self.raw * scale * scale[:, None]

    @cached_property
    def resultants(self) -> tuple[float, float]:
        """Lengths of the sum of the tokens scaled to length 1: of all, and of all but the first."""
        scale = inverse(self.norms)
        rest = scale[1:] @ self.tokens[1:]
        of_all = rest + scale[0] * self.tokens[0]
        return norms(of_all), norms(rest)


@dataclass(frozen=True)
class Look:
    """One way of looking at a token matrix, with or without its first token.

    Attributes:
        name: name of the view of all tokens; the view without the first one adds `_without_first`.
        title: name for readers.
        rows: the definition, (n, d) float64 tokens -> (n, d) float64, n >= 0.
        nested: tokens, n >= 1 -> (n, d) rows with the singular values of `rows(tokens)`; without their first row, they
            have those of `rows(tokens[1:])` (zeros apart). None where there are no such rows.
        gram: `nested(tokens) @ nested(tokens).T` from the review's `TokenGram`; None where it can't give them.
        sums_to_zero: whether the rows of any tokens sum to 0, so that at most n - 1 of n rows are independent.
    """

    name: str
    title: str
    rows: Rows
    nested: Rows | None = None
    gram: Callable[[TokenGram], np.ndarray] | None = None
    sums_to_zero: bool = False

    def largest_rank(self, n: int, width: int) -> int:
        """The largest rank that the rows of n tokens, n >= 0, can have."""
        return min(max(n - self.sums_to_zero, 0), width)


_LOOKS: dict[str, Look] = {}


def look(name: str, title: str, rowwise: bool = False, **described: Any) -> Callable[[Rows], Rows]:
    """Register the decorated function as the `rows` of a `Look`, which has the further fields that are `described`.

    `rowwise` rows are their own `nested`.
    """

    def register(rows: Rows) -> Rows:
        _LOOKS[name] = Look(name, title, rows, **({"nested": rows} if rowwise else {}), **described)
        return rows

    return register


def look_of(view: str) -> tuple[Look, bool]:
    """The look of a view, and whether the view leaves the first token out."""
    return _LOOKS[view.removesuffix(_WITHOUT_FIRST)], view.endswith(_WITHOUT_FIRST)


def view_rows(view: str, tokens: np.ndarray) -> np.ndarray:
    """The rows of a view, by its definition.

    Args:
        view: a name of `VIEWS`.
        tokens: (n, d) float64.

    Returns:
        (n, d) float64, or (n - 1, d) without the first token.
    """
    chosen, without_first = look_of(view)
    return chosen.rows(tokens[1:] if without_first else tokens)


def _mean_without_first(tokens: np.ndarray) -> np.ndarray:
    """(d,) mean of all tokens (n, d) but the first; zero where there is only one."""
    return tokens[1:].sum(axis=0) / max(len(tokens) - 1, 1)


def _centred_nested(tokens: np.ndarray) -> np.ndarray:
    """The rows sqrt((n-1)/n) (first token - m) and (other tokens - m), m the mean of the others.

    They have the singular values of the centred tokens HX, H = 1 - 11'/n, because X'HX is the scatter of the others
    about m plus (n-1)/n times the outer product of (first token - m). A massive first token stays in one row, where
    it spoils no precision of the others.
    """
    rows = tokens - _mean_without_first(tokens)
    rows[0] *= np.sqrt(1 - 1 / len(tokens))
    return rows


def _centred_gram(gram: TokenGram) -> np.ndarray:
    products = gram.shifted.copy()
    scale = np.sqrt(1 - 1 / len(products))
    products[0] *= scale
    products[:, 0] *= scale
    return products


@look("raw", "as is", rowwise=True, gram=lambda gram: gram.raw)
def raw(tokens: np.ndarray) -> np.ndarray:
    """The tokens as they are."""
    return tokens


@look("centred", "centred", nested=_centred_nested, gram=_centred_gram, sums_to_zero=True)
def centred(tokens: np.ndarray) -> np.ndarray:
    """The tokens minus their mean."""
    return tokens - tokens.mean(axis=0) if len(tokens) else tokens


@look("unit", "unit rows", rowwise=True, gram=lambda gram: gram.cosines)
def unit(tokens: np.ndarray) -> np.ndarray:
    """The tokens scaled to length 1; zero tokens stay zero."""
    return unit_rows(tokens)


VIEWS = (*_LOOKS, *(name + _WITHOUT_FIRST for name in _LOOKS))
