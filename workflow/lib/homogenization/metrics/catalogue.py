"""Every metric by name, and the lists of names that configuration, tables and figures select from."""

from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.registry import ALL_TOKENS, Metric
from homogenization.metrics.spectral import SPECTRAL_METRICS

# Contrasted beside the others: what depends on it may answer to it. All tables of matrices have it.
TOKEN_COUNT = "n_tokens"
_COUNT = Metric(TOKEN_COUNT, len, "Number of tokens", "tokens", "grows", bounds=(1, None), views=(ALL_TOKENS,))

_METRICS = {**SPECTRAL_METRICS, **GEOMETRY_METRICS, TOKEN_COUNT: _COUNT, **ATTENTION_METRICS}

METRIC_NAMES = tuple(_METRICS)

_ATTRACTION = "cosine_to_first_token"  # close to the first token is not close to each other


def describe_metric(name: str) -> Metric:
    """The registered metric `name`, with its title and label."""
    return _METRICS[name]


def likeness(name: str) -> int:
    """1 or -1, the sign of a difference in a metric if tokens grow alike; 0 where it is about something else."""
    return _METRICS[name].homogenization if name in _METRICS and name != _ATTRACTION else 0
