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
    kinds = [np.unique(of_pair, axis=0, return_inverse=True)[1] for of_pair in rows]
    starts = [list(mauve.drawn_centres(of_pair, seed, 10)) for seed, of_pair in enumerate(kinds)]
    found = device_mauve.k_means(torch.from_numpy(rows), starts, 10)
    for seed, labels in enumerate(found):
        np.testing.assert_array_equal(labels, mauve.clustered(rows[seed], kinds[seed], 10, seed))


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


OUT_OF_MEMORY = (
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 MiB."),
    torch.AcceleratorError("CUDA error: out of memory\nCUDA kernel errors might be reported later", 2),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate(handle)`"),
)
SEEDS = range(6)
LAYERS = [0, 1, 3]
N_PAIRS = len(SEEDS) * 4  # three layers with themselves, and one with the one before it


def held_states():
    """States of which all tokens of a layer differ, and those of the next one resemble them."""
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(200, 24, generator=generator) / torch.arange(1, 25)
    states = {layer: first + 0.2 * layer * torch.randn(200, 24, generator=generator) for layer in LAYERS}
    functions = {
        "layers": LAYERS,
        "stored": lambda _self, layer, rows: states[layer][torch.from_numpy(rows)],
        "residual_stream": lambda _self, layer, rows: states[layer][torch.from_numpy(rows)].numpy(),
    }
    return type("Held", (), functions)()


def all_values():
    halves = {seed: mauve.draw_halves(200, 60, seed) for seed in SEEDS}
    found = list(device_mauve.values(held_states(), CPU, map, halves, 6, 5.0))
    return {tuple(names.values()): value for names, value in found}, len(found)


def let_fail(monkeypatch, place, error, largest):
    """Let a function of the module fail where it gets more pairs than `largest`; how many it got, call by call."""
    module = mauve if place == "_unit" else device_mauve
    tried, function = [], getattr(module, place)

    def failing(first, *others):
        n_pairs = len(getattr(first, "rows", first))
        tried.append(n_pairs)
        if n_pairs > largest:
            raise error
        return function(first, *others)

    monkeypatch.setattr(module, place, failing)
    return tried


@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["torch", "CUDA", "cuBLAS", "cuSOLVER"])
@pytest.mark.parametrize("place", ["_unit", "_space", "scores", "k_means"])
def test_memory_that_runs_out_halves_the_seeds_and_changes_nothing(monkeypatch, caplog, place, error):
    expected, _ = all_values()
    tried = let_fail(monkeypatch, place, error, largest=2)
    found, n_found = all_values()
    assert n_found == len(found) == N_PAIRS
    assert found == pytest.approx(expected, abs=1e-12)
    assert tried[:2] == [6, 3]
    assert set(tried[2:]) == {1}
    told = [message for message in caplog.messages if "ran out" in message]
    assert told == [f"MAUVE: cpu ran out of memory, and it is full; from here on {n} seeds go together" for n in (3, 1)]


def test_pairs_that_are_done_are_not_computed_again(monkeypatch):
    """The third call fails once: the pairs of two calls are done, or wait for their eigenvectors."""
    expected, _ = all_values()
    tried, space = [], device_mauve._space

    def failing(rows):
        tried.append(len(rows))
        if len(tried) == 3:
            raise OUT_OF_MEMORY[0]
        return space(rows)

    monkeypatch.setattr(device_mauve, "_space", failing)
    found, n_found = all_values()
    assert tried == [6, 6, 6, 3, 3, 3, 3]
    assert n_found == N_PAIRS
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("place", ["hashes", "_space", "k_means"])
def test_a_pair_that_does_not_fit_is_computed_by_the_other_road(monkeypatch, caplog, place):
    if place == "hashes":
        monkeypatch.setattr(device_mauve, place, lambda *_, **__: (_ for _ in ()).throw(OUT_OF_MEMORY[0]))
    else:
        let_fail(monkeypatch, place, OUT_OF_MEMORY[0], largest=0)
    found, n_found = all_values()
    assert n_found == N_PAIRS
    halves = {seed: mauve.draw_halves(200, 60, seed) for seed in SEEDS}
    by_the_other = mauve.values_on_cpu(held_states(), halves, 6, 5.0, map)
    assert found == {tuple(names.values()): value for names, value in by_the_other}
    assert "the CPU computes it. Lower mauve.n_tokens" in caplog.text


def test_other_errors_are_not_taken_for_a_full_memory(monkeypatch):
    let_fail(monkeypatch, "_space", torch.AcceleratorError("CUDA error: an illegal memory access", 700), largest=0)
    with pytest.raises(torch.AcceleratorError, match="illegal memory access"):
        all_values()


def test_states_that_are_not_finite_are_refused():
    held = type("Held", (), {"layers": [3], "stored": lambda self, layer, rows: torch.full((len(rows), 4), torch.nan)})
    with pytest.raises(HomogenizationError, match=r"layer 3: states that are not finite. float16 overflows"):
        list(device_mauve.values(held(), CPU, map, {0: (np.arange(20), np.arange(20, 40))}, 2, 5.0))


def test_devices_that_are_slow_in_float64_leave_it_to_the_cpu(monkeypatch):
    assert not device_mauve.is_fast(CPU)
    for capability, is_fast in {(9, 0): True, (8, 0): True, (8, 6): False, (8, 9): False, (12, 0): False}.items():
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, of=capability: of)
        assert device_mauve.is_fast(torch.device("cuda")) == is_fast
