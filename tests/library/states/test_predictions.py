"""Loss, entropy and divergence of a text's predictions without padding."""

import numpy as np
import torch

from homogenization.states.predictions import predictions


def test_tokens_that_do_not_count_are_no_part_of_it():
    logits, ids = torch.randn(9, 20, generator=torch.Generator().manual_seed(0)), list(range(9))
    read = torch.tensor([0, 1, 1, 1, 1, 1, 1, 1, 0], dtype=torch.bool)
    assert predictions(logits, ids, read) == predictions(logits[:8], ids[:8], read[:8])
    assert np.isnan(predictions(logits, ids, read & False)).all()
