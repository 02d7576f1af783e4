"""Patterns and changes keep rows, causality and windows; each has its known rows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.passes import masked, steering
from homogenization.interventions.patterns import PATTERNS
from homogenization.states.forward import Attention

HEADS = 2


def attention_of(n_tokens, causal=True, window=None, seed=0):
    """Random attention of a block."""
    ahead = np.arange(n_tokens) - np.arange(n_tokens)[:, None]
    seen = (ahead <= 0) | (not causal)
    if window is not None:
        seen &= abs(ahead) < window
    scores = torch.from_numpy(np.random.default_rng(seed).normal(size=(HEADS, *ahead.shape)) * 3)
    seen = torch.from_numpy(seen)
    return Attention(1, scores.masked_fill(~seen, -torch.inf).softmax(dim=-1), seen)


attentions = st.builds(
    attention_of, st.integers(1, 300), st.booleans(), st.none() | st.integers(2, 200), st.integers(0, 99)
)


def steered(name, strength):
    return steering(name, strength, {1}, b"r")


CHANGES = {**{name: steered(name, 0.3) for name in PATTERNS}, "masked": masked({0})}


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


@given(attention=attentions, name=st.sampled_from(sorted(PATTERNS)), strength=st.floats(0.1, 1))
def test_patterns_and_controls_change_the_same_queries_those_that_see_the_first_token(attention, name, strength):
    """A window keeps later queries from it: these keep their weights bit for bit, under `removed` too."""
    far = ~attention.seen[:, 0]
    assert torch.equal(steered(name, strength)(attention)[:, far], attention.weights[:, far])
    assert steering(name, strength, {0, 2}, b"r")(attention) is attention.weights, "another block"


@given(attention=attentions)
def test_permuted_weights_are_the_same_weights_elsewhere(attention):
    rows = steered("permuted", 1.0)(attention)
    torch.testing.assert_close(rows.sort(dim=-1).values, attention.weights.sort(dim=-1).values, rtol=0, atol=0)
    if attention.seen[attention.seen[:, 0]].sum(dim=1).min() > 20:
        assert not torch.equal(rows, attention.weights)


def test_the_rows_of_each_pattern():
    attention = attention_of(4)
    rows = {name: steered(name, 1.0)(attention)[0, 3].tolist() for name in PATTERNS}
    decay = 2.0 ** (np.arange(-3, 1) / 4)
    assert rows.pop("recency") == pytest.approx(decay / decay.sum())
    assert sorted(rows.pop("permuted")) == sorted(attention.weights[0, 3].tolist())
    assert rows == {
        "first": [1, 0, 0, 0],
        "second": [0, 1, 0, 0],
        "ends": [0.5, 0, 0, 0.5],
        "self": [0, 0, 0, 1],
        "uniform": [0.25] * 4,
        "removed": [0] * 4,
        "scattered": [0, 1, 0, 0],
    }
    # the first query sees itself alone; it does not see the second token
    assert steered("second", 1.0)(attention)[0, 0].tolist() == [1, 0, 0, 0]


def test_masked_keys_are_read_by_themselves_alone_and_the_rest_keeps_its_proportions():
    attention = attention_of(20, seed=3)
    after = masked({0, 7})(attention)
    assert after[:, 1:, 0].abs().max() == 0
    assert (after[:, 7, 7] > attention.weights[:, 7, 7]).all()
    ratio = (after / attention.weights)[:, 19, 8:]
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert torch.equal(masked(())(attention), attention.weights)
    alone = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])  # a query without any other weight reads itself
    after = masked({0})(Attention(0, alone, torch.tensor([[True, False], [True, True]])))
    assert after[0].tolist() == [[1, 0], [0, 1]]
