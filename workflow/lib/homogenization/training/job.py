"""The training of one model: a job of `train_model`."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from peft import LoraConfig, get_peft_model
from transformers import TrainingArguments, set_seed

from homogenization.corpus.hashing import seeded_hash
from homogenization.models.built import save_model
from homogenization.models.network import LanguageModel
from homogenization.models.tokens import tokenize
from homogenization.names.training import LOSSES_SCHEMA
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table
from homogenization.training.penalty import PenalisedTrainer, kept_states, mean_over_texts
from homogenization.training.texts import BATCH_SIZE, Reviews

MAX_TOKENS = 256  # of a review; a longer one is cut


def train_model(model: LanguageModel, options: Mapping[str, Any], seed: int, reviews: Reviews, folder: Path) -> None:
    """Train a model in float32, or go on from a checkpoint, and write it and its losses to `folder`.

    `options` are those of the configuration; `seed` is of the order of texts, of dropout, and of low-rank updates.

    Raises:
        HomogenizationError: the model can't be trained, a layer of the penalty does not exist, or the loss diverges.
    """
    if not (model.causal and model.has_head):
        raise HomogenizationError(
            f"{model.provenance['weights']} predicts no next token. Train a causal model whose files hold its head."
        )
    texts, held_out = (_token_ids(model, part) for part in reviews)
    penalty, states = options["penalty"], kept_states(model.blocks)
    loss, by_layer = read_held_out(model, states, held_out, penalty["metric"])
    layers = penalised_layers(penalty["layers"], by_layer)
    start = {"held_out_loss": loss, "held_out_penalty": by_layer[layers].mean()}
    digest = seeded_hash(seed, options, start, *reviews[0]["review_id"], size=8).hex()
    checkpoints = Path(f"{folder}.checkpoints", digest)
    set_seed(seed)
    network, rank = model.network, options["lora"]
    if rank:
        lora = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")
        network = get_peft_model(network, lora)
    arguments = TrainingArguments(
        str(checkpoints),
        max_steps=options["steps"],
        per_device_train_batch_size=BATCH_SIZE,
        learning_rate=options["learning_rate"],
        warmup_steps=options["steps"] // 10,
        seed=seed,
        save_steps=max(1, options["steps"] // 10),
        save_total_limit=2,
        use_cpu=model.device.type == "cpu",
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # else GPUs in sight that are not the model's share its batches
    trainer = PenalisedTrainer(states, layers, penalty, model=network, args=arguments, train_dataset=texts)
    trainer.resume()
    loss, by_layer = read_held_out(model, states, held_out, penalty["metric"])
    if not np.isfinite(loss):
        raise HomogenizationError("training diverged, so no model was written. Lower learning_rate or penalty.weight.")
    rows = [row for row in trainer.state.log_history if "penalty" in row]
    end = {"step": options["steps"], "held_out_loss": loss, "held_out_penalty": by_layer[layers].mean()}
    same = {"layers": ",".join(map(str, layers)), "n_training": len(texts), "n_held_out": len(held_out)}
    table = pl.DataFrame([row | same for row in (rows[0] | start, *rows[1:], end)], schema=LOSSES_SCHEMA)
    write_table(table, folder / "losses.parquet")
    save_model(network.merge_and_unload() if rank else network, model.tokenizer, folder)
    shutil.rmtree(checkpoints.parent)


def penalised_layers(layers: str | Sequence[int], by_layer: np.ndarray) -> list[int]:
    """Layers of a model as configured; or `steepest`: the two between which the start's metric grows most."""
    if layers == "steepest":
        step = int(np.diff(by_layer).argmax())
        return [layer for layer in (step, step + 1) if layer > 0]
    if max(layers) >= len(by_layer):
        raise HomogenizationError(f"penalty.layers: {layers}, but the model has the layers 1 to {len(by_layer) - 1}.")
    return list(layers)


@torch.no_grad()
def read_held_out(
    model: LanguageModel, states: Mapping[int, torch.Tensor], texts: Sequence[torch.Tensor], metric: str
) -> tuple[float, np.ndarray]:
    """Loss per token after each text's first, in nats; and the mean of a metric over texts, by layer from 0."""
    model.network.eval()
    losses, values = [], []
    for text in texts:
        ids = text[None].to(model.device)
        losses.append(float(model.network(input_ids=ids, labels=ids, use_cache=False).loss))
        values.append([float(mean_over_texts(metric, states[layer], [len(text)])) for layer in sorted(states)])
    return float(np.average(losses, weights=[len(text) - 1 for text in texts])), np.mean(values, axis=0)


def _token_ids(model: LanguageModel, reviews: pl.DataFrame) -> list[torch.Tensor]:
    """Token ids of each review, cut behind `MAX_TOKENS`; a review without a pair of tokens is left out."""
    tokens = tokenize(model.tokenizer, reviews["review_id"].to_list(), reviews["text"].to_list(), model.bos)
    most = min(MAX_TOKENS, model.max_tokens)
    return [torch.from_numpy(ids[:most]) for ids in tokens.by_review if len(ids) > 2]
