"""The files of a model that the workflow builds. Every parse of the Snakefile imports this module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BUILT_FILES = {
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
}


def with_built_weights(entry: Mapping[str, Any], files: Sequence[str], key: str = "weights") -> dict[str, Any]:
    """`entry`, for a job that reads its weights.

    Args:
        entry: Entry of the configuration with weights under `key`, or one without weights.
        files: Files of these weights that the job depends on; the folder of those that the workflow has built takes
            the place of the source.
        key: Key of the weights.
    """
    weights = entry.get(key)
    if not weights or not files or ("path" in weights and "gguf" not in weights):
        return dict(entry)
    return {**entry, key: {"built": str(Path(files[0]).parent)}}
