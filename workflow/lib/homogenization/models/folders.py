"""The folder of a model before transformers reads it. Every parse of the Snakefile imports this module."""

import json
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError


def checked_folder(folder: Path, described: str) -> Path:
    """The absolute path of a model's folder.

    Args:
        folder: Folder of a model.
        described: Where it comes from, for messages.

    Raises:
        HomogenizationError: it lacks config.json or safetensors, or has an adapter.
    """
    refuse_adapter(folder, described)
    missing = [name for name in ("config.json", "*.safetensors") if not any(folder.glob(name))]
    if missing:
        raise HomogenizationError(
            f"weights: {described} lacks {' and '.join(missing)} ({folder} holds {_listed(folder)}). Only safetensors "
            "are read: load a pickled checkpoint with transformers once and write it again with save_pretrained()."
        )
    return folder.absolute()


def fields_of(folder: Path) -> dict[str, Any]:
    """The fields of config.json in `folder`.

    Raises:
        HomogenizationError: it is missing, or no JSON object.
    """
    path = folder / "config.json"
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise HomogenizationError(
            f"{path}: no JSON object in UTF-8 ({error}). Fetch it again, or write it with save_pretrained()."
        ) from error


def header_of(path: Path) -> dict[str, dict[str, Any]]:
    """The tensors of a safetensors file by name, each with `dtype`, `shape` and `data_offsets`; no number is read.

    Raises:
        OSError: the file can't be opened.
        ValueError: it does not begin with a header: 8 bytes of length, then JSON.
    """
    with path.open("rb") as file:
        header = json.loads(file.read(min(int.from_bytes(file.read(8), "little"), path.stat().st_size)))
    return {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def refuse_adapter(folder: Path, described: str) -> None:
    """Refuse an adapter: transformers would apply it to the weights beside it, which may contain it already.

    Raises:
        HomogenizationError: the folder holds an adapter, beside the files of a model or alone.
    """
    if (folder / "adapter_config.json").exists():
        raise HomogenizationError(
            f"weights: {described} holds an adapter (adapter_config.json), which transformers would apply to the "
            f"weights beside it, a second time if they are merged. If they are, take {folder} without the files "
            "adapter_*; if not, load both with peft, call merge_and_unload() and save_pretrained(), and give that "
            "folder."
        )


def _listed(folder: Path) -> str:
    return ", ".join(sorted(entry.name for entry in folder.glob("*"))[:12]) or "nothing"
