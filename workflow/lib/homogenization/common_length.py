"""Metrics of every review on a common number of tokens, so that no difference in length is taken for anything else.

Ranks and entropies grow with the number of tokens by themselves, and a rewritten review has a few more or fewer than
its original. Here every review is cut to random subsets of one size. The first token is always among them: whether it
counts is the view's matter, as everywhere.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from homogenization.geometry import token_geometry
from homogenization.geometry_metrics import GEOMETRY_METRICS
from homogenization.points import iterate_reviews, iterate_states
from homogenization.spectra import singular_values
from homogenization.spectral_metrics import SPECTRAL_METRICS, SpectrumBatch, evaluate

if TYPE_CHECKING:
    from homogenization.store import StateStore

COMMON_LENGTH_SCHEMA = {
    "review_id": pl.String,
    "point": pl.String,
    "layer": pl.Int32,
    "view": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
_Values = dict[tuple[str, str], np.ndarray]


def drawn_positions(review_id: str, n_available: int, n_tokens: int, draw: int, seed: int) -> np.ndarray:
    """Positions of the tokens of one draw, (n_tokens,) int64, ascending; 0 is always among them.

    They depend on seed, review and draw alone: all layers and models with as many tokens have the same ones.

    Args:
        review_id: of the review.
        n_available: its number of tokens, at least `n_tokens`.
        n_tokens: how many to draw, at least 1.
        draw: number of the draw.
        seed: of all draws.
    """
    digest = blake2b(f"{seed}:{review_id}:{draw}".encode(), digest_size=16).digest()
    others = np.random.default_rng(int.from_bytes(digest)).choice(n_available - 1, n_tokens - 1, replace=False)
    return np.concatenate([[0], np.sort(others) + 1])


def common_length_table(
    store: "StateStore", n_tokens: int, draws: int, seed: int, views: Sequence[str], metrics: Sequence[str]
) -> pl.DataFrame:
    """Metrics of every review on `n_tokens` tokens, averaged over draws: the table `common_length`.

    Args:
        store: states of one shard.
        n_tokens: tokens of each draw, at least 2; shorter reviews are left out.
        draws: random subsets of a review.
        seed: of the draws.
        views: of the spectral metrics; metrics of norms and directions have views of their own.
        metrics: names; those of attention, which no subset of tokens gives, are left out.

    Returns:
        `COMMON_LENGTH_SCHEMA`; a value is NaN where it is undefined in any draw.

    Raises:
        HomogenizationError: states that are not finite.
    """
    lengths = dict(zip(store.review_ids, np.diff(store.review_offsets).tolist(), strict=True))
    drawn = {
        review_id: [drawn_positions(review_id, length, n_tokens, draw, seed) for draw in range(draws)]
        for review_id, length in lengths.items()
        if length >= n_tokens
    }
    print(f"{len(drawn)} of {len(lengths)} reviews have at least {n_tokens} tokens", flush=True)
    wanted = bool(drawn) and any(name in SPECTRAL_METRICS or name in GEOMETRY_METRICS for name in metrics)
    parts = [pl.DataFrame(schema=COMMON_LENGTH_SCHEMA)]
    for point, layer, states in iterate_states(store) if wanted else ():
        subsets = [
            tokens[positions]
            for review_id, tokens in iterate_reviews(store, point, layer, states)
            for positions in drawn.get(review_id, ())
        ]
        values = _spectral_values(subsets, views, metrics) | _geometry_values(subsets, metrics)
        parts.append(_long(list(drawn), point, layer, values))
        print(f"{point}, layer {layer}", flush=True)
    return pl.concat(parts)


def _spectral_values(subsets: Sequence[np.ndarray], views: Sequence[str], metrics: Sequence[str]) -> _Values:
    """(view, metric) -> (subsets,) values of the spectral metrics."""
    chosen = [name for name in metrics if name in SPECTRAL_METRICS]
    if not chosen:
        return {}
    spectra = [singular_values(tokens, views) for tokens in subsets]
    values = {}
    for view in views:
        sizes = np.array([len(of_views[view]) for of_views in spectra])
        batch = SpectrumBatch.from_flat(np.concatenate([of_views[view] for of_views in spectra]), sizes)
        values.update({(view, name): evaluate(name, batch) for name in chosen})
    return values


def _geometry_values(subsets: Sequence[np.ndarray], metrics: Sequence[str]) -> _Values:
    """(view, metric) -> (subsets,) values of the metrics of norms and directions."""
    chosen = [GEOMETRY_METRICS[name] for name in metrics if name in GEOMETRY_METRICS]
    if not chosen:
        return {}
    rows = [{"n_tokens": tokens.shape[0], "width": tokens.shape[1], **token_geometry(tokens)} for tokens in subsets]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {(view, metric.name): metric.compute(columns, view) for metric in chosen for view in metric.views}


def _long(review_ids: Sequence[str], point: str, layer: int, values: _Values) -> pl.DataFrame:
    """Rows of one point and layer; values, (reviews x draws,), are averaged over draws."""
    n_reviews, n_cells = len(review_ids), len(values)
    keys = {
        "review_id": np.tile(review_ids, n_cells),
        "view": np.repeat([view for view, _ in values], n_reviews),
        "metric": np.repeat([metric for _, metric in values], n_reviews),
        "value": np.concatenate([of_draws.reshape(n_reviews, -1).mean(axis=1) for of_draws in values.values()]),
    }
    table = pl.DataFrame(keys).with_columns(pl.lit(point).alias("point"), pl.lit(layer).alias("layer"))
    return table.select(*COMMON_LENGTH_SCHEMA).cast(COMMON_LENGTH_SCHEMA)
