"""Models that the workflow builds are saved whole: network, tokenizer, their origin, and digests."""

from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from homogenization.models.built import BUILT_FILES
from homogenization.models.digests import list_digests
from homogenization.names.files import ORIGIN_FILE
from homogenization.run.files import written_together
from homogenization.run.job import job_record
from homogenization.run.made_by import marked

MODEL_FILES = tuple(BUILT_FILES.values())


def save_model(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, origin: str, folder: str | Path) -> None:
    """Save a model as the `MODEL_FILES` in `folder`: all of them, or none.

    Args:
        network: network, with or without its head; one safetensors file holds its parameters.
        tokenizer: fast tokenizer; its chat template stands in tokenizer_config.json.
        origin: one line that says where the weights come from.
        folder: folder of the files; it is made where it is missing.
    """
    with written_together(folder, MODEL_FILES) as partial:
        network.save_pretrained(partial, max_shard_size="1TB")
        tokenizer.save_pretrained(partial, save_jinja_files=False)
        (partial / ORIGIN_FILE).write_text(marked(origin, job_record().get("key")), encoding="utf-8")
        list_digests(partial, MODEL_FILES[:-1])
