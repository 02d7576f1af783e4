"""The state of a training run as safetensors and JSON: parameters, moments of the optimizer, and what was measured."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from homogenization.run.files import damage, gone, written_together

TENSORS, NOTES = "tensors.safetensors", "notes.json"


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
    tensors, notes = folder / TENSORS, folder / NOTES
    for path in (tensors, notes):
        if not path.is_file():
            raise gone(path)
    try:
        return State(tensors=load_file(tensors), **json.loads(notes.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise damage(tensors, error) from error
