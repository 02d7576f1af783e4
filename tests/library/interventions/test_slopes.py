"""Slopes are derivatives: they equal finite differences in float64, and those of single blocks add up."""

from functools import partial

import numpy as np
import pytest
import torch

from homogenization.interventions.cells import VIEWS, cells
from homogenization.interventions.changes import dial
from homogenization.interventions.passes import Recorder
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import read
from homogenization.interventions.recorded import InFloat64, in_float64, record
from homogenization.interventions.slopes import slopes_of_review
from homogenization.metrics.differentiable import DIFFERENTIABLE
from homogenization.states.network import packed_model, run_packed
from tiny_models import CONFIGS, network, random_texts

METRICS = list(DIFFERENTIABLE)
STEP = 1e-3


def values_at(model, ids, pattern, strength, blocks):
    """Metrics after the last block in a run with the dial, from the numpy side of the library."""
    layers = []
    recorder = Recorder([len(ids)], dial(pattern, strength, [b"r"]), blocks, False, torch.device("cpu"))
    with InFloat64():
        run_packed(model, ids, [len(ids)], False, lambda _, states: layers.append(states.numpy().copy()), recorder)
    assert layers[-1].dtype == np.float64
    return read(layers, (), METRICS)[-1]


def difference(model, ids, pattern, blocks):
    at = partial(values_at, model, ids, pattern, blocks=blocks)
    return (8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))) / (12 * STEP)


@pytest.mark.parametrize(
    ("name", "n_tokens"),  # less and more than the width
    [
        ("llama", 30),
        ("llama", 90),
        ("gemma", 30),
        ("gemma2", 90),
        ("qwen2", 30),
        ("gpt2", 30),
        ("gpt_neox", 30),
        ("bert", 30),
    ],
)
def test_slopes_equal_finite_differences_and_add_up(name, n_tokens):
    model = in_float64(packed_model(network(CONFIGS[name])))
    ids = random_texts([n_tokens])[0]
    patterns = list(PATTERNS)
    slopes = slopes_of_review(record(model, ids), b"r", patterns, METRICS)
    assert slopes.shape == (3, len(patterns), len(cells(METRICS)))
    scale = np.abs(slopes).max(axis=(0, 1)) + 1e-9
    for number, pattern in enumerate(patterns):
        blocks = range(3) if pattern in ("first", "permuted") else ()
        found = [difference(model, ids, pattern, {block}) for block in blocks]
        for block, of_block in enumerate(found):
            assert np.abs((slopes[block, number] - of_block) / scale).max() < 1e-4, (pattern, block)
        together = difference(model, ids, pattern, {0, 1, 2})
        assert np.abs((slopes[:, number].sum(axis=0) - together) / scale).max() < 1e-4, pattern
    assert scale.min() > 1e-6


def test_a_single_token_has_no_slope():
    model = in_float64(packed_model(network(CONFIGS["llama"])))
    slopes = slopes_of_review(record(model, [5]), b"r", ["first"], ["cosine_anisotropy"])
    assert np.isnan(slopes).all()
    assert slopes.shape[-1] == len(VIEWS)
