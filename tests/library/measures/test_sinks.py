"""Secondary sinks: what counts as one, and that a store gives what the arrays in memory give."""

import numpy as np
import polars as pl
import pytest

from extracted import run
from homogenization.measures.attention import uniform_attention
from homogenization.measures.massive import norm_excess
from homogenization.measures.reviews import measured
from homogenization.measures.sinks import (
    SINKS_SCHEMA,
    THRESHOLD,
    Sinks,
    attention_excess,
    secondary_sinks,
)
from homogenization.states.long_texts import Texts
from homogenization.states.store import open_store
from tiny_blocks import EMBEDDED, tiny
from tiny_models import CONFIGS, beginning

FOUND = ("kind", "position", "first_block", "last_block", "n_blocks", "peak")


def sinks_in(received, lengths, causal=True, windows=None):
    layers, n_blocks = np.arange(len(lengths)), len(lengths) - 1
    excess = None if received is None else attention_excess(received, causal, windows or [None] * n_blocks)
    return [tuple(sink[name] for name in FOUND) for sink in secondary_sinks(excess, lengths, layers, n_blocks)]


def attention_to(token, n, share):
    """Received attention of a causal map: later queries give `share` to the token, all the rest to themselves."""
    weights = np.eye(n)
    weights[token + 1 :] *= 1 - share
    weights[token + 1 :, token] += share
    return weights.sum(axis=0)


def test_a_token_that_later_queries_attend_to_draws_attention_and_the_last_tokens_do_not():
    n = 200
    blocks = np.stack([attention_to(0, n, 0.9), attention_to(60, n, 0.6), np.ones(n), attention_to(60, n, 0.4)])
    # with all attention on themselves, the last tokens receive 1 and 200 times uniform attention
    assert blocks[2, -1] / uniform_attention(n, causal=True)[-1] > THRESHOLD
    peak = (1 + 0.6 * 139) / uniform_attention(n, causal=True)[60]
    assert sinks_in(blocks, np.ones((5, n))) == [("attention", 60, 2, 4, 2, pytest.approx(peak))]


def test_bidirectional_uniform_attention_is_one():
    received = np.full(50, 0.5)
    received[[0, 7]] = 15.0, 10.5
    assert sinks_in(received[None], np.ones((2, 50)), causal=False) == [("attention", 7, 1, 1, 1, pytest.approx(10.5))]
    np.testing.assert_allclose(attention_excess(received[None], False, [None])[0], received, rtol=1e-14)


def test_a_window_moves_the_bar_of_its_block_alone():
    # in a causal model, a token far from the end would receive more than 1 from uniform attention, and 1 in a window
    n, early = 400, 5
    uniform = uniform_attention(n, causal=True)[early]
    received = np.ones((2, n))
    received[:, early] = 8 * uniform
    assert 10 < 8 * uniform < 10 * uniform
    assert sinks_in(received, np.ones((3, n)), windows=[None, 4]) == [
        ("attention", early, 2, 2, 1, pytest.approx(8 * uniform))
    ]


def test_long_tokens_are_those_above_ten_medians_and_massive_those_that_stay_so():
    lengths = np.random.default_rng(0).uniform(1, 2, (9, 31))
    lengths[1:, 0] = 1e3
    lengths[1, 5], lengths[2, 9] = 10.1 * np.median(lengths[1]), 9.9 * np.median(lengths[2])
    lengths[3:8, 7] = 20 * np.median(lengths[3:8], axis=1)
    found = sinks_in(None, lengths)
    assert [sink[:5] for sink in found] == [("long", 5, 1, 1, 1), ("massive", 7, 3, 7, 5)]
    assert [sink[5] for sink in found] == pytest.approx([10.1, 20])
    assert (norm_excess(lengths)[1:, 0] > THRESHOLD).all()


def test_a_review_of_one_token_and_tokens_without_norm_have_no_sinks():
    assert sinks_in(np.ones((1, 1)), np.ones((2, 1))) == []
    assert sinks_in(np.ones((1, 3)), np.zeros((2, 3))) == []


@pytest.mark.parametrize(
    ("name", "recorded", "kinds"),
    # the norm that ends each block of BERT makes all tokens alike
    [("llama", True, {"attention", "long"}), ("llama", False, {"long"}), ("bert", True, {"attention"})],
)
def test_a_store_gives_the_sinks_of_its_arrays_with_their_place_in_the_text(
    tmp_path, name, recorded, kinds, monkeypatch
):
    monkeypatch.setattr("homogenization.measures.sinks.THRESHOLD", 1.05)  # random networks have no sinks to speak of
    model = tiny(CONFIGS[name])
    texts = [beginning(model.tokenizer, text, n) for text, n in zip(EMBEDDED[:3], (50, 9, 40), strict=True)]
    texts[1] = model.tokenizer.bos_token
    run(model, Texts(list("abc"), texts), tmp_path / "s.zarr.zip", 64, recorded)
    with open_store(tmp_path / "s.zarr.zip") as store:
        (table,) = measured(Sinks(store))
        received = store.attention_received()
        expected = []
        for index, review_id in enumerate("abc"):
            tokens = slice(*store.review_offsets[index : index + 2])
            lengths = np.stack([np.linalg.norm(store.residual_stream(layer, tokens), axis=1) for layer in store.layers])
            of_review = received[:, tokens] if recorded else None
            found = sinks_in(of_review, lengths, store.causal)
            expected += [(review_id, *sink[:5]) for sink in found] or [(review_id, *[None] * 5)]
    assert table.schema == pl.Schema(SINKS_SCHEMA)
    assert table.select("review_id", *FOUND[:5]).rows() == expected
    assert set(table["kind"]) == kinds | {None}
    assert table.filter(review_id="b").select("kind", "position").rows() == [(None, None)]
    for review_id, position, start, end in (
        table.drop_nulls().select("review_id", "position", "token_start", "token_end").rows()
    ):
        text = texts["abc".index(review_id)]
        assert model.tokenizer(text, return_offsets_mapping=True)["offset_mapping"][position] == (start, end)
