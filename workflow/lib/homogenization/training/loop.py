"""The training loop: AdamW on the loss of the next token, and a penalty on tokens that are alike.

A step is a function of the parameters, the moments, the seed and its number. Nothing is drawn at random, so that a run
that was killed and resumed gives the bits of one that was not, on a CPU with the same number of threads.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from homogenization.metrics.differentiable import cosine_anisotropy
from homogenization.run.errors import HomogenizationError
from homogenization.run.progress import progress
from homogenization.training.networks import Trainable
from homogenization.training.penalties import (
    METRICS,
    STEEPEST,
    metric_of_batch,
    states_captured,
    steepest_layers,
)
from homogenization.training.texts import Batches

_NOT_READ = -100  # what cross_entropy leaves out
_FAR_ABOVE = 3.0  # nats over the first loss, at which training has failed
_EVALUATIONS = 10
_PREFIXES = {"exp_avg": "mean.", "exp_avg_sq": "square."}


@contextmanager
def deterministic(threads: int) -> Iterator[None]:
    """Context in which torch adds in one order: with this number of threads, and by deterministic algorithms alone."""
    before, mode = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS asks for
    torch.set_num_threads(threads)
    # on a GPU, what has no such algorithm warns
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    try:
        yield
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(mode)


@dataclass
class State:
    """What a step needs to go on as if nothing had happened.

    Attributes:
        step: number of steps that were made.
        tensors: parameters and moments by name.
        start_loss: loss of the first step of the run; None before it.
        layers: layers of the penalty, found before the first step where the configuration asks for that.
        rows: what was measured, a row for each step since the last snapshot.
    """

    step: int
    tensors: dict[str, torch.Tensor]
    start_loss: float | None = None
    layers: list[int] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)


class Loop:
    """A training run between two of its steps.

    Attributes:
        trainable: the network.
        options: how it is trained, keys as in the configuration.
        state: where the run is; its tensors are filled when `current` is asked.
    """

    def __init__(
        self,
        trainable: Trainable,
        options: Mapping[str, Any],
        texts: Sequence[np.ndarray],
        held_out: Sequence[np.ndarray],
        batches: Batches,
        *,
        state: State | None = None,
    ) -> None:
        """Begin with `state`, or at the start of the run where it is None; `texts` and `held_out` are token ids."""
        self.trainable, self.options = trainable, options
        self._texts, self._held_out, self._batches = texts, held_out, batches
        matrices = [parameter for parameter in trainable.parameters.values() if parameter.ndim > 1]
        vectors = [parameter for parameter in trainable.parameters.values() if parameter.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": options["weight_decay"]},
            {"params": vectors, "weight_decay": 0.0},
        ]
        self._optimizer = torch.optim.AdamW(groups, lr=0.0, foreach=False)
        self.state = state or State(0, {})
        if state is not None:
            self._restore()
        if options["penalty"] and self.state.layers is None:
            self.state.layers = self._layers(options["penalty"]["layers"])

    def _restore(self) -> None:
        tensors = self.state.tensors
        with torch.no_grad():
            for name, parameter in self.trainable.parameters.items():
                parameter.copy_(tensors[name])
                if self.state.step:
                    moments = {key: tensors[prefix + name].to(parameter) for key, prefix in _PREFIXES.items()}
                    self._optimizer.state[parameter] = {"step": torch.tensor(float(self.state.step)), **moments}

    def current(self) -> State:
        """The state with its tensors."""
        self.state.tensors = dict(self.trainable.parameters)
        for name, parameter in self.trainable.parameters.items():
            moments = self._optimizer.state.get(parameter, {})
            self.state.tensors |= {prefix + name: moments[key] for key, prefix in _PREFIXES.items() if key in moments}
        return self.state

    def run_to(self, stop: int) -> None:
        """Make steps until `stop` of them are made.

        Raises:
            HomogenizationError: the loss is not finite, or far above that of the first step.
        """
        every = max(1, self.options["steps"] // _EVALUATIONS)
        with progress(sum(map(self._n_tokens, range(self.state.step, stop))), "tokens") as advance:
            while self.state.step < stop:
                step = self.state.step
                held_out = self.held_out_loss() if step % every == 0 else None
                row = {"step": step, "held_out_loss": held_out, **self._step(step)}
                self.state.rows.append(row)
                self.state.step += 1
                advance(self._n_tokens(step), f"step {step + 1} of {self.options['steps']}, loss {row['loss']:.3f}")

    def check_last_step(self) -> None:
        """Check what the last step made of the model, on the texts that a further one would read.

        Raises:
            HomogenizationError: the loss is not finite, or far above that of the first step.
        """
        if self.state.step:
            with torch.inference_mode():
                loss = float(self._loss(self._texts_of(self.state.step))[0])
            self._check({"loss": loss}, f"after {self.state.step}")

    def held_out_loss(self) -> float:
        """Mean loss of the held-out tokens after the first of each review, in nats."""
        total, number = 0.0, 0
        with torch.inference_mode():
            for texts in self._held_out_batches():
                n_tokens = sum(len(text) - 1 for text in texts)
                total += float(self._loss(texts)[0]) * n_tokens
                number += n_tokens
        return total / number

    def learning_rate(self, step: int) -> float:
        """The rate of a step: it grows over the warmup to its largest value, then falls on a line to 0 at the end."""
        steps = self.options["steps"]
        warmup = round(self.options["warmup"] * steps)
        share = (step + 1) / warmup if step < warmup else (steps - step) / max(steps - warmup, 1)
        return self.options["learning_rate"] * share

    def _step(self, step: int) -> dict[str, float | None]:
        texts = self._texts_of(step)
        penalty, metric, layers = self.options["penalty"], None, self.state.layers or []
        rate = self.learning_rate(step)
        with states_captured(self.trainable.blocks, layers) as states:
            loss, lengths = self._loss(texts)
        objective = loss
        if penalty:
            function, sign = METRICS[penalty["metric"]]
            metrics = [metric_of_batch(function, states[layer], lengths).to(loss) for layer in layers]
            metric = torch.stack(metrics).mean()
            objective = loss + penalty["strength"] * sign * metric
        self._optimizer.zero_grad(set_to_none=True)
        objective.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.trainable.parameters.values(), self.options["clip"], foreach=False)
        numbers = {
            "loss": float(loss.detach()),
            "gradient_norm": float(norm),
            "penalised": None if metric is None else float(metric.detach()),
        }
        self._check(numbers, f"in step {step + 1}")
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        return {**numbers, "learning_rate": rate, "n_tokens": sum(lengths)}

    def _check(self, numbers: Mapping[str, float | None], when: str) -> None:
        if self.state.start_loss is None:
            self.state.start_loss = numbers["loss"]
        finite = all(np.isfinite(value) for value in numbers.values() if value is not None)
        if not finite or numbers["loss"] > self.state.start_loss + _FAR_ABOVE:
            items = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items() if value is not None)
            raise HomogenizationError(
                f"training diverged {when} of {self.options['steps']} steps ({items}; the first loss was "
                f"{self.state.start_loss:.4g} nats). No model was written. Lower learning_rate"
                + (" or the strength of the penalty." if self.options["penalty"] else ".")
            )

    def _layers(self, layers: str | Sequence[int]) -> list[int]:
        """The layers of the penalty; the fastest growth of the cosine is that of the held-out texts, for all seeds."""
        n_blocks = len(self.trainable.blocks)
        if layers != STEEPEST:
            if beyond := [layer for layer in layers if not 1 <= layer <= n_blocks]:
                raise HomogenizationError(
                    f"penalty.layers: {beyond} are no layers of this model, whose {n_blocks} blocks make the layers 1 "
                    f"to {n_blocks}. Name some of these, or 'steepest'."
                )
            return list(layers)
        sums = np.zeros(n_blocks + 1)
        for texts in self._held_out_batches():
            with torch.inference_mode(), states_captured(self.trainable.blocks, range(n_blocks + 1)) as states:
                _, lengths = self._loss(texts)
            sums += [
                len(texts) * float(metric_of_batch(cosine_anisotropy, states[layer], lengths))
                for layer in range(len(sums))
            ]
        return steepest_layers((sums / len(self._held_out)).tolist())

    def _held_out_batches(self) -> Iterator[Sequence[np.ndarray]]:
        size = self.options["batch_size"]
        return (self._held_out[start : start + size] for start in range(0, len(self._held_out), size))

    def _texts_of(self, step: int) -> list[np.ndarray]:
        return [self._texts[place] for place in self._batches.of(step)]

    def _n_tokens(self, step: int) -> int:
        return sum(map(len, self._texts_of(step)))

    def _loss(self, texts: Sequence[np.ndarray]) -> tuple[torch.Tensor, list[int]]:
        """Mean loss of the tokens after the first of each text, which are padded at their end; and their lengths."""
        lengths = list(map(len, texts))
        ids = torch.zeros(len(texts), max(lengths), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)], mask[row, : len(text)] = torch.from_numpy(text), 1
        targets = ids.masked_fill(mask == 0, _NOT_READ)[:, 1:]
        device = self.trainable.device
        logits = self.trainable.network(
            input_ids=ids.to(device), attention_mask=mask.to(device), use_cache=False
        ).logits
        flat = logits[:, :-1].float().flatten(0, 1)
        return cross_entropy(flat, targets.to(flat.device).flatten(), ignore_index=_NOT_READ), lengths
