"""Loss, entropy and divergence of a text's predictions in closed form."""

import numpy as np
import pytest
import torch

from homogenization.states.predictions import predictions

EVERY = torch.ones(200, dtype=torch.bool)


def test_equal_predictions_have_no_divergence():
    found = predictions(torch.zeros(200, 50), [7] * 200, EVERY)
    assert found.loss == pytest.approx(199 * np.log(50), rel=1e-6)
    assert found.entropy == pytest.approx(np.log(50), rel=1e-6)
    assert found.divergence == pytest.approx(0, abs=1e-6)


def test_certain_predictions_of_different_tokens_have_the_largest_divergence():
    ids = [*range(50), 0]
    logits = torch.full((51, 50), -1e4)
    logits[torch.arange(50), torch.tensor(ids[1:])] = 0
    found = predictions(logits, ids, EVERY[:51])
    assert (found.loss, found.entropy) == (0, 0)
    assert found.divergence == pytest.approx(np.log(50), rel=1e-6)


def test_tokens_that_do_not_count_are_no_part_of_it():
    logits, ids = torch.randn(9, 20, generator=torch.Generator().manual_seed(0)), list(range(9))
    read = torch.tensor([0, 1, 1, 1, 1, 1, 1, 1, 0], dtype=torch.bool)
    assert predictions(logits, ids, read) == predictions(logits[:8], ids[:8], read[:8])
    assert np.isnan(predictions(logits, ids, EVERY[:9] & False)).all()
