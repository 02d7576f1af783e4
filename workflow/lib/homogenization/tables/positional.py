"""How positional the attention of each head is, and the template of each block, from sums by position.

The mean attention of a cell, T, is compared with uniform attention U over the same queries. For exchangeable content
T = (1 - lambda) U + lambda P, so the total variation of T and U is lambda times that of P and U. Estimated from the
reviews that gave T, it would count noise as position: the cells above uniform are chosen on one half of the reviews and
summed on the other, which is a lower bound in expectation.
"""

from collections.abc import Sequence
from itertools import chain, combinations, groupby
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import nnls

from homogenization.measures.positional import CELLS, DICTIONARY, HEAD_SUMS, POSITION_SUMS, UNIFORM, PositionalSums
from homogenization.names.columns import columns, table_of
from homogenization.run.parquet import read_tables, table_metadata

WEIGHTS = tuple(f"weight_{template}" for template in DICTIONARY)
_NUMBERS = ("positional_mass", "total_mass", "ratio", "r2_log", "lambda_dictionary", *WEIGHTS, "null_mass")
#: A row for each model, variant, block and head; sorted by these. It exists if `positional` is configured. All reviews
#: of a variant count, accepted or not. [Causes](causes.md#positional-attention) says what the numbers mean.
POSITIONAL_SCHEMA = {
    **columns("model", "variant", "block", "depth"),
    "head": pl.Int32,  #: from 1
    #: total variation of uniform attention and of the attention that positions predict, cross-fitted; NaN with one
    #: review
    "positional_mass": pl.Float64,
    "total_mass": pl.Float64,  #: total variation of uniform attention and of the attention itself, mean over queries
    "ratio": pl.Float64,  #: `positional_mass` / `total_mass`
    #: share of the variance of log attention within a query that the mean of the cell in the other half of the reviews
    #: explains
    "r2_log": pl.Float64,
    "lambda_dictionary": pl.Float64,  #: 1 − `weight_uniform`
    #: share of the template that gives all attention to `first`: the first token; `second`: the second; `self`: the
    #: query's own token; `previous`: the token before; `next`: the token after, 0 in a causal model; `recency_2`,
    #: `recency_8`, `recency_32`: near tokens, halved with every 2, 8 or 32 tokens of distance; `uniform`: all tokens
    #: alike
    **dict.fromkeys(WEIGHTS, pl.Float64),
    "null_mass": pl.Float64,  #: `positional_mass` with the keys of each query in random order
    "n_reviews": pl.Int64,  #: reviews that were read
}
#: A row for each model, variant, block, query bin and cell of keys that occurs: the attention that positions predict,
#: mean over queries and heads. Attention over uniform attention is the factor by which a place is preferred.
TEMPLATES_SCHEMA = {
    **columns("model", "variant", "block", "depth"),
    "query_bin": pl.Int32,  #: b for the queries 2ᵇ − 1 to 2ᵇ⁺¹ − 2, counted from 0
    #: `key_0`, `key_1`, `distance_0` (the query itself) to `distance_257_up`, and in a bidirectional model `ahead_1` to
    #: `ahead_257_up`
    "cell": pl.String,
    "n_queries": pl.Int64,  #: queries of the bin
    "attention": pl.Float64,  #: mean mass that a query gives to the cell; a bin sums to 1
    "uniform": pl.Float64,  #: the same under uniform attention
}
SCHEMAS = POSITIONAL_SCHEMA, TEMPLATES_SCHEMA


def head_numbers(by_head: np.ndarray, by_position: np.ndarray) -> dict[str, np.ndarray]:
    """The numbers of each head of one block.

    Args:
        by_head: float64 (sums of `HEAD_SUMS`, heads, halves, query bins, cells).
        by_position: float64 (sums of `POSITION_SUMS`, halves, query bins, cells).

    Returns:
        float64 (heads,) each, as `POSITIONAL_SCHEMA` says; NaN where a half has no review with a choice of keys. The
        weights are non-negative least-squares weights of the dictionary, divided by their sum.
    """
    head_sums = dict(zip(HEAD_SUMS, by_head, strict=True))
    expected = dict(zip(POSITION_SUMS, by_position, strict=True))
    uniform = expected[UNIFORM]
    n_queries = uniform.sum(axis=(-2, -1))
    total = _ratio(head_sums["selective"].sum(axis=(1, 2, 3)), n_queries.sum())
    mass = _cross_fitted(head_sums["attention"], uniform)
    weights = np.array([_dictionary_weights(of_head, by_position) for of_head in head_sums["attention"]])
    return {
        "positional_mass": mass,
        "total_mass": total,
        "ratio": _ratio(mass, total),
        "r2_log": _explained(head_sums["log"], head_sums["squared_log"], expected["pairs"]),
        "lambda_dictionary": 1 - weights[:, DICTIONARY.index(UNIFORM)],
        **dict(zip(WEIGHTS, weights.T, strict=True)),
        "null_mass": _cross_fitted(head_sums["permuted"], uniform),
    }


def _ratio(part: Any, whole: Any) -> np.ndarray:
    """The part over the whole, NaN where the whole is 0 or NaN."""
    part, whole = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


def _cross_fitted(attention: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Attention above uniform, (heads,): cells chosen on one half and summed on the other, both ways, per query."""
    n_queries = uniform.sum(axis=(-2, -1))
    if not n_queries.all():
        return np.full(len(attention), np.nan)
    excess = attention - uniform
    above = excess[:, ::-1] > 0
    return np.where(above, excess, 0).sum(axis=(1, 2, 3)) / n_queries.sum()


def _explained(log: np.ndarray, squared: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """1 - (squared errors of the other half's cell means) / (sum of squares), (heads,)."""
    if not pairs.sum(axis=(-2, -1)).all():
        return np.full(len(log), np.nan)
    predicted = np.divide(log, pairs, out=np.zeros_like(log), where=pairs > 0)[:, ::-1]
    errors = squared - 2 * predicted * log + pairs * predicted**2
    return 1 - _ratio(errors.sum(axis=(1, 2, 3)), squared.sum(axis=(1, 2, 3)))


def _dictionary_weights(attention: np.ndarray, by_position: np.ndarray) -> np.ndarray:
    """Weights of the dictionary's templates, summing to 1, that fit a head's attention (halves, query bins, cells).

    The squared error of the mean attention of a cell counts once for each query of its bin.
    """
    sums = by_position[POSITION_SUMS.index(DICTIONARY[0]) :].sum(axis=1)
    n_queries = sums[-1].sum(axis=-1, keepdims=True)
    scale = np.sqrt(np.where(n_queries > 0, n_queries, np.inf))
    templates, seen = (sums / scale).reshape(len(sums), -1).T, (attention.sum(axis=0) / scale).ravel()
    try:
        weights, _ = nnls(templates, seen)
    except RuntimeError:  # it can come back to the same templates again and again
        weights = best_of_all_subsets(templates, seen)
    return _ratio(weights, weights.sum())


def best_of_all_subsets(columns: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The weights >= 0 of (n, k) columns that fit the target (n,) best, from least squares of each of 2^k subsets."""
    best, least = np.zeros(columns.shape[1]), target @ target
    for subset in chain.from_iterable(combinations(range(len(best)), size) for size in range(1, len(best) + 1)):
        chosen = list(subset)
        weights = np.linalg.lstsq(columns[:, chosen], target, rcond=None)[0]
        error = ((columns[:, chosen] @ weights - target) ** 2).sum()
        if weights.min() >= 0 and error < least:
            best, least = np.zeros(columns.shape[1]), error
            best[chosen] = weights
    return best


def mean_template(attention: np.ndarray, uniform: np.ndarray) -> dict[str, Any]:
    """The occupied cells of a block's template, by column: mean over queries and heads.

    Args:
        attention: sums (heads, halves, query bins, cells).
        uniform: sums under uniform attention (halves, query bins, cells).
    """
    attention, uniform = attention.mean(axis=0).sum(axis=0), uniform.sum(axis=0)
    query_bin, cell = occupied = np.nonzero(uniform > 0)
    n_queries = uniform.sum(axis=-1)[query_bin]
    return {
        "query_bin": query_bin,
        "cell": [CELLS[place] for place in cell],
        "n_queries": np.rint(n_queries).astype(np.int64),
        "attention": attention[occupied] / n_queries,
        "uniform": uniform[occupied] / n_queries,
    }


def tabulate(positional: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `positional` and `templates` of the files of all jobs, sorted by their keys.

    All reviews of a variant count, whether or not they are accepted.
    """
    heads, templates = [pl.DataFrame(schema=POSITIONAL_SCHEMA)], [pl.DataFrame(schema=TEMPLATES_SCHEMA)]
    files = [(table_metadata(path), path) for path in positional]
    origins = [((of["states"]["model"], of["states"]["variant"]), of, path) for of, path in files]
    for (model, variant), shards in groupby(sorted(origins, key=lambda origin: origin[0]), lambda origin: origin[0]):
        _, metadata, paths = zip(*shards, strict=True)
        n_reviews = sum(of["n_reviews"] for of in metadata)
        sums = PositionalSums.of_table(read_tables(paths))
        for block, by_head in sorted(sums.by_head.items()):
            by_position = sums.by_position[block]
            place = {"model": model, "variant": variant, "block": block + 1}
            place["depth"] = (block + 1) / metadata[0]["states"]["n_blocks"]
            numbers = head_numbers(by_head, by_position)
            about = place | {"head": np.arange(1, by_head.shape[1] + 1), "n_reviews": n_reviews}
            heads.append(table_of(about | numbers, POSITIONAL_SCHEMA))
            cells = mean_template(by_head[HEAD_SUMS.index("attention")], by_position[-1])
            templates.append(table_of(place | cells, TEMPLATES_SCHEMA))
    return pl.concat(heads), pl.concat(templates)
