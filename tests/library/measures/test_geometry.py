import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homogenization.measures.geometry import GEOMETRY_SCHEMA, Geometry, token_geometry
from homogenization.measures.reviews import measured
from homogenization.metrics.geometry import GEOMETRY_METRICS
from measured import store_of


def metric(name, geometry, view="all_tokens", n_tokens=None):
    columns = {key: np.array([value]) for key, value in geometry.items()}
    columns["n_tokens"] = np.array([n_tokens if n_tokens is not None else geometry["n_directed"]])
    return GEOMETRY_METRICS[name].compute(columns, view)[0]


def brute_force_cosines(tokens):
    """Cosines of the pairs i < j, one by one."""
    return np.array(
        [
            tokens[i] @ tokens[j] / (np.linalg.norm(tokens[i]) * np.linalg.norm(tokens[j]))
            for i in range(len(tokens))
            for j in range(i + 1, len(tokens))
        ]
    )


def test_identical_rows():
    geometry = token_geometry(np.tile([1.0, 2.0, 2.0], (6, 1)))
    assert geometry["resultant_length"] == pytest.approx(1)
    assert metric("cosine_anisotropy", geometry) == pytest.approx(1)
    assert metric("cosine_anisotropy", geometry, "without_first") == pytest.approx(1)
    assert metric("cosine_dispersion", geometry) == pytest.approx(0, abs=1e-12)
    assert metric("first_token_energy_share", geometry) == pytest.approx(1 / 6)
    assert metric("cosine_to_first_token", geometry) == pytest.approx(1)
    assert metric("first_token_norm_ratio", geometry) == pytest.approx(1)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(3, 12), width=st.integers(1, 8), cone=st.sampled_from([0.0, 5.0]))
@settings(deadline=None)
def test_against_brute_force(seed, n, width, cone):
    generator = np.random.default_rng(seed)
    tokens = generator.standard_normal((n, width)) + cone
    tokens[0] *= 100
    geometry = token_geometry(tokens)
    for view, part in (("all_tokens", tokens), ("without_first", tokens[1:])):
        cosines = brute_force_cosines(part)
        assert metric("cosine_anisotropy", geometry, view) == pytest.approx(cosines.mean(), abs=1e-12)
        assert metric("cosine_dispersion", geometry, view) == pytest.approx(cosines.std(), abs=1e-7)
    norms = np.linalg.norm(tokens, axis=1)
    assert metric("first_token_norm", geometry) == pytest.approx(norms[0])
    assert metric("other_token_norm", geometry) == pytest.approx(np.median(norms[1:]))
    assert metric("other_token_norm_max", geometry) == pytest.approx(norms[1:].max())
    assert metric("first_token_norm_ratio", geometry) == pytest.approx(norms[0] / np.median(norms[1:]))
    assert metric("first_token_energy_share", geometry) == pytest.approx(norms[0] ** 2 / (norms**2).sum())
    to_first = [tokens[0] @ token / (norms[0] * np.linalg.norm(token)) for token in tokens[1:]]
    assert metric("cosine_to_first_token", geometry) == pytest.approx(np.mean(to_first))
    # the bound that makes the first token decide singular anisotropy
    variances = np.linalg.svd(tokens, compute_uv=False) ** 2
    assert variances[0] / variances.sum() >= metric("first_token_energy_share", geometry) - 1e-12


def test_dispersion_keeps_precision_in_a_cone():
    tokens = 1e4 * np.ones(50) + np.random.default_rng(0).standard_normal((20, 50))
    geometry = token_geometry(tokens)
    # the deviation of 1 - cosine, computed without cancellation
    units = tokens / np.linalg.norm(tokens, axis=1)[:, None]
    distances = [((units[i] - units[j]) ** 2).sum() / 2 for i in range(20) for j in range(i + 1, 20)]
    assert geometry["cosine_std"] == pytest.approx(np.std(distances), rel=1e-6)


def test_one_and_two_tokens():
    alone = token_geometry(np.array([[3.0, 4.0]]))
    assert alone["norm_first"] == 5
    assert alone["resultant_length"] == pytest.approx(1)
    assert alone["squared_norm_share_first"] == 1
    for name in (
        "resultant_length_without_first",
        "cosine_std",
        "norm_rest_median",
        "norm_rest_max",
        "cosine_to_first",
    ):
        assert math.isnan(alone[name]), name
    assert math.isnan(metric("cosine_anisotropy", alone, n_tokens=1))
    assert math.isnan(metric("first_token_norm_ratio", alone, n_tokens=1))
    pair = token_geometry(np.array([[1.0, 0.0], [1.0, 1.0]]))
    assert metric("cosine_anisotropy", pair) == pytest.approx(math.sqrt(0.5))
    assert math.isnan(metric("cosine_anisotropy", pair, "without_first"))


def test_zero_tokens_have_no_direction():
    geometry = token_geometry(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]))
    assert geometry["cosine_to_first"] == 0
    assert geometry["resultant_length"] == pytest.approx(2 / 3)
    assert math.isnan(token_geometry(np.zeros((2, 2)))["squared_norm_share_first"])


def test_table():
    states = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    (table,) = measured(Geometry(store_of({0: states}, [2, 3])))
    assert dict(table.schema) == GEOMETRY_SCHEMA
    assert table["n_tokens"].to_list() == [2, 3]
    assert table["cosine_std"][1] == token_geometry(states[2:])["cosine_std"]


@pytest.mark.parametrize("n", [2, 9])
def test_orthonormal_rows(n):
    geometry = token_geometry(np.eye(n))
    assert geometry["resultant_length"] == pytest.approx(1 / math.sqrt(n))
    assert metric("cosine_anisotropy", geometry) == pytest.approx(0, abs=1e-15)
