"""One snapshot of a training run, from the start or the snapshot before to a step: a job of `train_model`."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.models.saving import save_model
from homogenization.models.tokens import tokenize
from homogenization.run.parquet import write_table
from homogenization.training.baselines import baselines
from homogenization.training.checkpoints import read_state, save_state
from homogenization.training.loop import Loop, deterministic
from homogenization.training.networks import Trainable, load_trainable
from homogenization.training.schemas import LOSSES_SCHEMA
from homogenization.training.texts import Batches, reviews_to_train_on

STATE = "state"  # folder in that of a model


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
        trainable = load_trainable(entry["weights"], options, entry["device"], gpus, seed, entry["bos"])
        texts, targets = (
            _token_ids(trainable, part, entry["bos"], options["max_tokens"]) for part in (training, held_out)
        )
        state = read_state(before / STATE) if before is not None else None
        batches = Batches(training["review_id"].to_list(), seed, options["batch_size"])
        loop = Loop(trainable, options, texts, targets, batches, state)
        if options["penalty"]:
            logging.info(f"penalty on the layers {loop.state.layers}")
        loop.run_to(step)
        loop.check_last_step()
        loop.state.rows.append({"step": step, "held_out_loss": loop.held_out_loss()})
        constants = dict(zip(("unigram", "bigram"), baselines(texts, targets, _vocabulary(trainable)), strict=True))
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


def _vocabulary(trainable: Trainable) -> int:
    return max(trainable.network.get_input_embeddings().weight.shape[0], len(trainable.tokenizer))


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
