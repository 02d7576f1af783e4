"""The files of a model that the workflow builds. Every parse of the Snakefile imports this module."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from homogenization.vocabulary.files import ORIGIN_FILE

BUILT_FILES = {  # files of a model that the workflow builds; the last lists the SHA-256 of the others
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "tokenizer_config": "tokenizer_config.json",
    "origin": ORIGIN_FILE,
    "digests": "weights.sha256",
}
# a GGUF file that the workflow keeps as it is, and its SHA-256 in the format of sha256sum
GGUF_FILES = {"weights": "model.gguf", "digest": "model.gguf.sha256"}


def with_built_weights(entry: Mapping[str, Any], files: Sequence[str], key: str = "weights") -> dict[str, Any]:
    """`entry`, for a job that reads its weights.

    Args:
        entry: Entry of the configuration with weights under `key`, or one without weights.
        files: Files of these weights that the job depends on; the folder of those that the workflow has built takes
            the place of the source.
        key: Key of the weights.
    """
    names = [Path(file).name for file in files]
    if entry.get(key) and (ORIGIN_FILE in names or names == list(GGUF_FILES.values())):
        return {**entry, key: {"built": str(Path(files[0]).parent)}}
    return dict(entry)
