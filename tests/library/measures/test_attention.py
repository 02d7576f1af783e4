import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.attention import (
    ATTENTION_SCHEMA,
    Attention,
    attention_profile,
    check_sum,
    position_bins,
    uniform_attention,
)
from homogenization.measures.reviews import measured
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.report.tokens import rows_of_text
from homogenization.run.errors import HomogenizationError
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.network import transformer_of
from homogenization.states.reading import Reading
from homogenization.states.store import open_store
from homogenization.tables.metrics import registered_values
from plain_interventions import seen_keys
from tiny_blocks import EMBEDDED, NETWORKS, tiny
from tiny_models import CONFIGS, VOCABULARY, WINDOW, network

IDENTITY = {"model": "m", "variant": "front"}
STATES = {"model": "m", "variant": "front", "shard": "000"}


def causal_map(n, seed=0):
    """A random causal attention map: rows sum to 1, nothing above the diagonal."""
    weights = np.tril(np.random.default_rng(seed).random((n, n)))
    return weights / weights.sum(axis=1, keepdims=True)


def metric(name, profile, n, view="without_first"):
    columns = {key: np.array([value]) for key, value in profile.items()}
    return ATTENTION_METRICS[name].compute({**columns, "n_tokens": np.array([n])}, view)[0]


@given(n=st.integers(1, 80), causal=st.booleans(), window=st.integers(1, 100) | st.none())
@settings(deadline=None)
def test_uniform_attention_is_the_sum_of_a_uniform_map(n, causal, window):
    seen = seen_keys(np.arange(n), np.arange(n), causal, window)
    expected = (seen / seen.sum(axis=1, keepdims=True)).sum(axis=0)
    np.testing.assert_allclose(uniform_attention(n, causal, window), expected, rtol=1e-13)


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
    profile = attention_profile(received, uniform_attention(n, causal), n_bins)
    assert profile["tokens"].sum() == n - 1
    for per_bin, first in (
        (profile["received"], profile["first_token_share"]),
        (profile["uniform"], profile["uniform_first_token_share"]),
    ):
        assert np.nansum(per_bin * profile["tokens"]) + first * n == pytest.approx(n)
        np.testing.assert_array_equal(np.isnan(per_bin), profile["tokens"] == 0)
    bins = np.minimum([j * n_bins // max(n - 1, 1) for j in range(1, n)], n_bins - 1)
    for index in set(bins):
        members = [received[j] for j in range(1, n) if bins[j - 1] == index]
        assert profile["received"][index] == pytest.approx(np.mean(members))


EXCESSES = (
    *("first_token_attention_excess", "mean_attention_excess_without_first"),
    *("early_attention_excess", "early_excess_among_others"),
)


def uniform_network(config):
    """A tiny network whose queries are zero: each token attends alike to all that it sees."""
    made = network(config)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if name.endswith("Wqkv.weight"):
                weight[: weight.shape[0] // 3] = 0
            elif re.search(r"(q_proj|attention\.self\.query)\.(weight|bias)", name):
                weight.zero_()
    return transformer_of(made)


MIXED = ("gemma3", "qwen2_sliding", "modernbert")
WINDOWED = {
    "gemma3": NETWORKS["gemma3"],
    "mistral": transformers.MistralConfig(**NETWORKS["mistral"].to_dict() | {"sliding_window": WINDOW}),
    "qwen2_sliding": CONFIGS["qwen2_sliding"],
    "modernbert": transformers.ModernBertConfig(
        **{"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 4},
        **{"vocab_size": VOCABULARY, "global_attn_every_n_layers": 3, "local_attention": WINDOW},
        **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
    ),
    "llama": CONFIGS["llama"],
    "bert": CONFIGS["bert"],
}


@pytest.mark.parametrize("name", WINDOWED)
def test_uniform_attention_of_a_network_has_no_excess_whatever_its_windows(name, tmp_path):
    config = WINDOWED[name]
    model = replace(tiny(config, max_tokens=150), transformer=uniform_network(config))
    texts = [" ".join(EMBEDDED[0].split()[:24]), "Short."]
    extract(Reading(model, Texts(list("ab"), texts), STATES, record_attention=True), tmp_path / "s.zarr.zip")
    with open_store(tmp_path / "s.zarr.zip") as store:
        (table,), windows = measured(Attention(store)), store.attention_windows
        of_first = store.attention_received()[:, : store.review_offsets[1]]
        shown = [row["attention"] for row in rows_of_text(store, 0, 150, 1, ())]
    local = [kind == "sliding_attention" for kind in config.layer_types] if name in MIXED else [name == "mistral"] * 3
    assert [window is not None for window in windows] == local
    assert of_first.shape[1] > 2 * WINDOW
    values = registered_values(table.with_columns(point=pl.lit("residual_stream")), ATTENTION_METRICS, EXCESSES)
    assert values["metric"].unique().len() == len(EXCESSES)
    np.testing.assert_allclose(values["value"], 0, atol=1e-5)
    np.testing.assert_allclose(shown[1:], 1, rtol=1e-4)


@given(n=st.integers(2, 120), causal=st.booleans(), window=st.integers(1, 60) | st.none())
@settings(deadline=None)
def test_uniform_attention_has_no_excess(n, causal, window):
    uniform = uniform_attention(n, causal, window)
    profile = attention_profile(uniform.astype(np.float32), uniform)
    for name in EXCESSES:
        assert metric(name, profile, n) == pytest.approx(0, abs=1e-5)


def test_metrics_of_a_sink():
    """All queries look at the first token alone, but for themselves with weight 1/2."""
    n = 41
    attention = np.zeros((n, n))
    attention[:, 0] = 0.5
    attention[np.arange(n), np.arange(n)] += 0.5
    profile = attention_profile(attention.sum(axis=0), uniform_attention(n, causal=True))
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
    before, after = (attention_profile(values, uniform_attention(60, causal=True)) for values in (received, taken))
    name = "early_excess_among_others"
    assert metric(name, after, 60) == pytest.approx(metric(name, before, 60))
    assert metric("early_attention_excess", after, 60) != pytest.approx(metric("early_attention_excess", before, 60))


def test_one_token():
    profile = attention_profile(np.array([1.0]), uniform_attention(1, causal=True))
    assert profile["first_token_share"] == 1
    assert profile["uniform_first_token_share"] == 1
    assert np.isnan(profile["received"]).all()
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
    attention_windows = (None, 3)

    def attention_received(self):
        parts = [np.concatenate([causal_map(n, seed).sum(axis=0) for n in (4, 6)]) for seed in (0, 1)]
        return np.array(parts, dtype=np.float32)


def test_table():
    (table,) = measured(Attention(Store(), n_bins=5))
    assert dict(table.schema) == ATTENTION_SCHEMA
    assert table.select("model", "variant", "layer", "depth").unique(maintain_order=True).rows() == [
        ("m", "front", 1, 0.5),
        ("m", "front", 2, 1.0),
    ]
    assert table.select("layer", "review_id", "n_tokens").rows() == [(1, "a", 4), (1, "b", 6), (2, "a", 4), (2, "b", 6)]
    assert table["received"].list.len().unique().to_list() == [5]
    assert table["first_token_share"][3] == pytest.approx(causal_map(6, 1)[:, 0].sum() / 6)
    assert table["uniform_first_token_share"].to_list() == pytest.approx(
        [uniform_attention(n, True, window)[0] / n for window in (None, 3) for n in (4, 6)]
    )


def test_no_attention_in_the_store():
    class Silent(Store):
        def attention_received(self):
            return None

    with pytest.raises(HomogenizationError, match="record_attention: true"):
        measured(Attention(Silent()))
