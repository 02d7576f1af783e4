"""The training of one model: a job of `train_model`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from homogenization.models.saving import save_model
from homogenization.models.tokens import tokenize
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.parquet import write_table
from homogenization.training.loop import train
from homogenization.training.networks import Trainable, load_trainable
from homogenization.training.texts import Batches, reviews_to_train_on


def train_model(
    *,
    entry: Mapping[str, Any],
    options: Mapping[str, Any],
    seed: int,
    clean: pl.DataFrame,
    sampled: pl.DataFrame,
    folder: Path,
    gpus: int = 0,
) -> None:
    """Train a model, then write it and its losses to `folder`.

    Args:
        entry: `weights` to start from, `device` and `bos`.
        options: how it is trained, keys as in the configuration.
        seed: seed of the order of texts, and of low-rank updates.
        clean: columns review_id and text: the corpus.
        sampled: columns review_id and text: the sample, on which no model is trained.
        folder: folder of the model.
        gpus: number of the job's GPUs.

    Raises:
        HomogenizationError: too few reviews are left, the network can't be trained, a layer of the penalty does not
            exist, or the loss diverges.
    """
    training, held_out = reviews_to_train_on(clean, sampled, options["held_out"], options["batch_size"])
    trainable = load_trainable(
        entry["weights"], options, device=entry["device"], gpus=gpus, seed=seed, bos=entry["bos"]
    )
    texts, targets = (_token_ids(trainable, part, entry["bos"], options["max_tokens"]) for part in (training, held_out))
    batches = Batches(training["review_id"].to_list(), seed, options["batch_size"])
    rows = train(trainable, options, texts, targets, batches)
    numbers = {"n_training": len(texts), "n_held_out": len(targets)}
    write_table(pl.DataFrame([row | numbers for row in rows], schema=LOSSES_SCHEMA), folder / "losses.parquet")
    save_model(trainable.whole(), trainable.tokenizer, folder)


def _token_ids(trainable: Trainable, reviews: pl.DataFrame, bos: str, max_tokens: int) -> list[np.ndarray]:
    """Token ids of each review, cut behind `max_tokens`."""
    tokens = tokenize(trainable.tokenizer, reviews["review_id"].to_list(), reviews["text"].to_list(), bos)
    return [text[:max_tokens] for text in tokens.by_review]
