"""Patterns and changes keep rows, causality, windows and reviews; each has its known rows."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from homogenization.interventions.changes import masked, steering
from homogenization.interventions.patterns import PATTERNS, scattered_place
from homogenization.states.attention import QUERY_CHUNK, AttentionMap

HEADS = 2


def attention_map(n_tokens, first_query=0, causal=True, window=None, seed=0):
    """Random attention of a chunk of queries, as `recorded_attention` hands it over."""
    stop = min(n_tokens, first_query + QUERY_CHUNK)
    first = 0 if window is None else max(0, first_query - window + 1)
    last = stop if causal else n_tokens if window is None else min(n_tokens, stop + window - 1)
    ahead = np.arange(first, last) - np.arange(first_query, stop)[:, None]
    seen = (ahead <= 0) | (not causal)
    if window is not None:
        seen &= abs(ahead) < window
    scores = torch.from_numpy(np.random.default_rng(seed).normal(size=(HEADS, *ahead.shape)) * 3)
    weights = scores.masked_fill(torch.from_numpy(~seen), -torch.inf).softmax(dim=-1)
    return AttentionMap(1, n_tokens, first_query, first, causal, weights, window), seen


@st.composite
def maps(draw):
    n_tokens = draw(st.integers(1, 300))
    first_query = QUERY_CHUNK * draw(st.integers(0, (n_tokens - 1) // QUERY_CHUNK))
    return attention_map(
        n_tokens, first_query, draw(st.booleans()), draw(st.none() | st.integers(2, 200)), draw(st.integers(0, 99))
    )


CHANGES = {
    **{name: steering(name, 0.3, b"r") for name in PATTERNS},
    "masked": masked({0, 3}),
}


@pytest.mark.parametrize("name", CHANGES)
@given(made=maps())
def test_rows_sum_to_one_and_nothing_unseen_gets_mass(name, made):
    attention, seen = made
    before = attention.weights.clone()
    after = CHANGES[name](attention)
    assert torch.equal(attention.weights, before), "the model's own weights stay as they are"
    assert after.shape == before.shape
    assert (after[:, ~torch.from_numpy(seen)] == 0).all()
    assert (after >= 0).all()
    sums = after.sum(dim=-1)
    left = np.where(seen[:, 0] & (attention.first_key == 0), 0.7, 1.0) if name == "removed" else np.ones(len(seen))
    torch.testing.assert_close(sums, torch.from_numpy(left).expand_as(sums))


@given(made=maps(), name=st.sampled_from(sorted(PATTERNS)), strength=st.floats(0.1, 1))
def test_patterns_and_controls_change_the_same_queries_those_that_see_the_first_token(made, name, strength):
    """A window keeps later queries from it: these keep their weights bit for bit, under `removed` too."""
    attention, seen = made
    after = steering(name, strength, b"r")(attention)
    far = ~(seen[:, 0] & (attention.first_key == 0))
    assert torch.equal(after[:, far], attention.weights[:, far])
    if name == "removed":
        assert (after[:, ~far].sum(dim=-1) < 1 - strength / 2).all()


@given(made=maps())
def test_permuted_weights_are_the_same_weights_elsewhere(made):
    attention, seen = made
    rows = steering("permuted", 1.0, b"r")(attention)
    torch.testing.assert_close(rows.sort(dim=-1).values, attention.weights.sort(dim=-1).values, rtol=0, atol=0)
    if attention.first_key == 0 and seen[seen[:, 0]].sum(axis=1).min(initial=0) > 20:
        assert not torch.equal(rows, attention.weights)


def test_the_rows_of_each_pattern():
    attention, _ = attention_map(4)
    rows = {name: steering(name, 1.0, b"r")(attention)[0, 3].tolist() for name in PATTERNS}
    half = 2.0**-0.25
    decay = np.array([half**3, half**2, half, 1])
    assert rows["first"] == [1, 0, 0, 0]
    assert rows["second"] == [0, 1, 0, 0]
    assert rows["ends"] == [0.5, 0, 0, 0.5]
    assert rows["self"] == [0, 0, 0, 1]
    assert rows["uniform"] == [0.25] * 4
    assert rows["removed"] == [0] * 4
    assert rows["recency"] == pytest.approx(decay / decay.sum())
    assert rows["scattered"] == np.eye(4)[scattered_place(4, b"r")].tolist()
    # the first query sees itself alone; it does not see the second token
    assert steering("second", 1.0, b"r")(attention)[0, 0].tolist() == [1, 0, 0, 0]


@given(st.integers(2, 500), st.binary(min_size=4, max_size=4))
def test_the_scattered_token_is_in_the_first_quarter_and_not_the_first(n_tokens, draw):
    place = scattered_place(n_tokens, draw)
    assert 1 <= place < max(2, -(-n_tokens // 4))
    assert place == scattered_place(n_tokens, draw)


def test_scattered_tokens_and_orders_differ_between_reviews():
    assert len({scattered_place(400, bytes([review])) for review in range(20)}) > 10
    attention, _ = attention_map(100)
    one, other = (steering("permuted", 1.0, name)(attention) for name in (b"a", b"b"))
    assert not torch.equal(one, other)


def test_masked_keys_are_read_by_themselves_alone_and_the_rest_keeps_its_proportions():
    attention, _ = attention_map(20, seed=3)
    after = masked({0, 7})(attention)
    assert after[:, 1:, 0].abs().max() == 0
    assert (after[:, 7, 7] > attention.weights[:, 7, 7]).all()
    ratio = (after / attention.weights)[:, 19, 8:]
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))


def test_a_query_without_any_other_weight_reads_itself():
    weights = torch.zeros(1, 2, 2)
    weights[..., 0] = 1.0
    after = masked({0})(AttentionMap(0, 2, 0, 0, True, weights))
    assert after[0].tolist() == [[1, 0], [0, 1]]
