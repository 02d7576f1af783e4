"""What is measured in intervened runs: the pairs of view and metric. Every parse of the Snakefile imports it."""

from collections.abc import Sequence

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.metrics.spectral import SPECTRAL_METRICS

CENTRED, AFTER_QUARTER = "centred", "after_quarter"
VIEWS = (ALL_TOKENS, WITHOUT_FIRST, CENTRED, AFTER_QUARTER)
COSINE, TO_FIRST = "cosine_anisotropy", "cosine_to_first_token"
METRICS = (COSINE, TO_FIRST, *SPECTRAL_METRICS)


def cells(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (view, metric) of `metrics`: every view, but for the cosine to the first token `all_tokens` alone."""
    return [(view, metric) for metric in metrics for view in (VIEWS if metric != TO_FIRST else (ALL_TOKENS,))]
