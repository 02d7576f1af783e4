"""How alike the tokens of packed reviews are: by the definitions, in closed form, and where nothing is defined."""

import numpy as np
import pytest
import torch
from hypothesis import given

from homogenization.measures.alignment import largest_by_lanczos, token_alignment
from homogenization.measures.batched_alignment import batched_alignment, eigenvalues_by_squaring
from measured import degenerate_tokens, plain_numbers

WAYS = pytest.mark.parametrize("aligned", [token_alignment, batched_alignment])


@WAYS
def test_the_opening_tokens_massive_activation_dominates_one_view_alone(aligned):
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((200, 150))
    tokens[0] *= 1e4
    found = aligned(torch.tensor(tokens), [200])[:, :, 0].numpy()
    (_, cosine, share), (_, cosine_rest, share_rest), *_ = found
    energy = (tokens[0] ** 2).sum() / (tokens**2).sum()
    assert energy <= share < 1
    assert share_rest < 0.1
    assert max(abs(cosine), abs(cosine_rest)) < 0.01


@WAYS
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [20, 90, 300])
def test_numbers_equal_their_definitions(width, dtype, aligned):
    rng = np.random.default_rng(1)
    lengths = [1, 2, 3, 31, 32, 33, 100, 40, 2, 91]
    scale = 10 ** rng.uniform(-3, 3, size=(sum(lengths), 1))  # one token may be 10^6 times another
    states = torch.tensor(rng.standard_normal((sum(lengths), width)) * scale + 0.3).to(dtype)
    found = aligned(states, lengths).numpy()
    for review, tokens in enumerate(states.double().split(lengths)):
        for view, seen in enumerate((tokens, tokens[1:])):
            np.testing.assert_allclose(found[view, :, review], plain_numbers(seen), rtol=1e-10, atol=1e-12)
            if len(seen) > 2:  # of two centred tokens, rounding decides how opposite they are
                centred = seen - seen.mean(dim=0)
                np.testing.assert_allclose(found[view + 2, :, review], plain_numbers(centred), rtol=1e-9, atol=1e-9)


@WAYS
def test_numbers_in_closed_form(aligned):
    identical = torch.ones(5, 1) * torch.arange(1.0, 41.0)
    orthonormal = torch.eye(40)[:7] * 3
    opposite = torch.tensor([[1.0], [-1.0]]) @ torch.ones(1, 40)
    found = aligned(torch.cat([identical, orthonormal, opposite]), [5, 7, 2])[0].numpy()
    norm = np.sqrt(40 * 41 * 81 / 6)
    np.testing.assert_allclose(found[0], [norm, 3, np.sqrt(40)], rtol=1e-14)
    np.testing.assert_allclose(found[1], [1, 0, -1], atol=1e-14)
    np.testing.assert_allclose(found[2], [1, 1 / 7, 1], rtol=1e-14)


@WAYS
def test_what_is_undefined_is_missing(aligned):
    found = aligned(torch.cat([torch.ones(1, 8), torch.zeros(3, 8)]), [1, 3]).numpy()
    np.testing.assert_allclose(found[0, :, 0], [np.sqrt(8), np.nan, 1], rtol=1e-15)
    assert np.isnan(found[1, :, 0]).all()
    assert np.isnan(found[2:, 2]).all()  # nothing is left of equal tokens
    assert (found[:, :2, 1] == 0).all()
    assert np.isnan(found[:, 2, 1]).all()


def gram_of(values, seed=2) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (basis * values) @ basis.T


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize(
    ("values", "fast"),
    [
        ([1.0, *[0.0] * 99], True),
        ([1.0, *np.linspace(0.1, 0, 99)], True),
        ([1.0, 1.0, *[0.0] * 98], False),
        ([1.0, 1 - 1e-12, *[0.5] * 98], False),
        ([1.0, *[0.99] * 99], False),
        ([1.0] * 100, False),
    ],
)
def test_lanczos_finds_a_dominant_eigenvalue_and_knows_where_it_does_not(values, fast, scale):
    """Equal and neighbouring eigenvalues; a dominant one, as states have."""
    found = largest_by_lanczos(gram_of(np.array(values)) * scale)
    np.testing.assert_allclose(found, scale if fast else np.nan, rtol=1e-14)


def test_an_eigenvalue_that_lanczos_cannot_see_is_not_missed():
    """Where the first vector has nothing of the largest eigenvalue's, Lanczos ends at the second."""
    start = np.random.default_rng(0).standard_normal(100)  # what it starts from
    hidden = np.linalg.qr(np.stack([start, np.arange(100.0)], axis=1))[0][:, 1]
    others = np.eye(100) - np.outer(hidden, hidden)
    gram = others @ gram_of([0.9, *np.linspace(0.1, 0, 99)]) @ others + np.outer(hidden, hidden)
    expected = np.linalg.eigvalsh(gram)[-1]
    assert expected > 0.99
    assert not abs(largest_by_lanczos(gram) - expected) > 1e-14
    assert np.isnan(largest_by_lanczos(np.zeros((100, 100))))


@pytest.mark.parametrize("shape", [(100, 150), (150, 100)])
def test_reviews_without_a_dominant_direction_are_measured_too(shape):
    """Orthogonal tokens of equal length: Lanczos proves nothing, all eigenvalues are equal."""
    tokens = np.linalg.qr(np.random.default_rng(3).standard_normal((150, 150)))[0][: shape[0], : shape[1]]
    found = token_alignment(torch.tensor(tokens), [shape[0]])[:2, 2, 0].numpy()
    np.testing.assert_allclose(found, [plain_numbers(seen)[2] for seen in (tokens, tokens[1:])], rtol=1e-12)


@WAYS
@given(tokens=degenerate_tokens())
def test_degenerate_reviews_have_the_numbers_of_the_definitions(aligned, tokens):
    found = aligned(torch.from_numpy(tokens), [len(tokens)])[:2, :, 0].numpy()
    for numbers, seen in zip(found, (tokens, tokens[1:]), strict=True):
        expected = plain_numbers(seen)
        np.testing.assert_allclose(numbers[[0, 2]], [expected[0], expected[2]], rtol=1e-8)
        np.testing.assert_allclose(numbers[1], expected[1], atol=1e-12)


def test_a_solver_without_a_result_proves_nothing(monkeypatch):
    def failing(_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "eigh", failing)
    assert np.isnan(largest_by_lanczos(gram_of([1.0, *[0.0] * 99])))


def test_no_reviews_have_no_numbers():
    assert token_alignment(torch.empty(0, 8), []).shape == (4, 3, 0)


@pytest.mark.parametrize("gap", [0.0, 2**-40, 1e-9, 1e-4, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_squaring_finds_the_largest_eigenvalue_whatever_the_gap(gap, scale):
    rng = np.random.default_rng(2)
    basis = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.concatenate([[1.0], np.full(30, 1 - gap), rng.uniform(0, 1 - gap, 29)])
    gram = torch.tensor((basis * values) @ basis.T * scale)
    found = eigenvalues_by_squaring(torch.stack([gram, 2 * gram])).numpy()
    np.testing.assert_allclose(found, [scale, 2 * scale], rtol=59 / (np.e * 2**40))
    assert torch.isnan(eigenvalues_by_squaring(torch.zeros(1, 5, 5, dtype=torch.float64))).all()
