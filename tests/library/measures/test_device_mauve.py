"""MAUVE by products of matrices on a device, here on the CPU: components, clusters and values of the other road."""

from functools import partial

import numpy as np
import polars as pl
import pytest
import torch

from extracted import EMBEDDED, IDENTITY, tiny
from homogenization.measures import device_mauve, mauve
from homogenization.measures.in_pass import measure_in_pass
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS, beginning

CPU = torch.device("cpu")


def unit_rows(n, width, decay=1.2):
    rows = np.random.default_rng(0).standard_normal((2, n, width)) * np.arange(1, width + 1) ** (-decay / 2)
    return torch.from_numpy(rows / np.linalg.norm(rows, axis=2, keepdims=True)).float()


@pytest.mark.parametrize(("n", "width"), [(60, 200), (200, 60)], ids=["gram", "scatter"])
@pytest.mark.parametrize(("decay", "is_held"), [(3, True), (0, False)], ids=["steep", "flat"])
def test_components_are_those_of_all_eigenvectors(n, width, decay, is_held):
    rows = unit_rows(n, width, decay)
    space = device_mauve._space(rows)
    assert (space.is_held == is_held).all()
    if is_held:
        assert all(len(problem) == min(n, width) // 2 for problem, _ in space.problems)
    found = device_mauve.scores(space, map(device_mauve._components, space.problems)).numpy()
    for mine, of_pair in zip(found, rows.numpy(), strict=True):
        expected = mauve.principal_components(of_pair)
        # filled up with zeros; vectors have any sign
        assert (mine[:, expected.shape[1] :] == 0).all()
        np.testing.assert_allclose(mine @ mine.T, expected @ expected.T, atol=1e-4)


def test_rows_that_do_not_vary_have_no_components():
    space = device_mauve._space(torch.ones(1, 40, 8))
    found = device_mauve.scores(space, map(device_mauve._components, space.problems))
    assert found.shape[1] == 40
    assert (found == 0).all()
    starts = [list(mauve.drawn_centres(np.zeros(40, dtype=int), 0, 4))]
    assert (device_mauve.k_means(found, starts, 4) == 0).all()


@pytest.mark.parametrize("n_distinct", [150, 6], ids=["all differ", "fewer than clusters"])
def test_clusters_are_those_of_the_other_road(n_distinct):
    rows = np.random.default_rng(0).standard_normal((3, n_distinct, 5)).astype(np.float32)
    rows = np.concatenate([rows] * (150 // n_distinct), axis=1)
    kinds = [mauve.kinds_of(of_pair) for of_pair in rows]
    starts = [list(mauve.drawn_centres(of_pair, seed, 10)) for seed, of_pair in enumerate(kinds)]
    found = device_mauve.k_means(torch.from_numpy(rows), starts, 10)
    for seed, labels in enumerate(found):
        np.testing.assert_array_equal(labels, mauve.clustered(rows[seed], kinds[seed], 10, seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_equal_rows_are_of_one_kind(dtype):
    rows = torch.randn(50, 7, generator=torch.Generator().manual_seed(0)).to(dtype)
    repeated = rows[torch.arange(120) % 50]
    kinds = device_mauve._kinds(repeated)
    assert len(np.unique(kinds)) == 50
    assert (kinds[:50] == kinds[50:100]).all()


@pytest.mark.parametrize("architecture", ["llama", "gemma2", "bert"])
@pytest.mark.parametrize("together", [1e9, 1.0], ids=["all seeds together", "one by one"])
def test_values_are_those_of_the_other_road(monkeypatch, architecture, together):
    model = tiny(CONFIGS[architecture])
    texts = [beginning(model.tokenizer, text, 60) for text in EMBEDDED[:6]]
    ids = [f"r{index}" for index in range(len(texts))]
    measures = {"mauve": (mauve, {"n_tokens": 60, "seeds": list(range(6))})}
    of = partial(measure_in_pass, model, ids, texts, IDENTITY, 2048, "auto", False, measures, [0, 1, 3])
    expected = of()[2]["mauve"][0]
    monkeypatch.setattr(device_mauve, "is_fast", lambda device: True)
    monkeypatch.setattr(device_mauve, "_BYTES", together)
    found = of()[2]["mauve"][0]
    assert found.drop("mauve").equals(expected.drop("mauve"))
    assert len(found) == 6 * 4
    # rounding sends few k-means to another optimum
    differs = (found["mauve"] - expected["mauve"]).abs()
    assert (differs < 1e-12).mean() > 0.6
    spread = expected.group_by("layer_from", "layer_to").agg(pl.col("mauve").std())["mauve"].mean()
    assert differs.mean() < spread


def test_states_that_are_not_finite_are_refused():
    held = type("Held", (), {"layers": [3], "stored": lambda self, layer, rows: torch.full((len(rows), 4), torch.nan)})
    with pytest.raises(HomogenizationError, match=r"layer 3: states that are not finite. float16 overflows"):
        list(device_mauve.values(held(), CPU, map, {0: (np.arange(20), np.arange(20, 40))}, 2, 5.0))


def test_devices_that_are_slow_in_float64_leave_it_to_the_cpu(monkeypatch):
    assert not device_mauve.is_fast(CPU)
    for capability, is_fast in {(9, 0): True, (8, 0): True, (8, 6): False, (8, 9): False, (12, 0): False}.items():
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, of=capability: of)
        assert device_mauve.is_fast(torch.device("cuda")) == is_fast
