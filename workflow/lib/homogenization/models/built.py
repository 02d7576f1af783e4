"""The files of a model that the workflow builds. Every parse of the Snakefile imports this module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

BUILT_FILES = {
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
}


def built_in(folder: str) -> list[str]:
    """The files of a model that the workflow builds in `folder`."""
    return [f"{folder}/{file}" for file in BUILT_FILES.values()]


def with_built_weights(entry: Mapping[str, Any], files: Sequence[str], key: str = "weights") -> dict[str, Any]:
    """An entry of the configuration, for a job that reads the weights under `key`, if there are any.

    Where the workflow has built them, the folder of their `files` takes the place of their source.
    """
    weights = entry.get(key)
    if not weights or not files or ("path" in weights and "gguf" not in weights):
        return dict(entry)
    return {**entry, key: {"built": str(Path(files[0]).parent)}}


def save_model(network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", folder: str | Path) -> None:
    """Save network, with or without its head, and fast tokenizer as the `BUILT_FILES` in `folder`: all, or none."""
    from homogenization.run.files import written_together

    with written_together(folder, list(BUILT_FILES.values())) as partial:
        network.save_pretrained(partial, max_shard_size="1TB")
        tokenizer.save_pretrained(partial, save_jinja_files=False)
