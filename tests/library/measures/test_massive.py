"""Massive tokens: long through the middle, as the first of Qwen and SmolLM2; not after one block, as Gemma's commas."""

import numpy as np
import pytest

from homogenization.measures.massive import TIMES_THE_MEDIAN, are_massive


def long_after(layers, n_blocks, ratio=20.0):
    """Norms of eleven tokens, of which the fourth is so many times the median after these layers."""
    lengths = np.ones((n_blocks + 1, 11))
    lengths[list(layers), 3] = ratio
    return lengths, np.arange(n_blocks + 1) / n_blocks


@pytest.mark.parametrize(
    ("layers", "n_blocks", "massive"),
    [
        (range(3, 23), 24, True),  # the first word of Qwen2.5-0.5B
        (range(12, 30), 30, True),  # the first token of SmolLM2-135M
        ([1], 18, False),  # commas of Gemma 3 270M
        (range(16, 19), 18, False),
        (range(5, 10), 18, True),  # five of the nine layers 5 to 13
        (range(5, 9), 18, False),
        ([2], 4, True),  # the middle of four blocks is [1, 2]
        ([1], 1, True),  # one block has no middle: its output counts
        ([0], 1, False),
    ],
)
def test_a_massive_token_is_long_after_half_of_the_middle(layers, n_blocks, massive):
    found = are_massive(*long_after(layers, n_blocks))
    assert found.tolist() == [massive and token == 3 for token in range(11)]


def test_ten_times_the_median_is_not_yet_more_and_a_norm_of_zero_neither():
    assert not are_massive(*long_after(range(9), 8, ratio=TIMES_THE_MEDIAN)).any()
    assert are_massive(*long_after(range(9), 8, ratio=1.001 * TIMES_THE_MEDIAN)).sum() == 1
    assert not are_massive(np.zeros((5, 4)), np.arange(5) / 4).any()
