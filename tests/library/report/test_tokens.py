"""What is said of tokens: against numpy on a store; pieces of texts; key phrases; how much fits on a page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homogenization.report.examples import MEASURES
from homogenization.report.tokens import (
    PAGE_BYTES,
    in_phrases,
    pieces,
    rows_of_text,
    sizes,
)
from homogenization.states.store import open_store
from stored import LENGTHS, N_BLOCKS, write


def test_every_number_of_a_token_by_its_definition(tmp_path):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(N_BLOCKS + 1, sum(LENGTHS), 5)).astype(np.float32)
    states[1, sum(LENGTHS[:2])] *= 1000  # a massive first token
    states[2, -1] = 0  # a token without a direction
    received = rng.uniform(size=(N_BLOCKS, sum(LENGTHS))).astype(np.float32)
    write(tmp_path / "a.zarr.zip", states, LENGTHS, received=received)
    start, n = sum(LENGTHS[:2]), LENGTHS[2]
    uniform = [sum(1 / seen for seen in range(place, n + 1)) for place in range(1, n + 1)]
    with open_store(tmp_path / "a.zarr.zip") as store:
        rows = list(rows_of_text(store, 2, n_tokens=10, n_matrix=4, matrix_layers=[0, 2]))
    for layer, row in enumerate(rows):
        tokens = states[layer, start : start + n].astype(np.float64)
        lengths = np.linalg.norm(tokens, axis=1)
        units = np.array([token / length if length else token for token, length in zip(tokens, lengths, strict=True)])
        mean = units.mean(axis=0)
        assert row["layer"] == layer
        np.testing.assert_allclose(row["norm"], lengths[:10])
        np.testing.assert_allclose(row["cosine_to_mean"], (units @ mean / np.linalg.norm(mean))[:10])
        np.testing.assert_allclose(row["cosine_to_first"], (units @ units[0])[:10])
        if layer == 0:
            assert row["attention"] is None
        else:
            np.testing.assert_allclose(row["attention"], received[layer - 1, start : start + 10] / uniform[:10])
        if layer == 1:
            assert row["cosines"] is None
        else:
            pairs = [units[i] @ units[j] for i in range(4) for j in range(i, 4)]
            np.testing.assert_allclose(row["cosines"], pairs, atol=1e-12)


def test_the_mean_cosine_to_the_mean_direction_is_the_resultant_length(tmp_path):
    states = np.random.default_rng(1).normal(size=(N_BLOCKS + 1, sum(LENGTHS), 5)).astype(np.float32)
    write(tmp_path / "a.zarr.zip", states, LENGTHS)
    with open_store(tmp_path / "a.zarr.zip") as store:
        for row in rows_of_text(store, 0, 100, 100, []):
            tokens = states[row["layer"], : LENGTHS[0]].astype(np.float64)
            resultant = np.linalg.norm((tokens / np.linalg.norm(tokens, axis=1)[:, None]).mean(axis=0))
            assert np.mean(row["cosine_to_mean"]) == pytest.approx(resultant, rel=1e-12)
            assert row["attention"] is None, "it was not recorded"


@given(st.text(min_size=1, max_size=30), st.data())
def test_pieces_are_the_text(text, data):
    """Tokens with blanks between them, two tokens of one character, tokens outside of the text."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    inner = [(start, end) for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end]
    offsets = np.array([(0, 0), *inner, inner[-1], (0, 0)])
    found = pieces(text, offsets)
    assert len(found) == len(offsets)
    assert "".join(found) == text
    assert found[0] == found[-1] == found[-2] == ""
    assert pieces("A  bad film", np.array([(0, 1), (3, 6), (6, 11)])) == ["A", "  bad", " film"]


def test_a_token_is_in_a_phrase_that_it_shares_a_character_with():
    offsets = np.array([(0, 0), (0, 3), (3, 8), (8, 12)])
    assert in_phrases(offsets, [(4, 8)]) == [False, False, True, False]
    assert in_phrases(offsets, [(4, 9)]) == [False, False, True, True]


@given(st.integers(1, 60), st.integers(2, 90), st.integers(8, 500), st.integers(2, 200), st.integers(1, 30))
def test_a_page_stays_within_its_bytes(n_texts, n_layers, tokens, matrix_tokens, matrix_layers):
    layers = list(range(n_layers))
    shown, n_matrix, with_matrix = sizes(n_texts, layers, tokens, matrix_tokens, matrix_layers)
    assert 0 < shown <= tokens
    assert n_matrix <= min(shown, matrix_tokens)
    assert with_matrix[-1] == layers[-1], "the output has a matrix"
    assert len(set(with_matrix)) == len(with_matrix) <= matrix_layers
    bytes_of_values = n_layers * len(MEASURES) * shown
    bytes_of_matrices = len(with_matrix) * n_matrix * (n_matrix + 1) // 2
    if len(with_matrix) > 1:
        assert n_texts * (bytes_of_values + bytes_of_matrices) <= PAGE_BYTES
