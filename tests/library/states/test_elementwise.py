import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.states.elementwise import review_by_review

ODD, EVEN = [torch.empty(43, 64)], [torch.empty(96, 64)]
FUNCTIONS = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu of tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "module": torch.nn.SiLU(),
    "tanh": torch.tanh,
    "method": lambda x: x.cos(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), min_size=2, max_size=6), width=st.integers(1, 70))
def test_packed_reviews_equal_single_ones_bit_for_bit(name, lengths, width):
    packed = torch.randn(1, sum(lengths), width, generator=torch.Generator().manual_seed(0))
    single = torch.cat([FUNCTIONS[name](part.clone()) for part in packed.split(lengths, dim=1)], dim=1)
    with review_by_review(ODD, lengths):
        together = FUNCTIONS[name](packed)
    np.testing.assert_array_equal(together, single)


def test_it_stays_out_of_the_way_where_nothing_remains():
    with review_by_review(ODD, [3, 4]) as mode:
        assert mode is not None
    for parameters, lengths in ((EVEN, [3, 4]), (ODD, [7]), ([], [3, 4])):
        with review_by_review(parameters, lengths) as mode:
            assert mode is None


def test_tensors_that_are_not_of_the_pack_pass_unchanged():
    tensor = torch.randn(2, 7, 5)
    expected = torch.tanh(tensor)
    with review_by_review(ODD, [3, 4]):
        np.testing.assert_array_equal(torch.tanh(tensor), expected)
        np.testing.assert_array_equal(torch.add(tensor, 1), tensor.numpy() + 1)
