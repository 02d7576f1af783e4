"""Attribution: what a pattern of steering delivers to the tokens of a block, and what that does to their mean cosine.

For A' = A + λ (P - A), attention adds w_i = sum over heads h of W_O,h sum_j P_ij v_hj to token i for a unit of λ,
besides what it takes away; `first` delivers one vector to all tokens. What is taken away is the same for all patterns,
and the pattern `removed` takes it away alone: the slope of a pattern minus that of `removed` is what the delivered rows
do.

Let x_i be the n tokens in the stream, u_i = x_i / |x_i| and R = sum u_i, so that their mean cosine is
C = (|R|² - n) / (n (n - 1)). Adding λ w_i to x_i turns u_i by λ (w_i - (w_i·u_i) u_i) / |x_i|, and to first order

    dC/dλ = 2 / (n (n - 1)) sum_i (w_i·R - (w_i·u_i) (u_i·R)) / |x_i|.

For one w and tokens of one length, split w and u_i along R and across it, w = |w| (cos m + t) and a_i = u_i·m with
m = R / |R|. The sum is |w| |R| (cos sum_i (1 - a_i²) - sum_i a_i t·u_i), and sum_i t·u_i = 0: unless tokens that point
along m also point along t, the sign of dC/dλ is that of the cosine of w and R.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from homogenization.interventions.changes import sight
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.readings import tokens_left
from homogenization.interventions.recorded import Recorded, RecordedBlock, on_host
from homogenization.interventions.schemas import ATTRIBUTION_NUMBERS
from homogenization.metrics.cosines import inverse, norms
from homogenization.metrics.differentiable import cosine_anisotropy


def attribution_of_review(recorded: Recorded, draw: bytes, patterns: Sequence[str]) -> np.ndarray:
    """What patterns deliver in each block, to the tokens without the first and the massive ones.

    The stream is taken where the attention of the block is in it: before the feed-forward network, after a norm that
    follows the addition, and at the end of a block whose branches are parallel. Cosine and length are those of the rows
    that the block adds to the stream if attention puts out the pattern's rows alone: where a norm stands inside the
    branch (Gemma 2, Gemma 3), its output. Its derivative takes away what points along the rows that attention puts out
    already, and so says nothing of where the delivered rows point; the first-order change and the slopes are those of
    the derivative. The same holds of a norm that follows the addition (BERT), whose rows are those of the derivative.
    Rows of queries that do not see the first token, which no pattern changes, count nowhere.

    Args:
        recorded: a pass over one review, with a layout.
        draw: the name of the review's draws.
        patterns: names of P.

    Returns:
        float64 (blocks, patterns, 5), NaN for fewer than two tokens: the mean cosine of the delivered rows with the
        mean direction of the tokens; their length over that of their token, the mean (both NaN where no row has a
        direction); the first-order change of the mean cosine there by the module's formula; and, measured by
        reverse-mode differentiation, the slope of the pattern minus that of `removed` after the block and after the
        last block.
    """
    numbers = np.full((recorded.n_blocks, len(patterns), len(ATTRIBUTION_NUMBERS)), np.nan)
    left = tokens_left(len(recorded.layers[0]), recorded.massive)
    if len(left) < 2:
        return numbers
    output = recorded.layers[-1].detach().requires_grad_()
    (at_output,) = torch.autograd.grad(cosine_anisotropy(output[left]), output)

    def read(block: RecordedBlock, by_weights: list[list[torch.Tensor]]) -> None:
        after_block = torch.autograd.grad(cosine_anisotropy(block.output[left]), block.probes, retain_graph=True)
        added_by = _brings(block.resid_mid, block.probes)
        attn_out_by = None if block.attn_out is None else _brings(block.attn_out, block.probes)
        tokens = block.resid_mid.detach()[left]
        sights = [sight(attention, draw) for attention in block.maps]
        for number, name in enumerate(patterns):
            rows = [view.of_first(PATTERNS[name](view)) for view in sights]
            slopes = [_inner(of_weights, rows) for of_weights in (after_block, by_weights[0])]
            cosine, length, predicted = added_to(tokens, added_by(rows)[left])
            if attn_out_by is not None:
                cosine, length, _ = added_to(tokens, block.behind(attn_out_by(rows))[left])
            numbers[block.index, number] = cosine, length, predicted, *on_host(torch.stack(slopes))

    recorded.backwards([at_output], read)
    return numbers


def _brings(states: torch.Tensor, probes: Sequence[torch.Tensor]) -> Callable[[Sequence[torch.Tensor]], torch.Tensor]:
    """A function of changes of the weights: what they add to `states` to first order."""
    # linear in what is pulled back: its derivative by that is what a change of the weights adds
    pulled = torch.zeros_like(states, requires_grad=True)
    by_weights = torch.autograd.grad(states, probes, pulled, create_graph=True)
    return lambda rows: torch.autograd.grad(_inner(by_weights, rows), pulled, retain_graph=True)[0]


def _inner(gradients: Sequence[torch.Tensor], rows: Sequence[torch.Tensor]) -> torch.Tensor:
    return sum((gradient * of_chunk).sum() for gradient, of_chunk in zip(gradients, rows, strict=True))


def added_to(tokens: torch.Tensor, added: torch.Tensor) -> tuple[float, float, float]:
    """What rows that are added to tokens do to their mean cosine, to first order; both (n, d), n > 1.

    Returns:
        The mean cosine of `added` with the mean direction of `tokens` and the mean length of `added` over that of its
        token, of rows that are not zero and NaN without any; and dC/dλ at 0 of tokens + λ added. A token of zeros has
        no direction and adds 0 to the sums.
    """
    scale, sizes = inverse(norms(tokens)), norms(added)
    units = tokens * scale[:, None]
    resultant = units.sum(dim=0)
    along, n = added @ resultant, len(tokens)
    there = sizes > 0
    cosine, length = (along / (sizes * norms(resultant)))[there].mean(), (sizes * scale)[there].mean()
    turned = (along - (added * units).sum(dim=1) * (units @ resultant)) * scale
    return float(cosine), float(length), float(2 * turned.sum() / (n * (n - 1)))
