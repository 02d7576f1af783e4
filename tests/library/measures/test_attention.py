"""Received attention: metrics of uniform attention, and profiles."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from homogenization.measures.attention import attention_rows, profile
from homogenization.measures.measure import measure
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.states.store import open_store
from stored import LENGTHS, N_BLOCKS, uniform_attention, write


def metric(name, received, uniform, first=(0.0,)):
    return ATTENTION_METRICS[name].compute(ReceivedAttention(received, uniform, np.array(first)))


@given(n=st.integers(1, 80), causal=st.booleans(), window=st.integers(1, 100) | st.none())
def test_uniform_attention_exceeds_itself_nowhere(n, causal, window):
    uniform = uniform_attention(n, window, causal)
    received = uniform.astype(np.float32).astype(np.float64)
    assert metric("first_token_attention_excess", received, uniform) == pytest.approx(0, abs=1e-6)
    early = 0 if n >= 12 else np.nan  # of fewer tokens none is in the first tenth
    assert metric("early_excess_among_others", received, uniform) == pytest.approx(early, abs=1e-6, nan_ok=True)


@example(n=11, n_bins=10, seed=0)  # 3 / 10 lies in the fourth bin, and by float arithmetic in the third
@given(n=st.integers(1, 60), n_bins=st.integers(1, 25), seed=st.integers(0, 99))
def test_a_profile_is_the_mean_of_each_bin(n, n_bins, seed):
    received = np.random.default_rng(seed).random(n)
    bins = np.array([min(j * n_bins // max(n - 1, 1), n_bins - 1) for j in range(1, n)], dtype=int)
    expected = [received[1:][bins == place].mean() if (bins == place).any() else np.nan for place in range(n_bins)]
    np.testing.assert_allclose(profile(received, n_bins), expected)


def test_more_than_three_tenths_on_the_first_token_are_a_sink():
    assert metric("sink_rate", np.ones(4), np.ones(4), [0.2, 0.3, 0.31, 0.9]) == 0.5


def test_without_attention_there_are_no_rows(tmp_path):
    write(tmp_path / "s.zarr.zip", np.ones((N_BLOCKS + 1, sum(LENGTHS), 3), np.float32), LENGTHS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert not list(attention_rows(store))
        assert measure(store, ())["tokens"]["attention"].is_null().all()
