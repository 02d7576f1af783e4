"""The plain script of the benchmarks computes the metrics of the library: else their times could not be compared."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from conftest import ROOT
from homogenization.measures.attention import attention_profile, uniform_attention
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.measures.views import VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from plain_interventions import seen_keys

specification = importlib.util.spec_from_file_location("plain", ROOT / "benchmarks" / "plain.py")
plain = importlib.util.module_from_spec(specification)
specification.loader.exec_module(plain)


def by_the_library(tokens: np.ndarray, received: np.ndarray, uniform: np.ndarray) -> dict[tuple[str, str], float]:
    """Every metric by view and name."""
    found = {}
    for view, values in singular_values(tokens, VIEWS).items():
        batch = SpectrumBatch(values[None], np.array([len(values)]))
        found |= {(view, name): evaluate(name, batch).item() for name in SPECTRAL_METRICS}
    profile = attention_profile(received, uniform) | {"n_tokens": len(received)}
    geometry = token_geometry(tokens) | {"n_tokens": len(tokens)}
    for registry, measured in ((GEOMETRY_METRICS, geometry), (ATTENTION_METRICS, profile)):
        columns = {name: np.array([value]) for name, value in measured.items()}
        for name, metric in registry.items():
            found |= {(view, name): metric.compute(columns, view).item() for view in metric.views}
    return found


@pytest.mark.parametrize(("causal", "window"), [(True, None), (False, None), (True, 9), (False, 9)])
@pytest.mark.parametrize(("n", "width"), [(47, 16), (23, 64)])
def test_every_metric_but_one_is_that_of_the_library(n, width, causal, window):
    rng = np.random.default_rng(n)
    tokens = rng.normal(size=(n, width)) + 0.5
    tokens[0] *= 30  # a massive first token
    logits = rng.normal(size=(2, n, n))
    weights = np.exp(np.where(seen_keys(np.arange(n), np.arange(n), causal, window), logits, -np.inf))
    weights /= weights.sum(axis=-1, keepdims=True)
    received = weights.mean(axis=0).sum(axis=0)
    states = torch.from_numpy(tokens)[None]
    output = SimpleNamespace(hidden_states=[states, states], attentions=[torch.from_numpy(weights)[None]])

    rows = plain.measure_review(output, list(plain.LOOKS))
    found = {
        (row["view"], name): value
        for row in rows
        if row["layer"] == 1
        for name, value in row.items()
        if name not in ("layer", "view")
    }
    uniform = uniform_attention(n, causal, window)
    expected = by_the_library(tokens, received, uniform)
    assert {name for _, name in expected} == set(METRIC_NAMES)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-6), key
