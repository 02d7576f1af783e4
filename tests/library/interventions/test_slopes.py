"""Slopes are derivatives: they equal finite differences in float64, and those of single blocks add up."""

import numpy as np
import pytest

from homogenization.interventions.cells import VIEWS, cells
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import read
from homogenization.interventions.recorded import in_float64, record
from homogenization.interventions.slopes import slopes_of_review
from homogenization.metrics.differentiable import DIFFERENTIABLE
from homogenization.states.network import packed_model
from plain_interventions import derivative_at_0, dialled_layers
from tiny_models import CONFIGS, network, random_texts

METRICS = list(DIFFERENTIABLE)


def difference(model, ids, pattern, blocks):
    """The slope of the metrics after the last block, from the numpy side of the library."""

    def values(strength):
        layers = dialled_layers(model, ids, pattern, strength, blocks)
        assert layers[-1].dtype == np.float64
        return read(layers, (), METRICS)[-1]

    return derivative_at_0(values)


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
