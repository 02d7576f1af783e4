"""Extraction from LLaMA-3-8B's shape on one GPU, and spectra there: against the bare forward pass and the CPU's route.

The weights are random and made on the device, in bfloat16; the reviews are real. Four ways take turns in each round:
the bare forward pass over the same packs, which keeps nothing, and extraction with all layers written to the disk, each
without and with the attention that tokens receive. Extraction has all that a job does but loading the model: it
tokenizes, checks the architecture, and closes the file. Medians over rounds; the share of the GPU's peak counts matrix
products alone. Then singular values of some of the written states, in float64 on the GPU and as `spectra.py` takes them
on the CPU, with one thread as a job has. 200 reviews take 20 GB of main memory and 40 GB on the disk.

    PYTHONPATH=workflow/lib python benchmarks/gpu.py --corpus reviews.parquet --folder /fast/disk
    PYTHONPATH=workflow/lib python benchmarks/gpu.py --miniature
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from threadpoolctl import threadpool_limits
from transformers import AutoModel, LlamaConfig, PreTrainedTokenizerFast

from homogenization.measures.spectra import singular_values
from homogenization.metrics.spectral import SPECTRAL_METRICS, SpectrumBatch, evaluate
from homogenization.models.tokens import Tokens
from homogenization.models.untrained import train_tokenizer
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts, windows
from homogenization.states.model import LanguageModel
from homogenization.states.network import pack_reviews, packed_model, run_packed
from homogenization.states.reading import Reading
from homogenization.states.store import open_store

EMBEDDED_REVIEWS = Path(__file__).parents[1] / "config" / "reviews.jsonl"
LLAMA_3_8B = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}
MINIATURE = LLAMA_3_8B | {
    "hidden_size": 256,
    "intermediate_size": 896,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 32000,
}
# dense bfloat16 operations a second by the maker's data sheets
PEAKS = {"H200": 989e12, "H100 80GB HBM3": 989e12, "H100 PCIe": 756e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12}
SPECTRA_REVIEWS = 40


def random_llama(fields: dict[str, Any], device: str, texts: Sequence[str]) -> LanguageModel:
    """A Llama of this shape with random weights in bfloat16, and a tokenizer trained on the texts."""
    torch.manual_seed(0)
    with torch.device(device):
        network = AutoModel.from_config(LlamaConfig(**fields), dtype=torch.bfloat16)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(texts, 32000), bos_token="<s>")
    provenance = {"dtype": "bfloat16", "weights": "random weights in the shape of Meta-Llama-3-8B"}
    return LanguageModel(packed_model(network), tokenizer, fields["max_position_embeddings"], "default", provenance)


def bare_pass(model: LanguageModel, tokens: Tokens, token_budget: int, record_attention: bool) -> None:
    """The forward passes of an extraction; nothing is kept of them."""
    lengths = tokens.lengths.tolist()
    for pack in pack_reviews(lengths, token_budget):
        start, stop = tokens.review_offsets[[pack.start, pack.stop]].tolist()
        run_packed(
            model.packed,
            tokens.token_ids[start:stop],
            lengths[pack.start : pack.stop],
            record_attention,
            lambda layer, states: None,
        )


def operations(model: LanguageModel, lengths: np.ndarray) -> float:
    """Floating-point operations of the matrix products: two a weight and token, and causal attention."""
    config = model.packed.network.config
    weights = sum(parameter.numel() for parameter in model.packed.blocks.parameters() if parameter.ndim == 2)
    pairs = float((lengths * (lengths + 1) / 2).sum())
    attention = 4 * config.num_attention_heads * config.head_dim * config.num_hidden_layers * pairs
    return 2.0 * weights * float(lengths.sum()) + attention


def peak(device: str) -> tuple[float, str]:
    """Operations a second that the device reaches at best, and how that is known."""
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    for part, operations_per_second in PEAKS.items():
        if part in name:
            return operations_per_second, f"{name}, data sheet"
    size = 8192 if device == "cuda" else 1024
    factor = torch.randn(size, size, dtype=torch.bfloat16, device=device)
    taken = [seconds(lambda: factor @ factor, device)[0] for _ in range(5)]
    return 2 * size**3 / min(taken), f"{name}, best of 5 products of {size} x {size} matrices"


def seconds(task: Callable[[], Any], device: str) -> tuple[float, Any]:
    """Wall time until the device has done `task`, and what it returns."""
    synchronize(device)
    started = time.perf_counter()
    result = task()
    synchronize(device)
    return time.perf_counter() - started, result


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def compare_extraction(
    model: LanguageModel, texts: Sequence[str], path: Path, device: str, token_budget: int, rounds: int
) -> None:
    """Time the four ways and print them; the store of the last extraction stays at `path`."""
    review_ids = [f"{index:06d}" for index in range(len(texts))]
    tokens = windows(model, review_ids, texts).tokens
    n_tokens = len(tokens.token_ids)

    def extraction(record_attention: bool) -> dict[str, Any]:
        read = Texts(review_ids, texts)
        return extract(
            Reading(model, read, {"model": "llama"}, token_budget, record_attention=record_attention), path, 4096
        )

    ways = {
        "bare pass": lambda: bare_pass(model, tokens, token_budget, False),
        "bare pass, sums": lambda: bare_pass(model, tokens, token_budget, True),
        "extraction": lambda: extraction(False),
        "extraction, sums": lambda: extraction(True),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    records: dict[str, list[dict[str, Any]]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for way, run in ways.items():
            elapsed, record = seconds(run, device)
            if number:  # the first round warms up
                taken[way].append(elapsed)
                records[way].append(record)

    fastest, source = peak(device)
    computed = operations(model, tokens.lengths)
    raw_bytes = n_tokens * (model.packed.n_blocks + 2) * model.packed.width * 2
    parameters = sum(parameter.numel() for parameter in model.packed.network.parameters())
    print(f"{parameters / 1e9:.2f} billion parameters, {len(texts)} reviews, {n_tokens} tokens, {rounds} rounds")
    print(f"peak: {fastest / 1e12:.1f} TFLOP/s ({source})")
    rows = []
    for way, of_way in taken.items():
        median = statistics.median(of_way)
        ratios = [bare / ours for bare, ours in zip(taken["bare pass"], of_way, strict=True)]
        row = {
            "way": way,
            "seconds": round(median, 3),
            "tokens/s": round(n_tokens / median),
            "of the bare pass": f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
            "of the peak": f"{computed / median / fastest:.1%}",
        }
        if way.startswith("extraction"):
            row["waited for the disk"] = f"{statistics.median(r['seconds_write'] for r in records[way]) / median:.0%}"
            row["states, MB/s"] = round(raw_bytes / median / 1e6)
            row["file, MB/s"] = round(path.stat().st_size / median / 1e6)
        rows.append(row)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=160, tbl_hide_dataframe_shape=True, fmt_str_lengths=40):
        print(pl.DataFrame(rows))
    last = records["extraction, sums"][-1]
    on_device = "" if last["peak_device_memory_mb"] is None else f", {last['peak_device_memory_mb']:.0f} MB on the GPU"
    print(f"peak memory {last['peak_memory_mb']:.0f} MB{on_device}; token budget {last['token_budget']} at the end")


def spectrum_on_device(tokens: np.ndarray, device: str) -> np.ndarray:
    """Singular values, descending, of (n, d) float32 on `device`: eigenvalues of the Gram matrix, all in float64."""
    rows = torch.as_tensor(tokens, device=device).double()
    eigenvalues = torch.linalg.eigvalsh(rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows).flip(0)
    zero = 8 * torch.finfo(torch.float64).eps * eigenvalues[0]
    return torch.where(eigenvalues < zero, 0.0, eigenvalues.clamp_min(0.0)).sqrt().cpu().numpy()


def compare_spectra(path: Path, device: str, rounds: int) -> None:
    """The view `raw` of some reviews at the first, a middle and the last layer, on the device and on the CPU."""
    with open_store(path) as store:
        bounds = list(zip(store.review_offsets[:-1], store.review_offsets[1:], strict=True))[:SPECTRA_REVIEWS]
        chosen = (0, store.n_blocks // 2, store.n_blocks)
        matrices = [states[a:b] for states in map(store.residual_stream, chosen) for a, b in bounds]
    times: dict[str, list[float]] = {"device": [], "cpu": []}
    with threadpool_limits(1):
        for number in range(rounds + 1):
            on_device, ours = seconds(lambda: [spectrum_on_device(matrix, device) for matrix in matrices], device)
            on_cpu, route = seconds(lambda: [singular_values(matrix, ["raw"])["raw"] for matrix in matrices], device)
            if number:
                times["device"].append(on_device)
                times["cpu"].append(on_cpu)
    milliseconds = {way: 1000 * statistics.median(taken) / len(matrices) for way, taken in times.items()}
    batches = [
        SpectrumBatch.from_flat(np.concatenate(spectra), np.array([len(values) for values in spectra]))
        for spectra in (ours, route)
    ]
    worst = (0.0, "none")
    for name in SPECTRAL_METRICS:
        values, expected = (evaluate(name, batch) for batch in batches)
        difference = np.nanmax(np.abs(values - expected) / np.maximum(np.abs(expected), np.finfo(np.float64).tiny))
        worst = max(worst, (float(difference), name))
    tokens = statistics.median(len(matrix) for matrix in matrices)
    print(f"spectra of {len(matrices)} matrices, median {tokens:.0f} x {matrices[0].shape[1]}, the view `raw`")
    print(f"  {device}, float64 Gram and eigvalsh   {milliseconds['device']:8.2f} ms a matrix, copy to it included")
    print(f"  CPU, the route of spectra.py, one thread {milliseconds['cpu']:8.2f} ms a matrix")
    print(f"  largest relative difference of any metric {worst[0]:.1e} ({worst[1]})")


def main() -> None:
    """Read the command line, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=EMBEDDED_REVIEWS, help="jsonl or parquet with a column text")
    parser.add_argument("--reviews", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--token-budget", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=4, help="of the job; as many write beside the GPU")
    parser.add_argument("--folder", type=Path, help="where the store is written; the system's temporary folder")
    parser.add_argument("--miniature", action="store_true", help="a small shape on the CPU")
    arguments = parser.parse_args()
    if not arguments.miniature and not torch.cuda.is_available():
        parser.error("there is no CUDA device here; --miniature runs a small shape on the CPU")
    torch.set_num_threads(arguments.threads)
    device = "cpu" if arguments.miniature else "cuda"
    reader = pl.read_parquet if arguments.corpus.suffix == ".parquet" else pl.read_ndjson
    texts = reader(arguments.corpus)["text"].head(arguments.reviews).to_list()
    model = random_llama(MINIATURE if arguments.miniature else LLAMA_3_8B, device, texts)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "states.zarr.zip"
        compare_extraction(model, texts, path, device, arguments.token_budget, arguments.rounds)
        compare_spectra(path, device, arguments.rounds)


if __name__ == "__main__":
    main()
