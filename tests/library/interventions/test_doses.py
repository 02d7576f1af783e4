"""What a condition does to predictions and to the sink; when a norm undoes a common factor."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

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
        # a token passes ten times the mean by a little
        ({"p0": 54.2, "p7": 9.9}, {"p0": 54.0, "p7": 10.1}, False),
        # two sinks change places by a little
        ({"p0": 30.1, "p7": 30.0}, {"p0": 30.0, "p7": 30.1}, False),
        # a second sink takes all that the first loses
        ({"p0": 50.0, "p7": 30.0}, {"p0": 1.0, "p7": 60.0}, True),
        # the sink is gone, and nothing takes its place
        ({"p0": 60.0}, {"p0": 1.0, "p7": 9.0}, False),
        # the first token can take over the sink too
        ({"p7": 40.0}, {"p0": 40.0, "p7": 1.0}, True),
    ],
)
def test_another_token_takes_over_the_sink_or_does_not(before, after, moved):
    assert sink_moved(received(**before), received(**after)) == moved


@given(
    attention=arrays(np.float64, (2, 12), elements=st.floats(0, 40, width=16), unique=True),
    order=st.permutations(range(12)),
)
def test_the_rule_knows_no_place_and_no_change_moves_nothing(attention, order):
    before, after = attention
    assert sink_moved(before[order], after[order]) == sink_moved(before, after)
    assert not sink_moved(before, before)


@pytest.mark.parametrize("n_tokens", [1, 2, 64, 65, 150])
def test_damage_is_that_of_all_positions_together(n_tokens):
    generator = torch.Generator().manual_seed(0)
    before, after = (3 * torch.randn(n_tokens, 20, generator=generator) for _ in range(2))
    ids = torch.arange(n_tokens) % 20
    kl, loss = damage(*(Run([], frozenset(), None, 0.0, logits) for logits in (before, after)), ids.numpy())
    p, q = before.double().log_softmax(-1), after.double().log_softmax(-1)
    assert kl == pytest.approx((p.exp() * (p - q)).sum(-1).mean().item(), rel=1e-5)
    expected = torch.nn.functional.nll_loss(q[:-1], ids[1:]).item()
    assert loss == pytest.approx(expected, rel=1e-5, nan_ok=True)
    assert np.isnan(loss) == (n_tokens == 1)
