"""A loaded network beside its safetensors: it has the same tensors with the same numbers, all of them finite.

transformers only warns of tensors that it leaves out, and says nothing of what it does with the others.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor
from torch.nn import ModuleList
from transformers import PreTrainedModel

from homogenization.models.folders import header_of, weight_files
from homogenization.run.errors import HomogenizationError

FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
# saved in blocks by earlier versions of transformers, and computed by today's: frequencies, and masks of what follows
_COMPUTED = re.compile(r"(inv_freq|masked_bias|causal_mask|position_ids)$")


def check_loaded(network: PreTrainedModel, unexpected: set[str], folder: Path, whole: bool = True) -> None:
    """Compare a network with the safetensors in its folder.

    The numbers compared are the first row of each parameter that bears the name and shape of a tensor in the files;
    finite are all of those on a device, which cost about as much as one pass over the memory that they take.

    Args:
        network: Network that `from_pretrained` has loaded.
        unexpected: Names of the tensors that it found no place for.
        folder: Folder of the safetensors.
        whole: Whether the network has all blocks of its files; False where the last ones were not asked for.

    Raises:
        HomogenizationError: the files hold more of a block than the network takes, or numbers of a quantised type; a
            parameter has other numbers than its file; or a number is not finite.
    """
    files = {tensor: (path, about) for path in weight_files(folder) for tensor, about in header_of(path).items()}
    _refuse_left_out(network, unexpected, files, folder, whole)
    prefix = network.base_model_prefix
    for name, parameter in network.named_parameters():
        names = (name, f"{prefix}.{name}", name.removeprefix(f"{prefix}."))
        stored = next((each for each in names if each in files), None)
        if parameter.is_meta or not parameter.is_floating_point():  # meta: fetched from the CPU or disk in every pass
            continue
        if stored is None:
            refuse_not_finite(name, parameter, str(folder))
            continue
        path, about = files[stored]
        if about["dtype"] not in FLOATS:
            raise HomogenizationError(
                f"{path}: the tensor {stored} holds numbers of the type {about['dtype']}, which are quantised, and "
                "config.json does not say how. Take the model in float32, bfloat16 or float16, or as a GGUF file."
            )
        with safe_open(path, framework="pt") as tensors:
            slices = tensors.get_slice(stored)
            refuse_not_finite(name, parameter, str(path), lambda slices=slices: slices[:])
            if about["shape"] != list(parameter.shape) or not parameter.ndim or not parameter.numel():
                continue
            if not torch.equal(slices[:1].to(parameter.dtype), parameter[:1].detach().cpu()):
                raise HomogenizationError(
                    f"{path}: the network has other numbers in {name} than this file holds: config.json or another "
                    f"file in {folder} changes them. Write network and tokenizer again with save_pretrained(), into an "
                    "empty folder."
                )


def refuse_not_finite(name: str, parameter: Tensor, where: str, stored: Any = None) -> None:
    """Refuse a parameter with a number that is NaN or infinite.

    Args:
        name: Its name.
        parameter: Its numbers, on any device.
        where: File or folder that it comes from.
        stored: Function that reads it from there in the type that it has there; None where it has been that of
            `parameter`.

    Raises:
        HomogenizationError: it is not finite; the message says whether the file or the type is at fault.
    """
    if not parameter.numel() or all(extreme.isfinite() for extreme in torch.aminmax(parameter.detach())):
        return
    if stored is not None and (numbers := stored()).isfinite().all():
        raise HomogenizationError(
            f"{where}: the tensor {name} holds {numbers.abs().max().item():,.0f}, beyond the "
            f"{torch.finfo(parameter.dtype).max:,.0f} of {str(parameter.dtype).removeprefix('torch.')}. Set dtype: "
            "bfloat16 or float32."
        )
    n_bad = int((~parameter.isfinite()).sum())
    raise HomogenizationError(
        f"{where}: {n_bad:,} of the {parameter.numel():,} numbers of the tensor {name} are not finite (NaN or "
        "infinite), so the file is damaged, or training had diverged. Fetch it again, or take an earlier checkpoint."
    )


def _refuse_left_out(
    network: PreTrainedModel, unexpected: set[str], files: Mapping[str, tuple[Path, Any]], folder: Path, whole: bool
) -> None:
    """Refuse tensors of a block that the network has no place for: it would compute another block than was trained.

    Tensors outside of the blocks, such as those of a head, may be left out; so may those that are computed anew.
    """
    blocks = _blocks_in_files(network, files.keys() - unexpected)
    further = getattr(network.config.get_text_config(), "num_nextn_predict_layers", 0) or 0
    for name in sorted(unexpected & files.keys()):
        about = files[name][1]
        # masks are whole numbers, or have an axis for texts and one for heads
        if _COMPUTED.search(name) or about["dtype"] not in FLOATS or len(about["shape"]) in (0, 4):
            continue
        for place, n_blocks in blocks.items():
            found = re.match(rf"{re.escape(place)}\.(\d+)\.", name)
            if found and (int(found[1]) < n_blocks or (whole and int(found[1]) >= n_blocks + further)):
                raise HomogenizationError(
                    f"{folder}: the safetensors hold {name}, for which {type(network).__name__} has no place by "
                    f"config.json ({n_blocks} blocks): it would be left out, and the numbers be those of another "
                    "network. Fetch config.json and weights again, from one place."
                )


def _blocks_in_files(network: PreTrainedModel, taken: set[str]) -> dict[str, int]:
    """How the files name each list of blocks that the network takes tensors of, and how many blocks it has."""
    places = {match[1] for name in taken if (match := re.match(r"(.+?)\.\d+\.", name))}
    lists = {name: len(module) for name, module in network.named_modules() if isinstance(module, ModuleList)}
    return {
        place: n_blocks
        for place in places
        for name, n_blocks in lists.items()
        # the files may name the network that holds the list, or leave it out
        if f".{place}".endswith(f".{name}") or f".{name}".endswith(f".{place}")
    }
