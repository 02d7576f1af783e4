"""Reviews in a pack have the numbers that they have alone, to the bit: on any processor, with any number of threads."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.states.network import packed_model, run_packed
from homogenization.states.review_by_review import ReviewByReview
from tiny_models import CONFIGS, network, random_texts

WEIGHT = torch.randn(24, 43, generator=torch.Generator().manual_seed(1))
FUNCTIONS = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu of tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "module": torch.nn.SiLU(),
    "tanh": torch.tanh,
    "method": lambda x: x.cos(),
    "linear": lambda x: torch.nn.functional.linear(x, WEIGHT),
    "linear with bias": lambda x: torch.nn.functional.linear(x, WEIGHT, WEIGHT[:, 0]),
    "GPT-2's linear": lambda x: torch.addmm(WEIGHT[:, 0], x.view(-1, 43), WEIGHT.T)[None],
}
REVIEWS = st.lists(st.integers(1, 200), min_size=2, max_size=6)


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(lengths=REVIEWS)
def test_each_function_gives_a_review_what_it_gives_it_alone(name, lengths):
    packed = torch.randn(1, sum(lengths), 43, generator=torch.Generator().manual_seed(0))
    single = torch.cat([FUNCTIONS[name](part.clone()) for part in packed.split(lengths, dim=1)], dim=1)
    with ReviewByReview(lengths):
        together = FUNCTIONS[name](packed)
    np.testing.assert_array_equal(together, single)


def test_linear_layers_of_a_real_width_do_too(threads):
    generator = torch.Generator().manual_seed(2)
    weight = torch.randn(384, 1536, generator=generator)
    lengths = [1, 2, 3, 8, 15, 16, 17, 70, 129, 150, 200]
    packed = torch.randn(1, sum(lengths), 1536, generator=generator)
    with ReviewByReview(lengths):
        together = torch.nn.functional.linear(packed, weight)
    for part, ours in zip(packed.split(lengths, dim=1), together.split(lengths, dim=1), strict=True):
        np.testing.assert_array_equal(ours, torch.nn.functional.linear(part.clone(), weight))


def numbers(model, texts, record_attention):
    """Every number that a pass leaves, (layers and what else there is, tokens, width)."""
    states = []
    token_ids, lengths = [token for text in texts for token in text], [len(text) for text in texts]
    result = run_packed(model, token_ids, lengths, record_attention, lambda _, taken: states.append(taken.clone()))
    received = torch.zeros(0) if result.received is None else result.received.T
    return torch.stack([*states, result.last_hidden_state]).float().numpy(), received.numpy()


@pytest.mark.parametrize("record_attention", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", CONFIGS)
def test_packed_texts_of_any_length_equal_single_ones_to_the_bit(name, dtype, record_attention, threads):
    model = packed_model(network(CONFIGS[name], dtype))

    @given(lengths=REVIEWS)
    @settings(max_examples=max(2, settings().max_examples // 25))
    def packed_equals_single(lengths):
        texts = random_texts(lengths)
        states, received = numbers(model, texts, record_attention)
        start = 0
        for text in texts:
            span = slice(start, start := start + len(text))
            alone, received_alone = numbers(model, [text], record_attention)
            np.testing.assert_array_equal(states[:, span], alone)
            np.testing.assert_array_equal(received[span], received_alone)

    packed_equals_single()


def test_tensors_that_are_not_of_the_pack_pass_unchanged():
    tensor = torch.randn(2, 7, 5)
    expected = torch.tanh(tensor)
    with ReviewByReview([3, 4]):
        np.testing.assert_array_equal(torch.tanh(tensor), expected)
        np.testing.assert_array_equal(torch.add(tensor, 1), tensor.numpy() + 1)
        np.testing.assert_array_equal(torch.tanh(input=tensor), expected)
