"""The state of a training run as safetensors and JSON: parameters, moments of the optimizer, and what was measured.

The JSON names the SHA-256 of the tensors, so that a file that was cut short is never taken for a state.
"""

import json
import logging
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from homogenization.run.files import damage, gone, sha256_of, written_together

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


def save_state(state: State, key: str, folder: Path) -> None:
    """Write `state` to the files `TENSORS` and `NOTES` in `folder`: both, or none.

    Args:
        state: state of the run.
        key: name of all that the run depends on; a state with another key is of another run.
        folder: folder of the files; it is made where it is missing.
    """
    with written_together(folder, (TENSORS, NOTES)) as partial:
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in state.tensors.items()}, partial / TENSORS
        )
        notes = {name: value for name, value in vars(state).items() if name != "tensors"}
        notes |= {"key": key, "sha256": sha256_of(partial / TENSORS)}
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
        return _read(tensors, notes, None)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise damage(tensors, error) from error


def keep(state: State, key: str, folder: Path) -> None:
    """Write a checkpoint, and delete all but it and the one before."""
    save_state(state, key, folder / f"{state.step:09d}")
    for older in sorted(path for path in folder.iterdir() if path.name.isdigit())[:-2]:
        shutil.rmtree(older)


def latest(key: str, folder: Path) -> State | None:
    """The last whole checkpoint of the run `key`, or None where it has none: those before a damaged one are tried."""
    paths = sorted((path for path in folder.iterdir() if path.name.isdigit()), reverse=True) if folder.is_dir() else []
    for path in paths:
        try:
            return _read(path / TENSORS, path / NOTES, key)
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            logging.warning(f"the checkpoint {path} is not used: {error}")
    return None


def _read(tensors: Path, notes: Path, key: str | None) -> State:
    content = json.loads(notes.read_text(encoding="utf-8"))
    if content.pop("key") != key and key is not None:
        raise ValueError("it belongs to a run with other settings")
    if content.pop("sha256") != sha256_of(tensors):
        raise ValueError("its tensors are damaged or cut short")
    return State(tensors=load_file(tensors), **content)
