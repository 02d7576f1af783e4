"""One snapshot of a training run, from the start or the snapshot before to a step: a job of `train_model`."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from homogenization.models.saving import save_model
from homogenization.models.tokens import tokenize
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.files import damage, read_json, written_together
from homogenization.run.parquet import write_table
from homogenization.training.loop import Loop, State, deterministic
from homogenization.training.networks import Trainable, load_trainable
from homogenization.training.texts import Batches, reviews_to_train_on

STATE = "state"  # folder in that of a model, with two files
TENSORS, NOTES = "tensors.safetensors", "notes.json"


def train_snapshot(
    *,
    entry: Mapping[str, Any],
    options: Mapping[str, Any],
    seed: int,
    step: int,
    clean: pl.DataFrame,
    sampled: pl.DataFrame,
    folder: Path,
    before: Path | None = None,
    gpus: int = 0,
) -> None:
    """Train to `step`, then write the model, the state and the losses to `folder`.

    Args:
        entry: `weights` to start from, `device` and `bos`.
        options: how it is trained, keys as in the configuration.
        seed: seed of the order of texts, and of low-rank updates.
        step: number of steps that the model has made.
        clean: columns review_id and text: the corpus.
        sampled: columns review_id and text: the sample, on which no model is trained.
        folder: folder of the model; its name is that of the step.
        before: folder of the snapshot before, whose state training goes on from; None for the start.
        gpus: number of the job's GPUs.

    Raises:
        HomogenizationError: too few reviews are left, the network can't be trained, a layer of the penalty does not
            exist, or the loss diverges.
    """
    with deterministic(options["threads"]):
        training, held_out = reviews_to_train_on(clean, sampled, options["held_out"], options["batch_size"])
        trainable = load_trainable(
            entry["weights"], options, device=entry["device"], gpus=gpus, seed=seed, bos=entry["bos"]
        )
        texts, targets = (
            _token_ids(trainable, part, entry["bos"], options["max_tokens"]) for part in (training, held_out)
        )
        state = read_state(before / STATE) if before is not None else None
        batches = Batches(training["review_id"].to_list(), seed, options["batch_size"])
        loop = Loop(trainable, options, texts, targets, batches, state=state)
        if options["penalty"]:
            logging.info(f"penalty on the layers {loop.state.layers}")
        loop.run_to(step)
        loop.check_last_step()
        loop.state.rows.append({"step": step, "held_out_loss": loop.held_out_loss()})
        n_tokens = max(trainable.network.get_input_embeddings().weight.shape[0], len(trainable.tokenizer))
        constants = dict(zip(("unigram", "bigram"), baselines(texts, targets, n_tokens), strict=True))
        constants |= {"n_training": len(texts), "n_held_out": len(targets), "layers": loop.state.layers}
        rows = [row | constants for row in loop.state.rows]
        write_table(pl.DataFrame(rows, schema=LOSSES_SCHEMA), folder / "losses.parquet")
        loop.state.rows = []
        save_state(loop.current(), folder / STATE)
        save_model(trainable.whole(), trainable.tokenizer, _origin(trainable, options, seed, step), folder)


def _token_ids(trainable: Trainable, reviews: pl.DataFrame, bos: str, max_tokens: int) -> list[np.ndarray]:
    """Token ids of each review, cut behind `max_tokens`."""
    tokens = tokenize(trainable.tokenizer, reviews["review_id"].to_list(), reviews["text"].to_list(), bos)
    return [text[:max_tokens] for text in tokens.by_review]


def _origin(trainable: Trainable, options: Mapping[str, Any], seed: int, step: int) -> str:
    """Where the weights come from, in a line."""
    parts = [f"{step} of {options['steps']} training steps of {options['batch_size']} reviews", f"seed {seed}"]
    if options["penalty"]:
        penalty = options["penalty"]
        parts.append(f"penalty {penalty['strength']} on {penalty['metric']}")
    if options.get("lora"):
        parts.append(f"updates of rank {options['lora']['rank']}")
    parts.append(f"torch {torch.__version__}, {trainable.device.type}, threads {options['threads']}")
    return f"{', '.join(parts)}; from {trainable.description}, weights SHA-256 {trainable.digest}"


def save_state(state: State, folder: Path) -> None:
    """Write `state` to the files `TENSORS` and `NOTES` in `folder`: both, or none.

    Args:
        state: state of the run.
        folder: folder of the files; it is made where it is missing.
    """
    with written_together(folder, (TENSORS, NOTES)) as partial:
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}, partial / TENSORS
        )
        notes = {name: value for name, value in vars(state).items() if name != "tensors"}
        (partial / NOTES).write_text(json.dumps(notes), encoding="utf-8")


def read_state(folder: Path) -> State:
    """The state that the job of an earlier snapshot left in `folder`.

    Raises:
        HomogenizationError: a file is gone, or damaged and was moved aside.
    """
    notes, tensors = read_json(folder / NOTES), folder / TENSORS
    if not tensors.is_file():
        raise damage(tensors, "gone")
    try:
        return State(tensors=load_file(tensors), **notes)
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise damage(tensors, error) from error


def baselines(training: Sequence[np.ndarray], held_out: Sequence[np.ndarray], vocab_size: int) -> tuple[float, float]:
    """Mean losses of a unigram and a bigram model on the tokens of `held_out` after the first, in nats.

    The unigram model adds one to every count (Laplace). The bigram model falls back on it as much as its context is
    followed by different tokens: p(t | s) = (c(s, t) + T(s) p(t)) / (c(s) + T(s)), T(s) the number of different
    tokens seen after s (Witten & Bell 1991).

    Args:
        training: tokens of each review that is counted, int64.
        held_out: tokens of each review that is predicted.
        vocab_size: size of the vocabulary.
    """
    before, after = _pairs(training)
    counts = np.bincount(after, minlength=vocab_size)
    unigram = (counts + 1) / (len(after) + vocab_size)
    kinds, times = np.unique(before * vocab_size + after, return_counts=True)
    contexts = np.bincount(before, minlength=vocab_size)
    followers = np.bincount(kinds // vocab_size, minlength=vocab_size)
    previous, predicted = _pairs(held_out)
    places = np.searchsorted(kinds, previous * vocab_size + predicted).clip(max=max(len(kinds) - 1, 0))
    pair_counts = np.where(kinds[places] == previous * vocab_size + predicted, times[places], 0)
    weight = contexts[previous] + followers[previous]
    shares = unigram[predicted]
    bigram = np.where(weight > 0, (pair_counts + followers[previous] * shares) / np.maximum(weight, 1), shares)
    return float(-np.log(shares).mean()), float(-np.log(bigram).mean())


def _pairs(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and those that follow them within a text."""
    return np.concatenate([text[:-1] for text in texts]), np.concatenate([text[1:] for text in texts])
