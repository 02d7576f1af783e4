"""The training loop: AdamW on the loss of the next token, and a penalty on tokens that are alike.

A step is a function of the parameters, the moments, the seed and its number; nothing is drawn at random.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.training.networks import Trainable
from homogenization.training.penalties import METRICS, metric_of_batch, states_captured
from homogenization.training.texts import Batches

_WARMUP = 0.1  # share of the steps in which the learning rate grows from 0
_WEIGHT_DECAY = 0.01  # of matrices; vectors have none
_CLIP = 1.0  # largest norm of the gradient
_NOT_READ = -100  # what cross_entropy leaves out
_FAR_ABOVE = 3.0  # nats over the first loss, at which training has failed
_EVALUATIONS = 10


def train(
    trainable: Trainable,
    options: Mapping[str, Any],
    texts: Sequence[np.ndarray],
    held_out: Sequence[np.ndarray],
    batches: Batches,
) -> list[dict[str, Any]]:
    """Make all steps, which change the parameters of `trainable`.

    Args:
        trainable: the network.
        options: how it is trained, keys as in the configuration.
        texts: token ids of each review to train on, int64.
        held_out: those of each review whose loss is measured.
        batches: which of `texts` each step reads.

    Returns:
        Columns of `LOSSES_SCHEMA`: a row for each step, and one after the last with the held-out loss alone.

    Raises:
        HomogenizationError: a layer of the penalty does not exist; the loss is not finite, or far above that of the
            first step.
    """
    penalty, steps = options["penalty"], options["steps"]
    layers = penalty["layers"] if penalty else []
    n_blocks = len(trainable.blocks)
    if beyond := [layer for layer in layers if layer > n_blocks]:
        raise HomogenizationError(
            f"penalty.layers: {beyond} are no layers of this model, whose {n_blocks} blocks make the layers 1 to "
            f"{n_blocks}. Name some of these."
        )
    parameters = list(trainable.parameters.values())
    groups = [
        {"params": [parameter for parameter in parameters if parameter.ndim > 1], "weight_decay": _WEIGHT_DECAY},
        {"params": [parameter for parameter in parameters if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.0, foreach=False)
    every, rows, start_loss = max(1, steps // _EVALUATIONS), [], np.inf

    def check(numbers: Mapping[str, float | None], when: str) -> None:
        told = {name: value for name, value in numbers.items() if value is not None}
        if not np.isfinite(list(told.values())).all() or numbers["loss"] > start_loss + _FAR_ABOVE:
            items = ", ".join(f"{name} {value:.4g}" for name, value in told.items())
            raise HomogenizationError(
                f"training diverged {when} of {steps} steps ({items}; the first loss was {start_loss:.4g} nats). No "
                f"model was written. Lower learning_rate{' or the strength of the penalty' if penalty else ''}."
            )

    read = [[texts[place] for place in batches.of(step)] for step in range(steps + 1)]
    with progress(sum(len(text) for of_step in read[:-1] for text in of_step), "tokens") as advance:
        for step, of_step in enumerate(read[:-1]):
            measured = held_out_loss(trainable, held_out, options["batch_size"]) if step % every == 0 else None
            with states_captured(trainable.blocks, layers) as states:
                loss, lengths = _loss(trainable, of_step)
            objective, metric = loss, None
            if penalty:
                function, sign = METRICS[penalty["metric"]]
                of_layers = [metric_of_batch(function, states[layer], lengths).to(loss) for layer in layers]
                metric = torch.stack(of_layers).mean()
                objective = loss + penalty["strength"] * sign * metric
            optimizer.zero_grad(set_to_none=True)
            objective.backward()
            norm = torch.nn.utils.clip_grad_norm_(parameters, _CLIP, foreach=False)
            numbers = {
                "loss": float(loss.detach()),
                "gradient_norm": float(norm),
                "penalised": None if metric is None else float(metric.detach()),
            }
            start_loss = numbers["loss"] if step == 0 else start_loss
            check(numbers, f"in step {step + 1}")
            rate = _learning_rate(step, options)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            rows.append({"step": step, "held_out_loss": measured, **numbers, "learning_rate": rate})
            rows[-1]["n_tokens"] = sum(lengths)
            advance(sum(lengths), f"step {step + 1} of {steps}, loss {numbers['loss']:.3f}")
    with torch.inference_mode():  # what the last step made of the model
        check({"loss": float(_loss(trainable, read[-1])[0])}, f"after {steps}")
    return [*rows, {"step": steps, "held_out_loss": held_out_loss(trainable, held_out, options["batch_size"])}]


def held_out_loss(trainable: Trainable, texts: Sequence[np.ndarray], batch_size: int) -> float:
    """Mean loss of the tokens after the first of each text, in nats."""
    total, number = 0.0, 0
    with torch.inference_mode():
        for start in range(0, len(texts), batch_size):
            batch = texts[start : start + batch_size]
            n_tokens = sum(len(text) - 1 for text in batch)
            total += float(_loss(trainable, batch)[0]) * n_tokens
            number += n_tokens
    return total / number


def _learning_rate(step: int, options: Mapping[str, Any]) -> float:
    """The rate of a step: it grows over the warmup to its largest value, then falls on a line to 0 at the end."""
    steps = options["steps"]
    warmup = round(_WARMUP * steps)
    share = (step + 1) / warmup if step < warmup else (steps - step) / max(steps - warmup, 1)
    return options["learning_rate"] * share


def _loss(trainable: Trainable, texts: Sequence[np.ndarray]) -> tuple[torch.Tensor, list[int]]:
    """Mean loss of the tokens after the first of each text, which are padded at their end; and their lengths."""
    lengths = list(map(len, texts))
    ids = torch.zeros(len(texts), max(lengths), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        ids[row, : len(text)], mask[row, : len(text)] = torch.from_numpy(text), 1
    targets = ids.masked_fill(mask == 0, _NOT_READ)[:, 1:]
    device = trainable.device
    logits = trainable.network(input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False).logits
    flat = logits[:, :-1].float().flatten(0, 1)
    return cross_entropy(flat, targets.to(flat.device).flatten(), ignore_index=_NOT_READ), lengths
