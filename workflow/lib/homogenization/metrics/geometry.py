"""Metrics of token norms and directions, and of the attention that tokens receive.

Each is a function of the columns of one of the tables `geometry` or `attention` (a mapping of name to array) and of the
tokens that are looked at: `all_tokens` or `without_first`. To add a metric, write one such function and decorate it.

Imports numpy alone: the names are read whenever the Snakefile is parsed.
"""

from collections.abc import Mapping

import numpy as np

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST, Metric, registrar

GEOMETRY_METRICS: dict[str, Metric] = {}
ATTENTION_METRICS: dict[str, Metric] = {}
geometry_metric = registrar(GEOMETRY_METRICS)
attention_metric = registrar(ATTENTION_METRICS)

BOTH = (ALL_TOKENS, WITHOUT_FIRST)
Columns = Mapping[str, np.ndarray]


def _of_view(columns: Columns, name: str, view: str) -> np.ndarray:
    return columns[name] if view == ALL_TOKENS else columns[f"{name}_{view}"]


@geometry_metric(
    title="Resultant length", label="resultant length, ‖mean x/‖x‖‖", bounds=(0, 1), views=BOTH, homogenization=1
)
def resultant_length(columns: Columns, view: str) -> np.ndarray:
    """R, the length of the mean unit token (directional statistics)."""
    return _of_view(columns, "resultant_length", view)


@geometry_metric(
    title="Cosine anisotropy", label="mean cosine of token pairs", bounds=(-1, 1), views=BOTH, homogenization=1
)
def cosine_anisotropy(columns: Columns, view: str) -> np.ndarray:
    """Mean cosine over i != j = (n R^2 - m / n) / (n - 1), m the tokens that are not zero; NaN below two tokens.

    With m = n, as nearly always, (n R^2 - 1) / (n - 1) (Godey et al. 2024).
    """
    n = columns["n_tokens"] - (view == WITHOUT_FIRST)
    length = _of_view(columns, "resultant_length", view)
    directed = _of_view(columns, "n_directed", view)
    return (n * length**2 - directed / np.maximum(n, 1)) / np.where(n > 1, n - 1, np.nan)


@geometry_metric(
    title="Dispersion of cosines", label="standard deviation of token pairs' cosines", bounds=(0, 1), views=BOTH
)
def cosine_dispersion(columns: Columns, view: str) -> np.ndarray:
    """Standard deviation of the cosines of token pairs."""
    return _of_view(columns, "cosine_std", view)


@geometry_metric(title="Modes of the cosines", label="modes of token pairs' cosines", bounds=(1, None), views=BOTH)
def cosine_modes(columns: Columns, view: str) -> np.ndarray:
    """Modes of the histogram of the cosines of token pairs; NaN without pairs.

    The histogram is smoothed by a moving average over three bins. A mode is a peak with a prominence above 5 % of the
    highest bin: both sides fall by more than that before they reach a higher peak. One mode is a turn of all tokens;
    several are groups of tokens.
    """
    return _count_modes(_of_view(columns, "cosine_histogram", view))


def _count_modes(histograms: np.ndarray) -> np.ndarray:
    """(rows, bins) counts -> (rows,) float64 number of modes, NaN where a row is all zeros.

    One pass from left to right over all rows: a rise above the lowest point since the last mode begins a mode, a fall
    below the highest point of a mode ends it, both by more than the threshold. In whole numbers, so that ties are ties.
    """
    sums = histograms.astype(np.int64)  # of three bins; nothing lies beyond the ends
    sums[:, 1:] += histograms[:, :-1]
    sums[:, :-1] += histograms[:, 1:]
    heights, threshold = 20 * sums, sums.max(axis=1)
    modes = np.zeros(len(sums))
    rising = np.zeros(len(sums), dtype=bool)  # within a mode, before its end
    extreme = np.zeros(len(sums), dtype=np.int64)  # highest point of the mode, or lowest since the last one
    for height in heights.T:
        extreme = np.where(rising, np.maximum(extreme, height), np.minimum(extreme, height))
        begins = ~rising & (height - extreme > threshold)
        ends = rising & (extreme - height > threshold)
        modes += begins
        rising ^= begins | ends
        extreme = np.where(begins | ends, height, extreme)
    return np.where(threshold > 0, modes, np.nan)


@geometry_metric(title="Norm of the first token", label="‖x₁‖", bounds=(0, None), views=(ALL_TOKENS,))
def first_token_norm(columns: Columns, view: str) -> np.ndarray:
    """|x_1|."""
    return columns["norm_first"]


@geometry_metric(
    title="Norm of the other tokens", label="median ‖x‖ after the first token", bounds=(0, None), views=(WITHOUT_FIRST,)
)
def other_token_norm(columns: Columns, view: str) -> np.ndarray:
    """Median norm of the tokens after the first."""
    return columns["norm_rest_median"]


@geometry_metric(
    title="Largest norm after the first token",
    label="max ‖x‖ after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
)
def other_token_norm_max(columns: Columns, view: str) -> np.ndarray:
    """Largest norm of the tokens after the first: massive activations need not sit on the first token."""
    return columns["norm_rest_max"]


@geometry_metric(
    title="Norm of the first token, relative",
    label="‖x₁‖ / median ‖x‖ of the others",
    bounds=(0, None),
    views=(ALL_TOKENS,),
)
def first_token_norm_ratio(columns: Columns, view: str) -> np.ndarray:
    """|x_1| / median norm of the others; NaN where that is 0."""
    others = columns["norm_rest_median"]
    return columns["norm_first"] / np.where(others > 0, others, np.nan)


@geometry_metric(
    title="Share of the first token in the energy", label="‖x₁‖² / ‖X‖²", bounds=(0, 1), views=(ALL_TOKENS,)
)
def first_token_energy_share(columns: Columns, view: str) -> np.ndarray:
    """|x_1|^2 / sum |x_i|^2: a lower bound of the maximum explainable variance."""
    return columns["squared_norm_share_first"]


@geometry_metric(
    title="Cosine to the first token",
    label="mean cosine to the first token",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
    homogenization=1,
)
def cosine_to_first_token(columns: Columns, view: str) -> np.ndarray:
    """Mean cosine of the other tokens to the first."""
    return columns["cosine_to_first"]


@attention_metric(
    title="Attention received by the first token",
    label="share of all attention on the first token",
    bounds=(0, 1),
    views=(ALL_TOKENS,),
)
def first_token_attention_share(columns: Columns, view: str) -> np.ndarray:
    """c_1 / n, with c_j the attention that token j receives, heads averaged; the c_j sum to n."""
    return columns["first_token_share"]


@attention_metric(
    title="Attention received by the first token, over uniform attention",
    label="share on the first token − its share under uniform attention",
    bounds=(-1, 1),
    views=(ALL_TOKENS,),
)
def first_token_attention_excess(columns: Columns, view: str) -> np.ndarray:
    """c_1 / n less its value under uniform attention: H_n / n in a causal model, 1 / n in a bidirectional one."""
    return columns["first_token_share"] - columns["uniform_first_token_share"]


@attention_metric(
    title="Attention received by the other tokens",
    label="mean attention received after the first token",
    bounds=(0, None),
    views=(WITHOUT_FIRST,),
)
def mean_attention_without_first(columns: Columns, view: str) -> np.ndarray:
    """(n - c_1) / (n - 1); NaN for one token."""
    return _mean_of_rest(columns["first_token_share"], columns["n_tokens"])


@attention_metric(
    title="Attention received by the other tokens, over uniform attention",
    label="mean attention received after the first token − uniform",
    bounds=(None, None),
    views=(WITHOUT_FIRST,),
)
def mean_attention_excess_without_first(columns: Columns, view: str) -> np.ndarray:
    """Mean attention received by the tokens after the first, less its value under uniform attention."""
    n = columns["n_tokens"]
    return _mean_of_rest(columns["first_token_share"], n) - _mean_of_rest(columns["uniform_first_token_share"], n)


def _mean_of_rest(first_share: np.ndarray, n: np.ndarray) -> np.ndarray:
    return n * (1 - first_share) / np.where(n > 1, n - 1, np.nan)


@attention_metric(
    title="Attention received by early tokens",
    label="share of all attention on the first tenth of the other tokens",
    bounds=(0, 1),
    views=(WITHOUT_FIRST,),
)
def early_attention_share(columns: Columns, view: str) -> np.ndarray:
    """Sum of c_j over the first tenth of the tokens after the first (by relative position) / n; NaN for one token."""
    return _early_share(columns["received"], columns)


@attention_metric(
    title="Attention received by early tokens, over uniform attention",
    label="share on the first tenth of the other tokens − uniform",
    bounds=(-1, 1),
    views=(WITHOUT_FIRST,),
)
def early_attention_excess(columns: Columns, view: str) -> np.ndarray:
    """Attention share of the first tenth of the tokens after the first, less its value under uniform attention."""
    return _early_share(columns["received"], columns) - _early_share(columns["uniform"], columns)


def _early_share(per_bin: np.ndarray, columns: Columns) -> np.ndarray:
    """Share of the bins up to relative position .1; `per_bin` is (rows, bins), mean attention per token."""
    n_early = max(1, per_bin.shape[1] // 10)
    counts = columns["tokens"][:, :n_early]
    sums = np.where(counts > 0, np.where(counts > 0, per_bin[:, :n_early], 0.0) * counts, 0.0).sum(axis=1)
    return np.where(columns["n_tokens"] > 1, sums / columns["n_tokens"], np.nan)
