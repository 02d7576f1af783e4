"""What measures take: operations against products and decompositions that are counted, bytes against files."""

import os

import numpy as np
import polars as pl
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from described import HARDWARE, NETWORK
from homogenization.measures import common_length, device_mauve, eigenvalues, geometry, mauve, pooled, spectra
from homogenization.measures.alignment import token_alignment
from homogenization.measures.catalogue import MEASURES
from homogenization.measures.views import VIEWS, TokenGram
from homogenization.plan.costs import matrix_operations
from homogenization.plan.durations import durations_of_model
from homogenization.plan.measures import (
    MEASURES_SCHEMA,
    measures_of_model,
    measures_table,
    measures_text,
    seconds_in_pass,
    works_of_job,
)
from homogenization.plan.works import (
    Work,
    common_length_work,
    component_seconds,
    component_work,
    geometry_work,
    mauve_on_gpu,
    mauve_work,
    pooled_work,
    spectra_work,
    written_bytes,
)
from homogenization.run.parquet import write_table
from homogenization.states.store import open_store
from stored import write


class Counted(np.ndarray):
    """An array that counts the operations of products of matrices, half where they are symmetric, but of no vector."""

    total = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        plain = [value.view(np.ndarray) if isinstance(value, Counted) else value for value in inputs]
        if ufunc is np.matmul and all(value.ndim == 2 and 1 not in value.shape for value in plain):
            left, right = plain
            symmetric = left.shape == right.T.shape and np.shares_memory(left, right)
            Counted.total += (1 if symmetric else 2) * left.shape[0] * left.shape[1] * right.shape[1]
        target = {"out": tuple(value.view(np.ndarray) for value in out)} if out else {}
        result = getattr(ufunc, method)(*plain, **target, **options)
        return result.view(Counted) if isinstance(result, np.ndarray) else result


@pytest.fixture
def counted(monkeypatch):
    """Operations of a call: of products, and of reductions to tridiagonal form, 4/3 n³ each."""
    reductions = []
    plain = eigenvalues.lapack.dsytrd
    monkeypatch.setattr(
        eigenvalues.lapack, "dsytrd", lambda matrix, **more: (reductions.append(len(matrix)), plain(matrix, **more))[1]
    )

    def count(function):
        Counted.total = 0
        reductions.clear()
        function()
        return Counted.total, 4 / 3 * sum(n**3 for n in reductions)

    return count


def tokens(n, width):
    return np.random.default_rng(n).standard_normal((n, width)).view(Counted)


@pytest.mark.parametrize("views", [VIEWS, ("raw", "raw_without_first"), ("centred",)], ids=len)
@pytest.mark.parametrize(("lengths", "width"), [((30, 70, 2), 80), ((90, 120), 40)], ids=["short", "long"])
def test_operations_of_spectra(counted, lengths, width, views):
    products, reductions = counted(lambda: [spectra.singular_values(tokens(n, width), views) for n in lengths])
    work = spectra_work(np.array(lengths), width, views)
    assert work.decompositions == pytest.approx(reductions)
    # products of a matrix with a vector are few
    assert 0.98 * work.products <= products <= 1.02 * work.products


def test_operations_of_geometry(counted):
    lengths = (30, 70, 2)
    products, _ = counted(lambda: [geometry.token_geometry(tokens(n, 50)) for n in lengths])
    assert products == geometry_work(np.array(lengths), 50).products


@pytest.mark.parametrize("lengths", [[300] * 5, [20] * 100], ids=["short", "long"])
def test_operations_of_pooled_tokens(counted, lengths):
    n, width = sum(lengths), 60
    is_first = np.zeros(n, dtype=bool)
    is_first[np.cumsum([0, *lengths[:-1]])] = True
    is_drawn = np.arange(n) < 1024
    block = (tokens(n, width), is_first, is_drawn)
    products, reductions = counted(lambda: list(pooled.pooled(lambda: iter([block]))))
    work = pooled_work(len(lengths), n, width)
    assert work.decompositions == pytest.approx(reductions)
    # two views have a distribution of cosines; of 1,024 tokens, some are the first of their review
    assert 0.9 * work.products <= products <= work.products


def test_operations_of_components(counted):
    lengths = np.array([30, 70, 2])
    products, _ = counted(lambda: [token_alignment(TokenGram(tokens(n, 50))) for n in lengths])
    work = component_work(lengths, 50)
    assert work.products == pytest.approx(products, rel=0.1)  # of a matrix with a vector are few
    # of three blocks of five points, on a GPU with 5e5 operations a second, or on a core with 1e6
    of_network = component_work(lengths, NETWORK.width).times(3 * 5)
    assert component_seconds(NETWORK, lengths, False, HARDWARE) == pytest.approx(2 * of_network.products / 5e5)
    on_a_core = of_network.products / 1e6 + of_network.seconds + of_network.reading
    assert component_seconds(NETWORK, lengths, True, HARDWARE) == pytest.approx(on_a_core)


def test_a_job_that_measures_in_the_pass_by_hand():
    works = {
        "spectra": Work(products=6e6, decompositions=2e6, seconds=7.0, reading=100.0),
        "geometry": Work(products=6e6, seconds=14.0, reading=100.0),
        "pooled": Work(products=4e6, decompositions=1e6, seconds=50.0, reading=100.0),
        "mauve": Work(products=8e6, seconds=2.0),
    }
    pair = Work(products=8e12, decompositions=4e11), Work(products=2e6)
    hardware = HARDWARE | {"cores": 8}

    def seconds(
        passing=11.0, n_measured=1000, n_pairs=5, twice=False, on_cpu=False, of_mauve=pair, works=works, **rates
    ):
        about = passing, twice, on_cpu, hardware | rates
        return seconds_in_pass(works, n_measured, 5, (*of_mauve, n_pairs), *about)

    # at 1e6 operations a second on a core, and 5e5 on the GPU; decompositions take three times as long
    on_gpu, decomposing = 2 * (6 + 4) / 0.5, (7 + 14 + 3 * 2) / 7
    # ten matrices of pooled tokens on seven cores: two rounds of 3 / 10 s
    of_pooled = 0.6
    at_the_end, tables = of_pooled + (8 + 2) / 7, 0.2
    assert seconds() == pytest.approx(11 + on_gpu + at_the_end + tables)
    assert seconds(twice=True) == pytest.approx(2 * 11 + on_gpu + at_the_end + tables)
    # a GPU that is fast in float64 takes MAUVE, its factors ten times as long as products; meanwhile, six cores measure
    # pooled tokens, and one decomposes for MAUVE
    fast = {"passing": 1.0, "gpu_float64_tflops": 4.0}
    assert seconds(**fast) == pytest.approx(decomposing + 5 * (2 + 1 + 0.006) + tables)
    assert seconds(**fast, of_mauve=(Work(), pair[1])) == pytest.approx(decomposing + 5 * 2 + tables)
    larger = works | {"pooled": Work(decompositions=1e8)}
    assert seconds(**fast, works=larger) == pytest.approx(decomposing + 60 + 5 * 2 / 7 + tables)
    without = {name: work for name, work in works.items() if name != "pooled"}
    assert seconds(**fast, of_mauve=(Work(), pair[1]), works=without) == pytest.approx(decomposing + 5 * 2 / 7 + tables)
    # the process that hands reviews on is the last
    assert seconds(**fast, n_measured=10_000, n_pairs=0) == pytest.approx(10 + of_pooled + 2)
    alone = 6 + 6 + 4 + 8 + 3 * 3 + 7 + 14 + 50 + 2 + 3 * 100
    assert seconds(on_cpu=True) == pytest.approx(11 + alone)


def test_states_that_are_measured_in_the_pass_are_not_stored():
    lengths = [100, 3]
    counts = pl.DataFrame({"variant": ["original"], "lengths": [lengths]})
    states = {"dtype": "auto", "layers": None, "record_attention": True}
    model = {"name": "m", "dtype": "bfloat16", "device": "auto", "gpus": 1}
    measured = {"views": ["raw"], "common_tokens": None, "pooled": ["original"]}
    measured["mauve"] = {"variants": ["original"], "n_tokens": 10, "seeds": 2}
    (row,) = durations_of_model(model, NETWORK, counts, states, {}, HARDWARE, measured)
    works = works_of_job("m", NETWORK, "original", np.array(lengths), states, measured)
    passing = matrix_operations(NETWORK, np.array(lengths), True) / 1e6
    # two reviews at five points; four layers with themselves and three with the next, for each seed
    of_mauve = (*mauve_on_gpu(sum(lengths), 8, 10), 14)
    # on a GPU, the model reads twice for pooled tokens; on the CPU, it holds as few as these
    assert row["seconds_computing"] == seconds_in_pass(works, 10, 5, of_mauve, passing, True, False, HARDWARE)
    (row,) = durations_of_model({**model, "device": "cpu"}, NETWORK, counts, states, {}, HARDWARE, measured)
    passing = matrix_operations(NETWORK, np.array(lengths), True) / 1e4
    assert row["seconds_computing"] == seconds_in_pass(works, 10, 5, of_mauve, passing, False, True, HARDWARE)
    written = sum(map(written_bytes, works.values()))
    assert row["seconds_writing"] == pytest.approx(written / 2e3)
    # one view of five points, as many values as the width at most; and two spectra of pooled tokens
    assert written == pytest.approx(7.6 * 5 * (8 + 3 + 2 * 8), abs=2)


@pytest.mark.parametrize("width", [48, 160], ids=["scatter", "gram"])
def test_operations_of_mauve_on_a_gpu(width):
    """Products of a pair, apart from the steps of k-means, which the planned number of steps decides."""
    rows = torch.from_numpy(np.asarray(tokens(100, width)))[None].float()
    with FlopCounterMode(display=False) as counter:
        device_mauve._space(rows)
    work, beside = mauve_on_gpu(100, width, 50)
    small = min(width, 100)
    clusters = 4 * 100 * 5 * small / 4 * 250
    # solutions of triangular systems are not counted
    assert counter.get_total_flops() == pytest.approx(work.products - clusters, rel=1e-6)
    assert beside.products == 6 * (small // 2) ** 3 / 2


def test_files_are_as_large_as_the_numbers_in_them(tmp_path):
    lengths, width = [60, 80, 100] * 4, 96
    states = np.random.default_rng(0).standard_normal((3, sum(lengths), width)).astype(np.float32)
    write(tmp_path / "s.zarr.zip", states, lengths, chunk_tokens=256, pieces=(256,))
    views = sorted(VIEWS)
    with open_store(tmp_path / "s.zarr.zip") as store:
        tables = {
            "spectra": [spectra.measure(store, views)],
            "common_length": common_length.measure(store, 70, 4, 0, views)[:1],
        }
        of_mauve = mauve.measure(store, 400, [0, 1])
    counts = pl.DataFrame({"variant": ["original"], "lengths": [lengths]})
    measured = {"views": views, "common_tokens": 70, "pooled": ["original"]}
    measured["mauve"] = {"variants": ["original"], "n_tokens": 400, "seeds": 2}
    network = type(NETWORK)(**{**vars(NETWORK), "n_blocks": 2, "width": width, "final_norm": False})
    rows = measures_of_model({"name": "m"}, network, counts, {"layers": None}, measured, HARDWARE)
    planned = {row["measure"]: row for row in rows}
    for measure, of_measure in tables.items():
        for table in of_measure:
            write_table(table, tmp_path / "t.parquet")
            # columns of names come on top
            assert planned[measure]["bytes_written"] == pytest.approx(os.path.getsize(tmp_path / "t.parquet"), rel=0.1)
    # 3 layers with themselves and 2 with the next, for each seed
    work = mauve_work(sum(lengths), width, 400)
    assert planned["mauve"]["petaflops"] == pytest.approx(len(of_mauve) * work.products / 1e15)
    assert of_mauve["n_clusters"].unique().to_list() == [40]
    assert work.products == (800 * width**2 + 2 * 800 * 40 * width / 4 * 125 + 6 * width**3) / 2


def test_measures_of_a_study_by_hand():
    counts = pl.DataFrame({"variant": ["original", "front"], "lengths": [[30, 50], [40]]})
    measured = {"views": ["raw"], "common_tokens": 35, "pooled": ["original"]}
    measured["mauve"] = {"variants": ["front"], "n_tokens": 10, "seeds": 3}
    rows = measures_of_model({"name": "m"}, NETWORK, counts, {"layers": [0, 1, 3]}, measured, HARDWARE)
    assert {row["measure"]: row["jobs"] for row in rows} == {
        "spectra": 2,
        "geometry": 2,
        "common_length": 2,
        "pooled": 1,
        "mauve": 1,
    }
    by_measure = {row["measure"]: row for row in rows}
    # three layers and the final norm
    works = [geometry_work(np.array(lengths), 8).times(4) for lengths in ([30, 50], [40])]
    geometry_row = by_measure["geometry"]
    assert geometry_row["petaflops"] == pytest.approx(sum(work.products for work in works) / 1e15)
    seconds = [3 + work.seconds + work.reading + work.products / 1e6 for work in works]
    assert geometry_row["core_hours"] == pytest.approx(sum(seconds) / 3600)
    assert geometry_row["longest_seconds"] == pytest.approx(max(seconds))
    # one review of each variant has 35 tokens, and is drawn four times
    common = common_length_work(np.array([50]), 8, 35, ["raw"])
    assert common.products == 4 * (35 * 8**2 + 35**2 * 8)
    assert by_measure["common_length"]["petaflops"] == pytest.approx(
        2 * 4 * (common.products + common.decompositions) / 1e15
    )
    # three layers with themselves, one pair of consecutive ones, three seeds
    assert by_measure["mauve"]["petaflops"] == pytest.approx(12 * mauve_work(40, 8, 10).products / 1e15)
    table = measures_table(rows)
    assert table.schema == MEASURES_SCHEMA
    total = table.row(-1, named=True)
    assert (total["measure"], total["model"], total["jobs"]) == ("total", None, 8)
    assert total["longest_seconds"] == max(row["longest_seconds"] for row in rows)
    lines = measures_text(table, HARDWARE).splitlines()
    assert lines[1].startswith("spectra, m ")
    assert lines[-1] == "at 0.001 GFLOP/s on a core in float64"


def test_the_plan_draws_as_many_subsets_as_the_measure():
    study = type("Study", (), {"common_tokens": 16, "seed": 0, "views": ["raw"]})
    draws = MEASURES["common_length"].params(study)["draws"]
    lengths = np.array([40])
    one = spectra_work(np.array([16]), 8, ["raw"]) + geometry_work(np.array([16]), 8)
    assert common_length_work(lengths, 8, 16, ["raw"]).products == draws * one.products
