"""The documentation says what metrics and views are: end values, baselines, tokens, configuration keys."""

import re
from math import log, sqrt

import numpy as np
import pytest

from homogenization.config.analysis import Mauve
from homogenization.config.study import Study
from homogenization.measures import views
from homogenization.measures.attention import attention_profile, uniform_attention
from homogenization.measures.geometry import token_geometry
from homogenization.measures.spectra import singular_values
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.metrics.geometry import GEOMETRY_METRICS
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch
from pages import DOCS, rows_of

METRICS_PAGE = (DOCS / "metrics.md").read_text(encoding="utf-8")
MEASURES_PAGE = (DOCS / "measures.md").read_text(encoding="utf-8")


def row_named(name: str) -> list[str]:
    """The row of docs/metrics.md whose first cell is `name`."""
    found = [row for row in rows_of(METRICS_PAGE) if row[0] == f"`{name}`"]
    assert len(found) == 1, f"docs/metrics.md has {len(found)} rows for {name}"
    return found[0]


def evaluated(expression: str, n: int, s: float) -> float:
    """The number that a cell such as `s√n` or `n^(1/4)` stands for."""
    if expression == "NaN":
        return np.nan
    spelt = {"s√": "s*√", "√n": "sqrt(n)", "ln n": "log(n)", "^": "**", "−": "-"}
    for written, python in spelt.items():
        expression = expression.replace(written, python)
    harmonic = sum(1 / k for k in range(1, n + 1))
    return eval(expression, {"sqrt": sqrt, "log": log, "n": n, "s": s, "H_n": harmonic})


def spectral_value(name: str, tokens: np.ndarray) -> float:
    values = singular_values(tokens, ["raw"])["raw"]
    return SPECTRAL_METRICS[name].compute(SpectrumBatch(values[None], np.array([len(values)])))[0]


def geometry_value(name: str, tokens: np.ndarray) -> float:
    columns = {key: np.array([value]) for key, value in token_geometry(tokens).items()}
    columns["n_tokens"] = np.array([len(tokens)])
    return GEOMETRY_METRICS[name].compute(columns, GEOMETRY_METRICS[name].views[0])[0]


@pytest.mark.parametrize("name", SPECTRAL_METRICS | GEOMETRY_METRICS)
def test_the_documented_end_values_of_a_metric_are_those_of_its_code(name):
    n, d, s = 6, 9, 2.5
    row = row_named(name)
    compute = spectral_value if name in SPECTRAL_METRICS else geometry_value
    identical, orthonormal = (row[3], row[4]) if name in SPECTRAL_METRICS else (row[4], row[5])
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(d, n)))[0].T
    same = np.tile(s * turned[0], (n, 1))
    # rounding of equal rows: the square root of 8 eps
    assert compute(name, same) == pytest.approx(evaluated(identical, n, s), abs=1e-7, nan_ok=True)
    assert compute(name, turned) == pytest.approx(evaluated(orthonormal, n, 1), abs=1e-9)


@pytest.mark.parametrize("name", ATTENTION_METRICS)
@pytest.mark.parametrize("causal", [True, False])
def test_the_documented_baseline_of_an_attention_metric_is_that_of_its_code(name, causal):
    n = 7
    cell = row_named(name)[3 if causal else 4]
    uniform = uniform_attention(n, causal)
    columns = {key: np.atleast_1d(value) for key, value in attention_profile(uniform, uniform).items()}
    columns |= {key: columns[key][None] for key in ("received", "uniform", "tokens")} | {"n_tokens": np.array([n])}
    if cell:
        value = ATTENTION_METRICS[name].compute(columns, ATTENTION_METRICS[name].views[0])[0]
        assert value == pytest.approx(evaluated(cell, n, 1))


def test_every_metric_says_which_tokens_it_is_for():
    said = {("all_tokens", "without_first"): "both", ("all_tokens",): "all tokens", ("without_first",): "without first"}
    for name, metric in (GEOMETRY_METRICS | ATTENTION_METRICS).items():
        assert row_named(name)[2] == said[metric.views], name


def test_views_metrics_and_their_configuration_are_documented():
    for name in METRIC_NAMES:
        assert f"`{name}`" in METRICS_PAGE, name
    for name in views.VIEWS:
        assert f"`{name}`" in MEASURES_PAGE, name
    keys = ["views", "metrics", "figures.views", "states.dtype", "states.record_attention"]
    for key in (*keys, *(f"mauve.{name}" for name in Mauve.model_fields)):
        assert re.search(rf"`{re.escape(key)}[`:]", METRICS_PAGE + MEASURES_PAGE), key
        section = Study
        for part in key.split("."):
            field = section.model_fields[part]
            section = field.annotation
