"""The penalty on tokens that are alike: metrics with gradients, and transformers' Trainer with one in its loss."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import Trainer

from homogenization.models.blocks import after_module, before_module

_NOT_READ = -100  # the label of padding


def mean_cosine(tokens: Tensor) -> Tensor:
    """Mean cosine of all pairs of tokens (n, width), n > 1 (Godey et al. 2024)."""
    units = torch.nn.functional.normalize(tokens, dim=-1)
    resultant = units.sum(dim=0)
    return (resultant @ resultant - units.square().sum()) / (len(tokens) * (len(tokens) - 1))


def centred_effective_rank(tokens: Tensor) -> Tensor:
    """Effective rank (Roy & Vetterli 2007) of tokens (n, width), n > 1, minus their mean, over min(n - 1, width).

    Equal tokens count as one direction; tokens that are not finite have NaN.
    """
    centred = tokens - tokens.mean(dim=0)
    products = centred @ centred.T if len(centred) <= centred.shape[1] else centred.T @ centred
    if not torch.isfinite(products).all():
        return products.sum() * torch.nan
    eigenvalues = torch.linalg.eigvalsh(products)
    kept = eigenvalues[eigenvalues > 1.8e-15 * eigenvalues[-1].detach()]  # rounding; a root of 0 has no derivative
    shares = kept.sqrt() / kept.sqrt().sum()
    return torch.special.entr(shares).sum().exp() / min(len(tokens) - 1, tokens.shape[1])


#: By name: what grows as tokens (n, width) grow alike.
METRICS: dict[str, Callable[[Tensor], Tensor]] = {
    "cosine": mean_cosine,
    "centred_effective_rank": lambda tokens: -centred_effective_rank(tokens),
}


def mean_over_texts(metric: str, states: Tensor, lengths: Sequence[int]) -> Tensor:
    """Mean over texts of a metric without first tokens, float64, of states (texts, tokens, width) padded behind."""
    texts = [text[1:length].double() for text, length in zip(states, lengths, strict=True)]
    return torch.stack([METRICS[metric](text) for text in texts]).mean()


def kept_states(blocks: torch.nn.ModuleList) -> dict[int, Tensor]:
    """A dictionary that each pass fills: layer, 0 before the first block -> states (texts, tokens, width)."""
    states: dict[int, Tensor] = {}
    before_module(blocks[0], partial(states.__setitem__, 0))
    for layer, block in enumerate(blocks, start=1):
        after_module(block, partial(states.__setitem__, layer))
    return states


def padded(texts: Sequence[Tensor]) -> dict[str, Tensor]:
    """A batch of token ids, padded behind: `input_ids`, `attention_mask` and `labels`, int64 (texts, tokens)."""
    labels = pad_sequence(list(texts), batch_first=True, padding_value=_NOT_READ)
    read = labels != _NOT_READ
    return {"input_ids": labels.where(read, 0), "attention_mask": read.long(), "labels": labels}


class PenalisedTrainer(Trainer):
    """A trainer whose loss is that of the next token plus `weight` times the mean of `metric` over layers.

    `states` are those of `kept_states`. At the weight 0, the metric adds nothing. Each step leaves a row in the history
    of the trainer's state: `step`, `loss` (without the penalty) and `penalty` (the metric).
    """

    def __init__(self, states: Mapping[int, Tensor], layers: Sequence[int], penalty: Any, **options: Any) -> None:
        super().__init__(data_collator=padded, **options)
        self.states, self.layers, self.penalty = states, layers, penalty

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss of a batch in nats, penalty included."""
        loss = super().compute_loss(model, {**inputs, "use_cache": False}, False, num_items_in_batch)
        lengths, metric = inputs["attention_mask"].sum(dim=1).tolist(), self.penalty["metric"]
        values = [mean_over_texts(metric, self.states[layer], lengths).to(loss) for layer in self.layers]
        penalty, weight = torch.stack(values).mean(), self.penalty["weight"]
        self.state.log_history.append({"step": self.state.global_step, "loss": loss.item(), "penalty": penalty.item()})
        return loss + weight * penalty if weight else loss

    def resume(self) -> None:
        """Train from the last whole checkpoint, or else from the start."""
        states = Path(self.args.output_dir).glob("checkpoint-*/trainer_state.json")  # what Trainer writes last
        whole = [state.parent for state in states if state.read_text("utf-8").endswith("}\n")]
        steps = {int(folder.name.partition("-")[2]): str(folder) for folder in whole}
        steps.pop(self.args.max_steps, None)  # from there, Trainer would make one step more
        self.train(resume_from_checkpoint=steps[max(steps)] if steps else None)
