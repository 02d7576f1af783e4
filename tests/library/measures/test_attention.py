import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.attention import (
    ATTENTION_SCHEMA,
    attention_profile,
    check_sum,
    measure,
    position_bins,
    uniform_attention,
)
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.run.errors import HomogenizationError

IDENTITY = {"model": "m", "variant": "front"}


def causal_map(n, seed=0):
    """A random causal attention map: rows sum to 1, nothing above the diagonal."""
    weights = np.tril(np.random.default_rng(seed).random((n, n)))
    return weights / weights.sum(axis=1, keepdims=True)


def metric(name, profile, n, view="without_first"):
    columns = {key: np.array([value]) for key, value in vars(profile).items()}
    return ATTENTION_METRICS[name].compute({**columns, "n_tokens": np.array([n])}, view)[0]


@pytest.mark.parametrize("n", [1, 2, 17, 300])
def test_uniform_causal_attention_is_not_flat(n):
    uniform_map = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    uniform = uniform_attention(n, causal=True)
    np.testing.assert_allclose(uniform, uniform_map.sum(axis=0), rtol=1e-13)
    harmonic = math.fsum(1 / i for i in range(1, n + 1))
    assert uniform[0] == pytest.approx(harmonic)
    assert uniform[-1] == pytest.approx(1 / n)
    assert uniform.sum() == pytest.approx(n)
    # dividing by the queries that can see a token does not flatten it either
    seen = uniform / np.arange(n, 0, -1)
    assert seen[0] == pytest.approx(harmonic / n)
    assert seen[-1] == pytest.approx(1 / n)


def test_uniform_bidirectional_attention_is_flat():
    np.testing.assert_array_equal(uniform_attention(5, causal=False), np.ones(5))


def test_bins():
    np.testing.assert_array_equal(position_bins(5, 4), [1, 2, 3, 3])  # positions 1/4, 1/2, 3/4, 1
    np.testing.assert_array_equal(position_bins(2, 20), [19])
    assert position_bins(1, 20).shape == (0,)
    # float arithmetic would put 3/10 into the third of ten bins, as 2.9999...
    assert position_bins(11, 10)[2] == 3


@given(n=st.integers(1, 60), n_bins=st.integers(1, 25), causal=st.booleans(), seed=st.integers(0, 99))
@settings(deadline=None)
def test_profile_accounts_for_all_attention(n, n_bins, causal, seed):
    received = causal_map(n, seed).sum(axis=0)
    profile = attention_profile(received, causal, n_bins)
    assert profile.tokens.sum() == n - 1
    for per_bin, first in (
        (profile.received, profile.first_token_share),
        (profile.uniform, profile.uniform_first_token_share),
    ):
        assert np.nansum(per_bin * profile.tokens) + first * n == pytest.approx(n)
        np.testing.assert_array_equal(np.isnan(per_bin), profile.tokens == 0)
    bins = np.minimum([j * n_bins // max(n - 1, 1) for j in range(1, n)], n_bins - 1)
    for index in set(bins):
        members = [received[j] for j in range(1, n) if bins[j - 1] == index]
        assert profile.received[index] == pytest.approx(np.mean(members))


def test_uniform_attention_has_no_excess():
    profile = attention_profile(uniform_attention(80, causal=True), causal=True)
    assert profile.first_token_share == pytest.approx(profile.uniform_first_token_share)
    np.testing.assert_allclose(profile.received, profile.uniform)
    names = ["first_token_attention_excess", "mean_attention_excess_without_first", "early_attention_excess"]
    for name in (*names, "early_excess_among_others"):
        assert metric(name, profile, 80) == pytest.approx(0, abs=1e-12)


def test_metrics_of_a_sink():
    """All queries look at the first token alone, but for themselves with weight 1/2."""
    n = 41
    attention = np.zeros((n, n))
    attention[:, 0] = 0.5
    attention[np.arange(n), np.arange(n)] += 0.5
    profile = attention_profile(attention.sum(axis=0), causal=True)
    assert metric("first_token_attention_share", profile, n) == pytest.approx((n / 2 + 0.5) / n)
    assert metric("first_token_attention_excess", profile, n) == pytest.approx(
        (n / 2 + 0.5 - math.fsum(1 / i for i in range(1, n + 1))) / n
    )
    assert metric("mean_attention_without_first", profile, n) == pytest.approx(0.5)
    # tokens 1 to 3 of 40 lie below relative position 1/10
    assert metric("early_attention_share", profile, n) == pytest.approx(3 * 0.5 / n)
    uniform = uniform_attention(n, causal=True)
    assert metric("early_attention_excess", profile, n) == pytest.approx((1.5 - uniform[1:4].sum()) / n)
    expected = 3 / 40 - uniform[1:4].sum() / uniform[1:].sum()
    assert metric("early_excess_among_others", profile, n) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_what_the_first_token_takes_from_all_others_alike_leaves_their_shares(share):
    received = np.random.default_rng(0).uniform(0.5, 2, 60)
    received *= 60 / received.sum()
    taken = received.copy()
    taken[1:] *= (1 - share) * 60 / taken[1:].sum()
    taken[0] = share * 60
    before, after = (attention_profile(values, causal=True) for values in (received, taken))
    name = "early_excess_among_others"
    assert metric(name, after, 60) == pytest.approx(metric(name, before, 60))
    assert metric("early_attention_excess", after, 60) != pytest.approx(metric("early_attention_excess", before, 60))


def test_one_token():
    profile = attention_profile(np.array([1.0]), causal=True)
    assert profile.first_token_share == 1
    assert profile.uniform_first_token_share == 1
    assert np.isnan(profile.received).all()
    names = ["mean_attention_without_first", "early_attention_share", "early_attention_excess"]
    for name in (*names, "early_excess_among_others"):
        assert math.isnan(metric(name, profile, 1)), name


def test_wrong_sums_are_refused():
    check_sum(np.array([1.2, 0.8004]), "a", 1)
    with pytest.raises(HomogenizationError, match=r"review a, layer 3: .*2 tokens sums to 1\.5"):
        check_sum(np.array([1.0, 0.5]), "a", 3)
    with pytest.raises(HomogenizationError, match="nan"):
        check_sum(np.array([1.0, np.nan]), "a", 3)


class Store:
    attributes = IDENTITY
    n_blocks = 2
    review_ids = ("a", "b")
    review_offsets = np.array([0, 4, 10])
    causal = True

    def attention_received(self):
        parts = [np.concatenate([causal_map(n, seed).sum(axis=0) for n in (4, 6)]) for seed in (0, 1)]
        return np.array(parts, dtype=np.float32)


def test_table():
    table = measure(Store(), n_bins=5)
    assert dict(table.schema) == ATTENTION_SCHEMA
    assert table.select("model", "variant", "layer", "depth").unique(maintain_order=True).rows() == [
        ("m", "front", 1, 0.5),
        ("m", "front", 2, 1.0),
    ]
    assert table.select("layer", "review_id", "n_tokens").rows() == [(1, "a", 4), (1, "b", 6), (2, "a", 4), (2, "b", 6)]
    assert table["received"].list.len().unique().to_list() == [5]
    assert table["first_token_share"][3] == pytest.approx(causal_map(6, 1)[:, 0].sum() / 6)


def test_no_attention_in_the_store():
    class Silent(Store):
        def attention_received(self):
            return None

    with pytest.raises(HomogenizationError, match="record_attention: true"):
        measure(Silent())
