from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import CORRELATED_METRICS, METRIC_NAMES, describe_metric
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS


def test_metrics_of_geometry_and_attention_are_described():
    for registry in (GEOMETRY_METRICS, ATTENTION_METRICS):
        for name, described in registry.items():
            assert described.name == name
            assert described.title
            assert described.label
            assert set(described.views) <= {"all_tokens", "without_first"}
            assert described.views


def test_every_metric_by_name():
    assert (*SPECTRAL_METRICS, *GEOMETRY_METRICS, *ATTENTION_METRICS) == METRIC_NAMES
    assert len(set(METRIC_NAMES)) == len(METRIC_NAMES)
    assert all(describe_metric(name).name == name for name in METRIC_NAMES)
    assert set(CORRELATED_METRICS) <= set(METRIC_NAMES)
