"""Models that the workflow builds: all of their files, or none."""

from pathlib import Path
from typing import TYPE_CHECKING

from homogenization.models.built import BUILT_FILES
from homogenization.run.files import written_together

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def save_model(network: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", folder: str | Path) -> None:
    """Save a model as the `BUILT_FILES` in `folder`: all of them, or none.

    Args:
        network: network, with or without its head; one safetensors file holds its parameters.
        tokenizer: fast tokenizer; its chat template stands in tokenizer_config.json.
        folder: folder of the files; it is made where it is missing.
    """
    with written_together(folder, list(BUILT_FILES.values())) as partial:
        network.save_pretrained(partial, max_shard_size="1TB")
        tokenizer.save_pretrained(partial, save_jinja_files=False)
