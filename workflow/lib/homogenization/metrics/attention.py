"""Metrics of the attention that tokens receive in one block.

To add a metric, write one function of a `ReceivedAttention` and decorate it: the measure job writes it as a column. It
imports numpy alone, because every parse of the Snakefile reads the names.
"""

from dataclasses import dataclass

import numpy as np

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, Metric, registrar

ATTENTION_METRICS: dict[str, Metric] = {}
attention_metric = registrar(ATTENTION_METRICS)

_SINK = 0.3  # mean attention to the first token from which a head counts as a sink (Gu et al. 2025)


@dataclass(frozen=True)
class ReceivedAttention:
    """Attention in one block over one review of n tokens, n >= 1.

    Attributes:
        received: (n,) float64, c_j = sum_i A_ij that token j receives, A averaged over heads; they sum to n, or to less
            where the block has learned sinks.
        uniform: (n,) the same if every query attended equally to all that it can see.
        first: (heads,) mean attention of each head to the first token.
    """

    received: np.ndarray
    uniform: np.ndarray
    first: np.ndarray


@attention_metric(
    title="Attention received by the first token",
    label="share of all attention on the first token",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def first_token_attention_share(attention: ReceivedAttention) -> float:
    """Share of the first token in all attention, averaged over heads: c_1 / n."""
    return float(attention.received[0] / len(attention.received))


@attention_metric(
    title="Attention received by the first token, over uniform attention",
    label="share on the first token − its share under uniform attention",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
    with_length="same",
)
def first_token_attention_excess(attention: ReceivedAttention) -> float:
    """Share of the first token in all attention, minus its share if attention were uniform.

    c_1 / n - H_n / n in a causal model, with H_w in a block whose window holds w keys; c_1 / n - 1 / n in a
    bidirectional model without a window.
    """
    return float((attention.received[0] - attention.uniform[0]) / len(attention.received))


@attention_metric(
    title="Early tokens in the attention on the other tokens, over uniform attention",
    label="share of the first tenth in the others' attention − uniform",
    bounds=(-1, 1),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def early_excess_among_others(attention: ReceivedAttention) -> float:
    """Share of the first tenth in the attention on the tokens after the first, minus its share if it were uniform.

    What the first token takes from the others leaves it as it is. The first tenth are the tokens whose relative
    position j / (n - 1), j = 1 .. n - 1, is below .1. NaN for fewer than 12 tokens, of which none is, and where the
    others receive nothing.
    """
    return _early_share(attention.received[1:]) - _early_share(attention.uniform[1:])


def _early_share(others: np.ndarray) -> float:
    early = np.arange(1, len(others) + 1) * 10 < len(others)
    return float(others[early].sum() / (others.sum() or np.nan)) if early.any() else np.nan


@attention_metric(
    title="Attention sinks",
    label="share of heads whose mean attention to the first token is above .3",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def sink_rate(attention: ReceivedAttention) -> float:
    """Share of the heads of a block whose mean attention to the first token is above .3 (Gu et al. 2025)."""
    return float((attention.first > _SINK).mean())
