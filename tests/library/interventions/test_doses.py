"""What a condition does to predictions and to the sink."""

import numpy as np
import pytest
import torch

from homogenization.interventions.doses import damage, sink_moved
from homogenization.interventions.passes import Run


def received(**places) -> np.ndarray:
    """Attention received by 100 tokens, 0.2 but at `places` (p0, p7, …)."""
    found = np.full(100, 0.2)
    for place, value in places.items():
        found[int(place[1:])] = value
    return found


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        # the first token is masked, and the second takes its place
        ({"p0": 69.1}, {"p0": 1.0, "p1": 70.4}, True),
        # the second has less than the sink had, and more than it has
        ({"p0": 69.1}, {"p0": 14.1, "p1": 31.2}, True),
        # half as much goes to a token, but the sink stays the sink
        ({"p0": 54.2}, {"p0": 26.6, "p1": 16.8}, False),
        # two sinks change places by a little
        ({"p0": 30.1, "p7": 30.0}, {"p0": 30.0, "p7": 30.1}, False),
        # the sink is gone, and nothing takes its place
        ({"p0": 60.0}, {"p0": 1.0, "p7": 9.0}, False),
        # the first token can take over the sink too
        ({"p7": 40.0}, {"p0": 40.0, "p7": 1.0}, True),
    ],
)
def test_another_token_takes_over_the_sink_or_does_not(before, after, moved):
    assert sink_moved(received(**before), received(**after)) == moved


def test_one_token_has_a_divergence_and_no_loss():
    before, after = torch.zeros(1, 4), torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    kl, loss = damage(*(Run([], frozenset(), None, 0.0, logits) for logits in (before, after)), np.array([2]))
    assert kl == pytest.approx(np.log((3 + np.e) / 4) - 0.25)
    assert np.isnan(loss)
