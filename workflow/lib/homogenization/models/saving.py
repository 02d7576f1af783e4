"""Models that the workflow builds or carries to other machines: written whole, with their origin and digests."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homogenization.models.built import BUILT_FILES
from homogenization.models.digests import DIGESTS_FILE, list_digests, verified_weights
from homogenization.names.files import ORIGIN_FILE
from homogenization.run.files import written_together

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL_FILES = tuple(BUILT_FILES.values())


def save_model(
    network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", origin: str, folder: str | Path
) -> None:
    """Save a model as the `MODEL_FILES` in `folder`: all of them, or none.

    Args:
        network: network, with or without its head; one safetensors file holds its parameters.
        tokenizer: fast tokenizer; its chat template stands in tokenizer_config.json.
        origin: one line that says where the weights come from.
        folder: folder of the files; it is made where it is missing.
    """
    with _written(folder, MODEL_FILES[:-2], origin) as partial:
        network.save_pretrained(partial, max_shard_size="1TB")
        tokenizer.save_pretrained(partial, save_jinja_files=False)


def carry_weights(weights: Mapping[str, Any], files: Sequence[str], folder: str | Path) -> None:
    """Copy `files` of a local model to `folder`, for jobs on machines that share no files with this one.

    Args:
        weights: entry of the configuration, which names the folder.
        files: its files.
        folder: where the copies go, all or none.

    Raises:
        HomogenizationError: a file differs from a digest that lies beside it, or the disk is full.
    """
    resolved = verified_weights(weights)
    with _written(folder, [Path(file).name for file in files], resolved.description) as partial:
        for file in files:
            shutil.copyfile(file, partial / Path(file).name)


@contextmanager
def _written(folder: str | Path, names: Sequence[str], origin: str) -> Iterator[Path]:
    """Yield where the files `names` are written; a line on their origin and a list of digests follow."""
    names = [*names, ORIGIN_FILE]
    with written_together(folder, [*names, DIGESTS_FILE]) as partial:
        yield partial
        (partial / ORIGIN_FILE).write_text(f"{origin}\n", encoding="utf-8")
        list_digests(partial, names)
