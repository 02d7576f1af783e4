"""Received attention: uniform attention against maps, profiles, and metrics of a network that attends uniformly."""

import math
import re

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from extracted import EMBEDDED, run, tiny
from homogenization.measures.attention import attention_rows, profile, uniform_attention
from homogenization.measures.measure import measure
from homogenization.metrics.attention import ATTENTION_METRICS, ReceivedAttention
from homogenization.states.store import open_store
from stored import LENGTHS, N_BLOCKS, write
from tiny_models import _GROUPED, CONFIGS, VOCABULARY, WINDOW


def seen_keys(n, causal, window):
    """(queries, keys) bool: what each query may see."""
    distance = np.arange(n)[:, None] - np.arange(n)
    seen = distance >= 0 if causal else np.ones((n, n), dtype=bool)
    return seen if window is None else seen & (np.abs(distance) < window)


def metric(name, received, uniform, first=(0.0,)):
    return ATTENTION_METRICS[name].compute(ReceivedAttention(received, uniform, np.array(first)))


@given(n=st.integers(1, 80), causal=st.booleans(), window=st.integers(1, 100) | st.none())
def test_uniform_attention_is_the_sum_of_a_uniform_map(n, causal, window):
    seen = seen_keys(n, causal, window)
    expected = (seen / seen.sum(axis=1, keepdims=True)).sum(axis=0)
    uniform = uniform_attention(n, causal, window)
    np.testing.assert_allclose(uniform, expected, rtol=1e-13)
    for name in ("first_token_attention_excess", *["early_excess_among_others"] * (n > 1)):
        assert metric(name, uniform.astype(np.float32).astype(np.float64), uniform) == pytest.approx(0, abs=1e-6)


@given(n=st.integers(1, 60), n_bins=st.integers(1, 25), seed=st.integers(0, 99))
def test_a_profile_is_the_mean_of_each_bin(n, n_bins, seed):
    received = np.random.default_rng(seed).random(n)
    bins = np.array([min(j * n_bins // max(n - 1, 1), n_bins - 1) for j in range(1, n)], dtype=int)
    expected = [received[1:][bins == place].mean() if (bins == place).any() else np.nan for place in range(n_bins)]
    np.testing.assert_allclose(profile(received, n_bins), expected)


def test_edges_of_bins_are_exact():
    """3 / 10 lies in the fourth of ten bins; float arithmetic would put it into the third, as 2.9999..."""
    assert profile(np.arange(11.0), 10)[3] == 3


def uniform_weights(made):
    """Queries of zero: each token attends alike to all that it sees."""
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if name.endswith("Wqkv.weight"):
                weight[: weight.shape[0] // 3] = 0
            elif re.search(r"(q_proj|attention\.self\.query)\.(weight|bias)", name):
                weight.zero_()


NETWORKS = {  # with its blocks that have a window
    "llama": (CONFIGS["llama"], []),
    "bert": (CONFIGS["bert"], []),
    "mistral": (transformers.MistralConfig(**_GROUPED, sliding_window=WINDOW), [0, 1, 2]),
    "modernbert": (
        transformers.ModernBertConfig(
            **{"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 4},
            **{"vocab_size": VOCABULARY, "global_attn_every_n_layers": 3, "local_attention": WINDOW},
            **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
        ),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_that_attends_uniformly_has_no_excess_whatever_its_windows(name, tmp_path):
    config, windowed = NETWORKS[name]
    model = tiny(config, max_tokens=150, weights=uniform_weights)
    run(model, [" ".join(EMBEDDED[0].split()[:24]), "Short."], tmp_path / "s.zarr.zip")
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert [block for block, window in enumerate(store.attention_windows) if window] == windowed
        assert store.review_offsets[1] > 2 * WINDOW
        tables = measure(store, ())
    for metric_name in ("first_token_attention_excess", "early_excess_among_others"):
        np.testing.assert_allclose(tables["attention"][metric_name], 0, atol=1e-5)
    np.testing.assert_allclose(tables["tokens"]["attention"].drop_nulls().explode(), 1, rtol=2e-3)


def test_metrics_of_a_sink():
    """All queries look at the first token alone, but for themselves with weight 1/2."""
    n = 41
    attention = np.zeros((n, n))
    attention[:, 0] = 0.5
    attention[np.arange(n), np.arange(n)] += 0.5
    received, uniform = attention.sum(axis=0), uniform_attention(n, causal=True)
    share = (n / 2 + 0.5) / n
    assert metric("first_token_attention_share", received, uniform) == pytest.approx(share)
    excess = share - math.fsum(1 / i for i in range(1, n + 1)) / n
    assert metric("first_token_attention_excess", received, uniform) == pytest.approx(excess)
    # tokens 1 to 3 of 40 lie below relative position 1/10
    expected = 3 / 40 - uniform[1:4].sum() / uniform[1:].sum()
    assert metric("early_excess_among_others", received, uniform) == pytest.approx(expected)
    assert metric("sink_rate", received, uniform, [0.2, 0.3, 0.31, 0.9]) == 0.5
    assert math.isnan(metric("early_excess_among_others", np.ones(1), np.ones(1)))


def test_without_attention_there_are_no_rows(tmp_path):
    states = np.ones((N_BLOCKS + 1, sum(LENGTHS), 3), dtype=np.float32)
    write(tmp_path / "s.zarr.zip", states, LENGTHS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert not list(attention_rows(store))
        assert measure(store, ())["tokens"]["attention"].is_null().all()
