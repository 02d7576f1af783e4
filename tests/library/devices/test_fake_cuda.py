"""The stand-in for a CUDA device keeps torch's rules: which devices may meet, what waits, what launches a kernel."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import embedding, scaled_dot_product_attention

from fake_cuda import CPU, CUDA_0, CUDA_1, FakeCuda
from homogenization.states.attention import _causal_bias

MIXED = {
    "a sum": lambda here, there: here(2, 3) + there(2, 3),
    "a sum with a number of the other": lambda here, there: here(2, 3) + there(),
    "a sum in place": lambda here, there: here(2, 3).add_(there(2, 3)),
    "a product": lambda here, there: here(2, 3) @ there(3, 2),
    "a concatenation": lambda here, there: torch.cat([here(2), there(2)]),
    "a choice": lambda here, there: torch.where(here(2) > 0, here(2), there(2)),
    "a choice of a number": lambda here, there: torch.where(here(2) > 0, here(2), there()),
    "rows": lambda here, there: embedding(there(2).long(), here(3, 2)),
    "rows in order": lambda here, there: here(3, 2).index_select(0, there(2).long()),
    "filling": lambda here, there: here(2).masked_fill(there(2) > 0, 1.0),
    "attention": lambda here, there: scaled_dot_product_attention(
        here(1, 1, 2, 4), here(1, 1, 2, 4), there(1, 1, 2, 4)
    ),
}
PLACES = [(CUDA_0, CPU), (CPU, CUDA_0), (CUDA_0, CUDA_1)]


def outcome(mixed, here, there):
    """The device of what comes out, or None for an error."""
    try:
        return mixed(*(lambda *shape, at=at: torch.ones(shape, device=at) for at in (here, there))).device
    except (RuntimeError, NotImplementedError):
        return None


@pytest.mark.parametrize("mixed", MIXED)
@pytest.mark.parametrize("places", PLACES, ids=str)
def test_devices_meet_where_they_do_in_torch(mixed, places):
    with FakeCuda():
        found = outcome(MIXED[mixed], *places)
    with FakeTensorMode():
        assert found == outcome(MIXED[mixed], *places)


def test_the_comparison_is_of_both_outcomes(cuda):
    found = {outcome(mixed, *places) for mixed in MIXED.values() for places in PLACES}
    assert found == {None, CUDA_0}


def test_what_another_device_holds_is_not_there_and_nothing_is_left_to_it():
    """A GPU of the same name is such a device."""
    uploaded = [_causal_bias(2, torch.float32, CPU)]
    for _ in range(2):
        with FakeCuda():
            uploaded.append(_causal_bias(2, torch.float32, CPU))
    uploaded.append(_causal_bias(2, torch.float32, CPU))
    assert len(set(map(id, uploaded))) == 4


def test_numbers_are_those_of_the_cpu(cuda):
    tensor = torch.arange(12.0, device=CUDA_0).reshape(3, 4)
    tensor[1:, 0] += tensor[0, 1:3]
    tensor[[0, 2]] = tensor[[2, 0]] * 2
    expected = torch.arange(12.0).reshape(3, 4)
    expected[1:, 0] += expected[0, 1:3]
    expected[[0, 2]] = expected[[2, 0]] * 2
    assert tensor.is_cuda
    assert tensor.tolist() == expected.tolist()
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        tensor.numpy()


@pytest.mark.parametrize(
    ("transfer", "kind"),
    [
        (lambda tensor: tensor.cpu(), "copy"),
        (lambda tensor: tensor.to("cpu", torch.float64, copy=True), "copy"),
        (lambda tensor: tensor.tolist(), "copy"),
        (lambda tensor: torch.empty(4).copy_(tensor), "copy"),
        (lambda tensor: tensor.sum().item(), "number"),
        (lambda tensor: float(tensor[0]), "number"),
        (lambda tensor: bool((tensor > 1).all()), "number"),
        (lambda tensor: tensor[tensor > 1], "number"),
        (lambda tensor: tensor.nonzero(), "number"),
        (lambda tensor: tensor.unique(), "number"),
        (lambda tensor: torch.equal(tensor, tensor), "number"),
        (lambda tensor: torch.allclose(tensor, tensor), "number"),
    ],
)
def test_what_waits_for_the_device_is_noted(cuda, transfer, kind):
    transfer(torch.ones(4, device=CUDA_0))
    assert cuda.to_host == {("no function of the library", kind): 1}


def test_what_stays_on_the_device_is_no_transfer(cuda):
    tensor = torch.ones(4, device=CUDA_0)
    tensor.to(torch.float64), tensor.to(CUDA_1), tensor[1:], tensor.to(CUDA_0)
    assert not cuda.to_host
    assert not cuda.uploads
    cuda.clear()
    torch.tensor([1, 2], device=CUDA_0), torch.ones(2).to(CUDA_0), tensor.new_tensor([1.0]), tensor[[0, 1]]
    assert sum(cuda.uploads.values()) == 4


def test_views_and_allocations_launch_nothing(cuda):
    tensor = torch.ones(4, 6, device=CUDA_0)
    cuda.clear()
    tensor.reshape(8, 3).T[1:, None].unsqueeze(0), tensor.split(2), tensor.new_empty(3), torch.empty_like(tensor)
    assert not cuda.kernels
    tensor.T.reshape(8, 3), tensor @ tensor.T, tensor.zero_(), tensor.double()
    assert sum(cuda.kernels.values()) == 4
