"""Planned operations, against torch's counter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from described import ALL, described
from homogenization.plan.architecture import Architecture
from homogenization.plan.costs import matrix_operations
from homogenization.states.network import packed_model, run_packed
from tiny_models import VOCABULARY, network

LENGTHS = [256, 130, 1, 40]


def counted(config, recorded, device="cpu"):
    """Operations of a pass over reviews of `LENGTHS`, as torch counts them."""
    model = packed_model(network(config).to(device))
    ids = np.random.default_rng(0).integers(3, VOCABULARY, sum(LENGTHS))
    with FlopCounterMode(display=False) as counter:
        run_packed(model, ids, LENGTHS, recorded, lambda layer, states: None)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", ALL)
def test_operations_are_those_that_torch_counts_where_attention_is_recorded(name, tmp_path):
    planned = matrix_operations(described(ALL[name], tmp_path), np.array(LENGTHS), True)
    # a window leaves some out; the angles of rotary positions, a router and a pooler's one token are counted on top
    least, most = (0.7, 0.999) if name in ("gemma2", "qwen2_sliding") else (1, 1.005)
    assert least * planned <= counted(ALL[name], True) <= most * planned


@pytest.mark.parametrize("name", ["bert", "llama", "gpt2"])
def test_operations_of_fused_attention_leave_out_what_is_masked(name, tmp_path):
    architecture = described(ALL[name], tmp_path)
    planned = matrix_operations(architecture, np.array(LENGTHS), False)
    masked = sum(n * (n - 1) // 2 for n in LENGTHS) if architecture.causal else 0
    # torch's counter takes all pairs of a fused kernel, and none of the CPU's
    with_masked = planned + 4 * 48 * 3 * masked
    assert with_masked <= counted(ALL[name], False, device="meta") <= 1.005 * with_masked


@given(lengths=st.lists(st.integers(1, 600), min_size=1, max_size=5), causal=st.booleans(), recorded=st.booleans())
@settings(max_examples=200)
def test_attention_pairs_are_counted_one_by_one(lengths, causal, recorded):
    def keys_seen(query, n):
        if not causal:
            return n
        return min(n, (query // 128 + 1) * 128) if recorded else query + 1

    pairs = sum(keys_seen(query, n) for n in lengths for query in range(n))
    architecture = Architecture("T", 0, 0, 0, 1, 1, 1, 1, 1, causal, False)
    assert matrix_operations(architecture, np.array(lengths), recorded) == 4 * pairs
