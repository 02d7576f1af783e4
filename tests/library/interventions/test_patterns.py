"""Patterns and changes keep rows, causality and windows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.passes import masked, steering
from homogenization.interventions.patterns import PATTERNS
from homogenization.states.forward import Attention


def attention_of(n_tokens, causal=True, window=None, seed=0):
    """Random attention of a block."""
    ahead = np.arange(n_tokens) - np.arange(n_tokens)[:, None]
    seen = (ahead <= 0) | (not causal)
    if window is not None:
        seen &= abs(ahead) < window
    scores = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, *ahead.shape)) * 3)
    seen = torch.from_numpy(seen)
    return Attention(1, scores.masked_fill(~seen, -torch.inf).softmax(dim=-1), seen)


attentions = st.builds(
    attention_of, st.integers(1, 300), st.booleans(), st.none() | st.integers(2, 200), st.integers(0, 99)
)


CHANGES = {**{name: steering(name, 0.3, {1}, b"r") for name in PATTERNS}, "masked": masked({0})}


@pytest.mark.parametrize("name", CHANGES)
@given(attention=attentions)
def test_rows_sum_to_one_and_nothing_unseen_gets_mass(name, attention):
    before = attention.weights.clone()
    after = CHANGES[name](attention)
    assert torch.equal(attention.weights, before), "the model's own weights stay as they are"
    assert after.shape == before.shape
    assert (after[:, ~attention.seen] == 0).all()
    assert (after >= 0).all()
    sums = torch.where(attention.seen[:, 0] & (name == "removed"), 0.7, 1.0).double()
    torch.testing.assert_close(after.sum(dim=-1), sums.expand(after.shape[:2]))


def test_a_query_without_any_other_weight_reads_its_own_masked_key():
    alone = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    after = masked({0})(Attention(0, alone, torch.tensor([[True, False], [True, True]])))
    assert after[0].tolist() == [[1, 0], [0, 1]]
