"""Every metric by name, and the lists of names that configuration, tables and figures select from."""

from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.registry import Metric
from homogenization.metrics.spectral import SPECTRAL_METRICS

_METRICS = {**SPECTRAL_METRICS, **GEOMETRY_METRICS, **ATTENTION_METRICS}

METRIC_NAMES = tuple(_METRICS)

# Contrasted beside the others: what depends on it may answer to it.
TOKEN_COUNT = "n_tokens"

# The table `first_token` and the figure `first_token_scatter` are made where all of these are configured.
CORRELATED_METRICS = ("max_explainable_variance", "first_token_norm", "first_token_energy_share")


# Metrics that change with the number of tokens alone, found by simulation (tests/library/metrics/test_length.py): fewer
# tokens of the same kind move their mean over texts by more than half of its spread over texts.
DEPENDS_ON_LENGTH = frozenset(_METRICS) - {
    "cosine_anisotropy",
    "cosine_dispersion",
    "cosine_modes",
    "cosine_to_first_token",
    "early_attention_excess",
    "early_excess_among_others",
    "first_token_attention_excess",
    "first_token_norm",
    "first_token_norm_ratio",
    "mean_attention_excess_without_first",
    "other_token_norm",
}


def describe_metric(name: str) -> Metric:
    """The registered metric `name`, with its title and label."""
    return _METRICS[name]


def depends_on_length(name: str) -> bool:
    """Whether a metric changes with the number of tokens alone (`DEPENDS_ON_LENGTH`)."""
    return name in DEPENDS_ON_LENGTH
