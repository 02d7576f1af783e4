"""Sums of attention by position: as from eager weights, whatever the packs and shards; the template made of them."""

import math
from collections import defaultdict

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.positional import (
    CAUSAL_CELLS,
    CELLS,
    DICTIONARY,
    HEAD_SUMS,
    KEYS,
    PositionalSums,
    dictionary_templates,
    seen_keys,
    template_of,
)
from homogenization.measures.positional_pass import add_attention, positional_sums
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import AttentionMap
from homogenization.states.long_texts import Texts, windows
from homogenization.states.reading import Reading
from tiny_blocks import EMBEDDED, IDENTITY, NETWORKS, tiny
from tiny_models import WINDOW, network, reference

IDS = ("a", "b", "c", "d")
RANKS = (4, 7, 6, 9)


def sums_of(model, reviews=slice(None), token_budget=2048):
    texts = Texts(IDS[reviews], EMBEDDED[:4][reviews])
    reading = Reading(model, texts, IDENTITY, token_budget, record_attention=True)
    return positional_sums(reading, dict(zip(IDS, RANKS, strict=True)))


def plain_cell(query, key):
    """The cell's name, found by reading the names."""
    if key < 2:
        return f"key_{key}"
    side, distance = ("distance", query - key) if key <= query else ("ahead", key - query)
    for name in CELLS:
        low, _, high = name.removeprefix(f"{side}_").partition("_")
        if name.startswith(side) and int(low) <= distance <= (10**9 if high == "up" else int(high or low)):
            return name
    raise AssertionError((query, key))


def plain_sums(attention, rank):
    """The sums over (blocks, heads, n, n) eager weights of one text, pair by pair; what is masked has exactly 0."""
    sums = defaultdict(float)
    for block, of_block in enumerate(attention.astype(float), start=1):
        for query in range(of_block.shape[-1]):
            keys = np.flatnonzero(of_block[:, query].any(axis=0))
            if len(keys) == 1:
                continue
            for head, weights in enumerate(of_block[:, query, keys], start=1):
                logs = np.log(weights)
                for key, weight, log in zip(keys, weights, logs - logs.mean(), strict=True):
                    place = (block, head, rank % 2, math.floor(math.log2(query + 1)), plain_cell(query, key))
                    for name, value in (
                        ("attention", weight),
                        ("selective", max(0.0, weight - 1 / len(keys))),
                        ("log", log),
                        ("squared_log", log**2),
                        ("pairs", 1),
                        ("uniform", 1 / len(keys)),
                        ("first", float(key == 0)),
                        ("previous", float(key == query - 1)),
                    ):
                        sums[(*place, name)] += value
    return sums


@pytest.mark.parametrize("name", NETWORKS)
def test_sums_equal_those_of_eager_weights(name):
    model, plain = tiny(NETWORKS[name]), network(NETWORKS[name])
    table, metadata = sums_of(model)
    assert metadata["n_reviews"] == 4
    expected = defaultdict(float)
    read = windows(model, IDS, EMBEDDED[:4]).tokens
    for ids, rank in zip(read.by_review, RANKS, strict=True):
        for place, value in plain_sums(reference(plain, list(ids)).attention, rank).items():
            expected[place] += value
    columns = ("attention", "selective", "log", "squared_log", "pairs", "uniform", "first", "previous")
    found = {}
    for row in table.select(*KEYS, *columns).rows():
        place = (*row[:4], CELLS[row[4]])
        found |= {(*place, column): value for column, value in zip(columns, row[5:], strict=True)}
    assert found.keys() == expected.keys()
    for place, value in expected.items():
        assert found[place] == pytest.approx(value, rel=1e-5, abs=2e-4 if "log" in place[-1] else 1e-5), place


@pytest.mark.parametrize("name", ["llama", "gemma2", "bert"])
def test_packs_and_shards_change_nothing(name):
    model = tiny(NETWORKS[name])
    whole = PositionalSums.of_table(sums_of(model)[0])
    alone = PositionalSums.of_table(sums_of(model, token_budget=1)[0])
    shards = sums_of(model, slice(0, 1))[0].vstack(sums_of(model, slice(1, None))[0])
    for other in (alone, PositionalSums.of_table(shards)):
        for block, sums in whole.by_head.items():
            np.testing.assert_allclose(other.by_head[block], sums, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(other.by_position[block], whole.by_position[block], rtol=1e-12)


def read(sums, weights, rank, causal=True, window=None, chunk=128):
    """Give weights (heads, n, n) to `sums` as a pass does."""
    n = weights.shape[-1]
    for start in range(0, n, chunk):
        stop = min(start + chunk, n)
        seen = torch.from_numpy(weights[:, start:stop, : stop if causal else n])
        add_attention(sums, AttentionMap(0, 0, n, start, 0, causal, seen, window), rank)


def mixture(rng, n, strength, templates, causal=True, window=None):
    """(1 - strength) C + strength P, (heads, n, n): random content and some templates; with its mean."""
    tokens = np.arange(n)
    seen = seen_keys(tokens, tokens, causal, window)
    content = rng.exponential(size=(2, n, n)) * seen
    content /= content.sum(axis=-1, keepdims=True)
    named = dict(zip(DICTIONARY, dictionary_templates(tokens, tokens, seen), strict=True))
    pattern = np.mean([named[name] for name in templates], axis=0)
    return (1 - strength) * content + strength * pattern, (1 - strength) * named["uniform"] + strength * pattern


@pytest.mark.parametrize("half", [0, 1])
def test_the_template_predicts_the_mean_attention(half):
    rng, sums = np.random.default_rng(0), PositionalSums()
    for rank in range(40):
        read(sums, mixture(rng, int(rng.integers(60, 300)), 0.4, ("first", "recency_8"))[0], rank)
    for n in (70, 128, 250):
        template, expected = template_of(sums, 1, n, half), mixture(rng, n, 0.4, ("first", "recency_8"))[1]
        np.testing.assert_allclose(template.sum(axis=-1), 1)
        assert not np.triu(template, 1).any()
        assert np.abs(template - expected).sum(axis=-1).mean() / 2 < 0.025
        assert template[:, 2:, 0] == pytest.approx(np.broadcast_to(expected[2:, 0], (2, n - 2)), abs=0.05)


@given(
    lengths=st.lists(st.integers(1, 200), min_size=1, max_size=4),
    n=st.integers(1, 220),
    causal=st.booleans(),
    window=st.sampled_from([None, WINDOW]),
    seed=st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_invariants(lengths, n, causal, window, seed):
    """Mass is neither lost nor made, also in random order; a template is a distribution over what a query sees."""
    rng, sums = np.random.default_rng(seed), PositionalSums()
    for rank, length in enumerate(lengths):
        read(sums, mixture(rng, length, 0.3, ("self",), causal, window)[0], rank, causal, window)
    by_head, by_position = sums.by_head[0], sums.by_position[0]
    assert by_head.shape[-1] == len(CAUSAL_CELLS if causal else CELLS)
    choosing = sum(length - (causal and length > 0) for length in lengths if length > 1)
    for name in ("attention", "permuted"):
        assert by_head[HEAD_SUMS.index(name)].sum(axis=(1, 2, 3)) == pytest.approx(choosing)
    assert by_position[-1].sum() == pytest.approx(choosing)
    if max(lengths[::2]) > 1:
        template = template_of(sums, 1, n, 0, window)
        np.testing.assert_allclose(template.sum(axis=-1), 1)
        tokens = np.arange(n)
        assert not template[:, ~seen_keys(tokens, tokens, causal, window)].any()


def test_attention_that_ignores_positions_has_the_uniform_template():
    sums = PositionalSums()
    for rank, n in enumerate((50, 90)):
        read(sums, mixture(np.random.default_rng(0), n, 1, ("uniform",))[0], rank)
    np.testing.assert_allclose(
        template_of(sums, 1, 120, 0), np.tril(1 / np.arange(1, 121)[:, None] * np.ones((2, 120, 120)))
    )


def test_a_half_without_reviews_is_named():
    sums = PositionalSums()
    read(sums, mixture(np.random.default_rng(0), 50, 1, ("uniform",))[0], 2)
    with pytest.raises(HomogenizationError, match="odd rank"):
        template_of(sums, 1, 50, 1)
