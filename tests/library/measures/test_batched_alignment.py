"""What a GPU would have to do for the components of a pack: kernels that are launched, and times that it is waited for.

Counted on a CPU, which runs the same operations: each but views and allocations is a kernel, or several.
"""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from homogenization.measures import batched_alignment, components
from homogenization.measures.blocks import find_layout
from homogenization.models.tokens import tokenize
from tiny_blocks import EMBEDDED, IDENTITY, tiny
from tiny_models import CONFIGS

A_POINT, A_BATCH = 32, 4  # operations of each point, and of each batch at a point
A_SQUARING = 70  # operations of each batch whenever Gram matrices are squared
BATCHES = 8


class Operations(TorchDispatchMode):
    """Counts operations that compute, and those that need a number in main memory."""

    def __init__(self):
        super().__init__()
        self.kernels, self.waits = 0, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.__name__.split(".")[0]
        if not function.is_view and name not in ("empty", "new_empty", "detach", "_unsafe_view", "lift_fresh"):
            self.kernels += 1
        if name in ("_local_scalar_dense", "nonzero", "is_nonzero", "equal"):
            self.waits.append(name)
        return function(*args, **(kwargs or {}))


def random_lengths(n_reviews):
    return np.random.default_rng(n_reviews).integers(2, 400, n_reviews).tolist()


@pytest.mark.parametrize("n_reviews", [1, 5, 60])
def test_kernels_follow_from_the_points_and_not_from_the_reviews(n_reviews):
    lengths, n_points = random_lengths(n_reviews), 14
    states = torch.randn(sum(lengths), 16)
    batches = batched_alignment.BatchedAlignment(lengths, torch.device("cpu"))
    with Operations() as counted:
        for _ in range(n_points):
            batches.add(states)
        found = batches.numbers()
    assert found.shape == (n_points, 4, 3, n_reviews)
    assert not counted.waits
    assert counted.kernels < n_points * (A_POINT + BATCHES * A_BATCH) + BATCHES * A_SQUARING
    assert counted.kernels > n_points * 10


def test_gram_matrices_wait_no_longer_than_memory_allows(monkeypatch):
    lengths = random_lengths(9)
    states = [torch.randn(sum(lengths), 16, generator=torch.Generator().manual_seed(point)) for point in range(5)]
    squared = []

    def counted(grams):
        squared.append(grams.numel())
        return eigenvalues(grams)

    eigenvalues = batched_alignment.eigenvalues_by_squaring
    monkeypatch.setattr(batched_alignment, "eigenvalues_by_squaring", counted)

    def numbers():
        squared.clear()
        batches = batched_alignment.BatchedAlignment(lengths, torch.device("cpu"))
        for of_point in states:
            batches.add(of_point)
        return batches.numbers()

    together, of_pack = numbers(), sum(squared)
    n_batches = len(squared)
    monkeypatch.setattr(batched_alignment, "_NUMBERS_AT_ONCE", of_pack * 2 // 5)
    torch.testing.assert_close(numbers(), together, rtol=1e-13, atol=1e-13)
    assert len(squared) == 3 * n_batches, "two points, two points and one"
    for of_point, expected in zip(states, together, strict=True):
        alone = batched_alignment.batched_alignment(of_point, lengths)
        torch.testing.assert_close(alone, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("lengths", [[7], [40] * 5, [10, 500, 480, 33, 31, 2], list(range(1, 1000, 7))])
def test_batches_hold_each_review_once_and_fewest_operations(lengths):
    batches = batched_alignment._batches(tuple(lengths))
    assert sorted(review for batch in batches for review in batch) == list(range(len(lengths)))
    assert len(batches) <= BATCHES
    steps = np.ceil(np.array(lengths) / 32)
    operations = sum(len(batch) * steps[list(batch)].max() ** 3 for batch in batches)
    assert operations <= 1.2 * (steps**3).sum()


def test_a_pack_is_waited_for_twice(monkeypatch):
    """Once for the flags and once for the numbers, after the last point."""
    monkeypatch.setattr(components, "_is_gpu", lambda device: True)
    model = tiny(CONFIGS["llama"])
    names = list("abcdef")
    tokens = tokenize(model.tokenizer, names, EMBEDDED[:6], "default")
    layout, copies = find_layout(model.packed), []
    copy = torch.Tensor.cpu

    def counted_copy(tensor):
        copies.append((tensor.dtype, len(operations.waits)))
        return copy(tensor)

    monkeypatch.setattr(torch.Tensor, "cpu", counted_copy)
    with Operations() as operations:
        components._measure(model, layout, tokens, range(6), names, IDENTITY)
    assert [dtype for dtype, _ in copies] == [torch.bool, torch.float64]
    assert copies[0][1] == 0, operations.waits
