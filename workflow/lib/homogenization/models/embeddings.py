"""Rows that an embedding lacks are told with both numbers, in place of an IndexError or a device that is lost."""

from functools import partial
from pathlib import Path

import torch
from transformers import PreTrainedModel

from homogenization.run.errors import HomogenizationError


def refuse_absent_rows(network: PreTrainedModel, folder: Path) -> None:
    """Let each pass of `network`, which was loaded from `folder`, look up only rows that its embeddings have.

    A pass that asks for another row raises HomogenizationError.
    """
    try:
        words = network.get_input_embeddings()
    except NotImplementedError:
        words = None
    for name, module in network.named_modules():
        # a class of its own may take something else than rows (OPT's positions: the mask)
        if module is words or type(module) is torch.nn.Embedding:
            what = "the token" if module is words else f"the index {name}"
            module.register_forward_pre_hook(partial(_refuse, f"{folder}: {what}"))


def _refuse(what: str, module: torch.nn.Embedding, inputs: tuple) -> None:
    rows = inputs[0] if inputs else None
    if rows is None or rows.is_meta or rows.numel() == 0:
        return
    least, most = (int(row) for row in torch.aminmax(rows))
    if least < 0 or most >= module.num_embeddings:
        raise HomogenizationError(
            f"{what} {most if least >= 0 else least} of a text has no row in the embedding, which has "
            f"{module.num_embeddings}. Take the tokenizer that the model has learnt with, or lower max_tokens if it is "
            "the index of a position."
        )
