"""Metrics of the attention that tokens receive.

Each metric is a function of two arguments: the columns of the table `attention` (a mapping of name to array), and the
view, `all_tokens` or `without_first`. To add a metric, write one such function and decorate it.

It imports numpy alone, because every parse of the Snakefile reads the names.
"""

import numpy as np

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, Columns, Metric, registrar

ATTENTION_METRICS: dict[str, Metric] = {}
attention_metric = registrar(ATTENTION_METRICS)


@attention_metric(
    title="Attention received by the first token",
    label="share of all attention on the first token",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
    with_length="changes",
)
def first_token_attention_share(columns: Columns, view: str) -> np.ndarray:
    """Share of the first token in all attention, averaged over heads.

    c_1 / n. Token j receives the attention c_j; the c_j sum to n.
    """
    return columns["first_token_share"]


@attention_metric(
    title="Attention received by the first token, over uniform attention",
    label="share on the first token − its share under uniform attention",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
    with_length="same",
)
def first_token_attention_excess(columns: Columns, view: str) -> np.ndarray:
    """Share of the first token in all attention, minus its share if attention were uniform.

    c_1 / n - H_n / n in a causal model, with H_w in a block whose window holds w keys; c_1 / n - 1 / n in a
    bidirectional model without a window.
    """
    return columns["first_token_share"] - columns["uniform_first_token_share"]


@attention_metric(
    title="Attention received by the other tokens",
    label="mean attention received after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
    with_length="changes",
)
def mean_attention_without_first(columns: Columns, view: str) -> np.ndarray:
    """Mean attention received by a token after the first, where the mean over all tokens is 1.

    (n - c_1) / (n - 1); NaN for one token.
    """
    return _mean_of_rest(columns["first_token_share"], columns["n_tokens"])


@attention_metric(
    title="Attention received by the other tokens, over uniform attention",
    label="mean attention received after the first token − uniform",
    bounds=(None, None),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def mean_attention_excess_without_first(columns: Columns, view: str) -> np.ndarray:
    """Mean attention received by a token after the first, minus its value if attention were uniform."""
    n = columns["n_tokens"]
    return _mean_of_rest(columns["first_token_share"], n) - _mean_of_rest(columns["uniform_first_token_share"], n)


def _mean_of_rest(first_share: np.ndarray, n: np.ndarray) -> np.ndarray:
    return n * (1 - first_share) / np.where(n > 1, n - 1, np.nan)


@attention_metric(
    title="Attention received by early tokens",
    label="share of all attention on the first tenth of the other tokens",
    bounds=(0, 1),
    views=(WITHOUT_FIRST,),
    with_length="changes",
)
def early_attention_share(columns: Columns, view: str) -> np.ndarray:
    """Share of the first tenth of the tokens after the first in all attention.

    Sum of c_j over them (by relative position) / n; NaN for one token.
    """
    return _early_share(columns["received"], columns)


@attention_metric(
    title="Attention received by early tokens, over uniform attention",
    label="share on the first tenth of the other tokens − uniform",
    bounds=(-1, 1),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def early_attention_excess(columns: Columns, view: str) -> np.ndarray:
    """Share of the first tenth of the tokens after the first in all attention, minus its share if it were uniform."""
    return _early_share(columns["received"], columns) - _early_share(columns["uniform"], columns)


def _early_share(per_bin: np.ndarray, columns: Columns) -> np.ndarray:
    """Share of the bins up to relative position .1; `per_bin` is (rows, bins), mean attention per token."""
    n_early = max(1, per_bin.shape[1] // 10)
    counts = columns["tokens"][:, :n_early]
    sums = np.where(counts > 0, np.where(counts > 0, per_bin[:, :n_early], 0.0) * counts, 0.0).sum(axis=1)
    return np.where(columns["n_tokens"] > 1, sums / columns["n_tokens"], np.nan)


@attention_metric(
    title="Early tokens in the attention on the other tokens, over uniform attention",
    label="share of the first tenth in the others' attention − uniform",
    bounds=(-1, 1),
    views=(WITHOUT_FIRST,),
    with_length="same",
)
def early_excess_among_others(columns: Columns, view: str) -> np.ndarray:
    """Share of the first tenth in the attention on the tokens after the first, minus its share if it were uniform.

    What the first token takes from the others leaves it as it is, unlike `early_attention_excess`. NaN for one token,
    and where the others receive nothing.
    """
    received, uniform = (
        _early_share(columns[per_bin], columns) / np.where(columns[first] < 1, 1 - columns[first], np.nan)
        for per_bin, first in (("received", "first_token_share"), ("uniform", "uniform_first_token_share"))
    )
    return received - uniform
