"""The plan: rows by hand, operations against torch's counter, bytes against tensors of a pass and a written store."""

import os

import polars as pl
import pytest
import transformers

from conftest import ROOT
from described import LLAMA_3_8B, MINILM, NETWORK, described
from homogenization.models.weights import resolve_configuration
from homogenization.plan.architecture import describe_architecture
from homogenization.plan.costs import (
    PLAN_SCHEMA,
    Stored,
    gpu_bytes,
    plan_row,
    plan_table,
    plan_text,
    store_bytes,
)
from homogenization.run.errors import HomogenizationError
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading

STATES = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True}
ENTRY = {"name": "m", "dtype": "bfloat16", "device": "auto", "gpus": 2}


def counts_of(*jobs):
    """Jobs as (variant, counted_as, lengths, lengths before truncation, reviews cut, reviews left out)."""
    names = ("variant", "counted_as", "lengths", "lengths_before_truncation", "n_cut", "n_left_out")
    return pl.DataFrame([dict(zip(names, job, strict=True)) | {"shard": "000"} for job in jobs])


COUNTS = counts_of(("original", "original", [100, 3], [150, 3], 1, 0), ("front", "front", [90, 2], [90, 2], 0, 1))


def test_a_row_by_hand():
    row = plan_row(ENTRY, NETWORK, COUNTS, STATES)
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
    assert row["bytes_written"] == 195 * (5 * 8 * 1.5 + 3 * 4 + 20) + 4 * 16
    # below 128 tokens all pairs are computed
    pairs = 100**2 + 3**2 + 90**2 + 2**2
    assert row["petaflops"] * 1e15 == pytest.approx(2 * 7_000 * 195 + 4 * 8 * 3 * pairs)
    assert row["gpu_memory_gib"] * 2**30 == gpu_bytes(NETWORK, "bfloat16", Stored("bfloat16", 4, True), 100, 100)
    assert row["estimated"] is False


def test_what_is_kept_and_what_is_written():
    def bytes_of(**states):
        return plan_row(ENTRY, NETWORK, COUNTS, STATES | states)["bytes_written"]

    full = bytes_of()
    assert bytes_of(keep=False) == 0
    assert bytes_of(dtype="float32") - full == 195 * 5 * 8 * 2.5
    assert full - bytes_of(layers=[0, -1]) == 195 * 2 * 8 * 1.5
    assert full - bytes_of(record_attention=False) == 195 * 12


def test_a_layer_that_a_model_lacks_is_refused_and_one_named_twice_counts_once():
    with pytest.raises(HomogenizationError, match=r"states\.layers: 4 is no layer of the model m"):
        plan_row(ENTRY, NETWORK, COUNTS, STATES | {"layers": [0, 4]})
    once, twice = (plan_row(ENTRY, NETWORK, COUNTS, STATES | {"layers": layers}) for layers in ([0, 3], [0, 3, -1]))
    assert once == twice


def test_the_total_adds_up_and_names_the_largest_gpu():
    guessed = counts_of(("paraphrase", "original", [7], [7], 0, 0))
    rows = [
        plan_row(ENTRY | {"name": "cpu", "device": "cpu", "gpus": 0}, NETWORK, guessed, STATES),
        plan_row(ENTRY | {"name": "small", "gpus": 1}, NETWORK, COUNTS, STATES),
        plan_row(ENTRY | {"name": "large"}, NETWORK, COUNTS, STATES),
    ]
    assert (rows[0]["gpus_per_job"], rows[0]["gpu_memory_gib"]) == (0, None)
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


LENGTHS = [256, 130, 1, 40]


SHAPES = {
    "Llama-3-8B": transformers.LlamaConfig(**LLAMA_3_8B.to_dict() | {"num_hidden_layers": 2}),
    "Gemma-7B": transformers.GemmaConfig(num_hidden_layers=2),
    "Qwen2.5-7B": transformers.Qwen2Config(
        hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4, num_hidden_layers=2
    ),
    "gpt2-medium": transformers.GPT2Config(n_embd=1024, n_layer=2, n_head=16),
    "bert-base": transformers.BertConfig(num_hidden_layers=2),
}


def test_gpu_memory_is_weights_and_what_a_pass_holds(tmp_path):
    architecture = described(SHAPES["Llama-3-8B"], tmp_path)
    without, recorded = (
        gpu_bytes(architecture, "bfloat16", Stored("bfloat16", 2, attention), 4096, 512) for attention in (False, True)
    )
    weights = 2 * architecture.n_parameters
    assert without - weights - 0.6 * 2**30 == pytest.approx(2 * 4096 * (5 * 14336 + (4 + 3) * 4096))
    assert recorded - without == 32 * 128 * 512 * 8


@pytest.fixture(scope="module")
def minilm():
    return load_model({"weights": MINILM, "dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None})


@pytest.mark.parametrize(
    ("dtype", "layers", "recorded", "tolerance"),
    [
        ("float32", None, True, 0.01),
        ("float16", [0, -1], False, 0.01),
        # compressed: how far depends on the numbers
        ("bfloat16", None, True, 0.05),
    ],
)
def test_bytes_on_disk_are_those_of_a_store(tmp_path, minilm, dtype, layers, recorded, tolerance):
    texts = pl.read_ndjson(ROOT / "config/reviews.jsonl")["text"].to_list()[:30]
    review_ids = [f"{index:012x}" for index in range(len(texts))]
    path = tmp_path / "s.zarr.zip"
    options = {"record_attention": recorded, "layers": layers, "dtype": dtype}
    run = extract(Reading(minilm, Texts(review_ids, texts), {"model": "m"}, **options), path)
    stored = Stored(dtype, len(layers or range(7)), recorded)
    architecture = describe_architecture(resolve_configuration(MINILM))
    planned = store_bytes(architecture, stored, run["n_tokens"], len(texts))
    assert os.path.getsize(path) == pytest.approx(planned, rel=tolerance)
