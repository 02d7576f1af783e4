"""The plain script of the benchmarks computes the metrics of the library: else their times could not be compared."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch

from homogenization.measures.attention import uniform_attention
from homogenization.measures.measure import MATRICES_SCHEMA, matrix_rows
from homogenization.measures.views import TOKENS_OF, VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.metrics.catalogue import METRIC_NAMES, TOKEN_COUNT
from homogenization.metrics.geometry import GEOMETRY_METRICS, TokenMatrix
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.tables.metrics import with_spectral
from plain_numbers import plain_script


def by_the_library(
    tokens: np.ndarray, before: np.ndarray, weights: np.ndarray, uniform: np.ndarray
) -> dict[tuple[str, str], float]:
    """Every metric by view and name."""
    place = {"review_id": "r", "point": "p", "layer": 1, "n_tokens": len(tokens), "width": tokens.shape[1]}
    matrix = TokenMatrix(tokens, TokenMatrix(before).neighbours)
    rows = [place | row for row in matrix_rows(matrix, VIEWS)]
    found = {("all_tokens", TOKEN_COUNT): len(tokens)}
    for row in with_spectral(pl.DataFrame(rows, schema=MATRICES_SCHEMA)).iter_rows(named=True):
        found |= {(row["view"], name): row[name] for name in SPECTRAL_METRICS}
        of_tokens = {name: row[name] for name in GEOMETRY_METRICS if row[name] is not None}
        found |= {(TOKENS_OF[row["view"]], name): value for name, value in of_tokens.items()}
    received = ReceivedAttention(weights.mean(axis=0).sum(axis=0), uniform, weights[:, :, 0].mean(axis=1))
    for name, metric in ATTENTION_METRICS.items():
        found |= {(view, name): metric.compute(received) for view in metric.views}
    return found


@pytest.mark.parametrize(("causal", "window"), [(True, None), (False, None), (True, 9), (False, 9)])
@pytest.mark.parametrize(("n", "width"), [(47, 16), (23, 64)])
def test_every_metric_is_that_of_the_library(n, width, causal, window):
    rng = np.random.default_rng(n)
    tokens = rng.normal(size=(n, width)) + 0.5
    tokens[0] *= 30  # a massive first token
    distance = np.arange(n)[:, None] - np.arange(n)
    seen = ((distance >= 0) | (not causal)) & (np.abs(distance) < (window or n))
    weights = np.exp(np.where(seen, rng.normal(size=(2, n, n)), -np.inf))
    weights /= weights.sum(axis=-1, keepdims=True)
    states = torch.from_numpy(tokens)[None]
    before = tokens + rng.normal(size=(n, width))
    output = SimpleNamespace(
        hidden_states=[torch.from_numpy(before)[None], states], attentions=[torch.from_numpy(weights)[None]]
    )
    rows = [row for row in plain_script.measure_review(output, list(plain_script.LOOKS)) if row["layer"] == 1]
    found = {(row["view"], name): row[name] for row in rows for name in row if name not in ("layer", "view")}
    expected = by_the_library(tokens, before, weights, uniform_attention(n, causal, window))
    assert {name for _, name in expected} == set(METRIC_NAMES)
    assert found == pytest.approx(expected, rel=1e-6)
