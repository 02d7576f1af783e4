"""The folder of a model before transformers reads it: it holds one model, whole, and nothing that changes it.

transformers decides by itself what it makes of a folder: it applies an adapter, follows an index to other places, takes
the first of two sets of weights, and fetches the code that config.json names. What is not the plain reading of
config.json and safetensors is refused here. Every parse of the Snakefile imports this module.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from homogenization.run.errors import HomogenizationError
from homogenization.run.regular_files import kind_of_special, open_regular

_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_ADAPTER = "adapter_config.json"
_LARGEST_HEADER = 100_000_000  # bytes; the limit of the safetensors library
# fields of config.json that say something else than an architecture: what they do, and what to do
_REFUSED = {
    **dict.fromkeys(
        ("quantization_config", "compression_config"),
        "says that the weights are quantised; other libraries undo that in ways of their own, or not at all. Take the "
        "model in float32, bfloat16 or float16, or as a GGUF file, which is dequantised to float32",
    ),
    "transformers_weights": "names another file of weights. Name the file model.safetensors, and remove this field",
    "fusion_config": "has transformers replace parts of the network. Remove this field",
}
_ATTENTION = ("attn_implementation", "_attn_implementation", "experts_implementation", "_experts_implementation")


def checked_folder(folder: Path, described: str) -> Path:
    """The absolute path of a model's folder, after checks that transformers reads of it what its files say.

    Args:
        folder: Folder of a model.
        described: Where it comes from, for messages.

    Raises:
        HomogenizationError: it lacks config.json or safetensors; has an adapter, or two sets of weights; an index
            leads out of it, or names other tensors than its files hold; config.json asks for other weights or other
            code; or one of its files is a pipe, a socket or a device.
    """
    if not folder.is_dir():
        raise HomogenizationError(
            f"weights: {described} does not exist ({folder} is not a folder). Give a folder with config.json, "
            "*.safetensors and the tokenizer's files."
        )
    for path in sorted(folder.iterdir()):
        if kind := kind_of_special(path):
            raise HomogenizationError(f"weights: {path} is {kind}, and not a file. Put the file there, or remove it.")
    refuse_adapter(folder, described)
    missing = [
        name
        for name, present in (
            ("config.json", (folder / "config.json").is_file()),
            ("*.safetensors", any(path.is_file() for path in folder.glob("*.safetensors"))),
        )
        if not present
    ]
    if missing:
        raise HomogenizationError(
            f"weights: {described} lacks {' and '.join(missing)} ({folder} holds {_listed(folder)}). Only safetensors "
            "are read: load a pickled checkpoint with transformers once and write it again with save_pretrained()."
        )
    _refuse_fields(fields_of(folder), folder / "config.json")
    if (folder / _INDEX).exists():
        weight_files(folder)
    return folder.absolute()


def fields_of(folder: Path) -> dict[str, Any]:
    """The fields of config.json in `folder`.

    Raises:
        HomogenizationError: it is missing, or no JSON object in UTF-8.
    """
    return _json_object(folder / "config.json", "Fetch it again, or write it with save_pretrained().")


def header_of(path: Path) -> dict[str, dict[str, Any]]:
    """The tensors of a safetensors file by name, each with `dtype`, `shape` and `data_offsets`; no number is read.

    Raises:
        OSError: the file can't be opened, or is no regular one.
        ValueError: it does not begin with a header: 8 bytes of length, then JSON.
    """
    with open_regular(path) as file:
        length = int.from_bytes(file.read(8), "little")
        if length > _LARGEST_HEADER:
            raise ValueError("no header of safetensors")
        header = json.loads(file.read(length))
    if not isinstance(header, dict) or not all(isinstance(tensor, dict) for tensor in header.values()):
        raise ValueError("no header of safetensors")
    return {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def weight_files(folder: Path) -> list[Path]:
    """The safetensors that transformers reads in `folder`: model.safetensors, or the files of the index.

    Raises:
        HomogenizationError: there is neither, or both; the index leads out of the folder, or to a file that is absent
            or no safetensors; or it places tensors in other files than hold them.
    """
    index = folder / _INDEX
    if not index.exists():
        if not (folder / _WEIGHTS).is_file():
            raise HomogenizationError(
                f"{folder}: transformers reads weights from {_WEIGHTS} or from the files that {_INDEX} names, and "
                f"neither is there (the folder holds {_listed(folder)}). Rename a single file, or write the model "
                "again with save_pretrained()."
            )
        return [folder / _WEIGHTS]
    again = "Fetch the whole model again, or write it again with save_pretrained()."
    content = _json_object(index, again)
    places = content.get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(place, str) for place in places.values()):
        raise HomogenizationError(f"{index}: its weight_map gives no file for each tensor. {again}")
    if not isinstance(content.get("metadata"), dict):
        raise HomogenizationError(f"{index} has no metadata, which transformers asks for. {again}")
    names = sorted(set(places.values()))
    for name in names:
        path = PurePosixPath(name)
        if path.name != name or "\\" in name:
            raise HomogenizationError(f"{index}: weight_map leads to {name!r}, out of the folder. {again}")
        if path.suffix != ".safetensors":
            raise HomogenizationError(
                f"{index}: weight_map names {name!r}. Only safetensors are read, since other formats can run code when "
                "they are loaded: load the model with transformers once and write it again with save_pretrained()."
            )
        if not (folder / name).is_file():
            raise HomogenizationError(f"{index}: weight_map names {name!r}, which is not there. {again}")
    if (folder / _WEIGHTS).is_file() and names != [_WEIGHTS]:
        raise HomogenizationError(
            f"{folder} holds {_WEIGHTS}, and {_INDEX} names other files ({', '.join(names[:3])}): two sets of weights. "
            "Remove one of them."
        )
    for name in names:
        _compare_with_index(folder / name, {tensor for tensor, place in places.items() if place == name}, index, again)
    return [folder / name for name in names]


def _compare_with_index(path: Path, expected: set[str], index: Path, again: str) -> None:
    """Refuse a file with other tensors than the index places in it: of a tensor in two files, the last would count."""
    try:
        found = set(header_of(path))
    except (OSError, ValueError):  # damaged: its digest or its loading says so
        return
    for tensors, words in ((found - expected, "another place or none"), (expected - found, "this file")):
        if tensors:
            holds = "holds" if tensors <= found else "lacks"
            raise HomogenizationError(
                f"{path} {holds} the tensor {min(tensors)}, for which {index.name} names {words} "
                f"({len(tensors)} such tensors). {again}"
            )


def refuse_adapter(folder: Path, described: str) -> None:
    """Refuse an adapter: transformers would apply it to the weights beside it, which may contain it already.

    Raises:
        HomogenizationError: the folder holds an adapter, beside the files of a model or alone.
    """
    if not (folder / _ADAPTER).exists():
        return
    if (folder / "config.json").exists():
        raise HomogenizationError(
            f"weights: {described} holds an adapter ({_ADAPTER}) beside the files of a model, and transformers would "
            f"apply it to them, a second time if they are merged. If they are, take {folder} without the files "
            "adapter_*; if not, load both with peft, call merge_and_unload() and save_pretrained(), and give that "
            "folder."
        )
    base = _json_object(folder / _ADAPTER, "Fetch the adapter again.").get("base_model_name_or_path")
    raise HomogenizationError(
        f"weights: {described} is an adapter of the model {base!r} and no model: it lacks the weights that it changes. "
        f"Merge them: peft.AutoPeftModelForCausalLM.from_pretrained({str(folder)!r}).merge_and_unload()"
        ".save_pretrained(FOLDER), save the tokenizer there too, and give weights: {path: FOLDER}."
    )


def _refuse_fields(fields: Mapping[str, Any], path: Path) -> None:
    """Refuse what config.json says beside the architecture, also of the networks inside a network."""
    for holder, name, value in _all_fields(fields):
        if name in _REFUSED and value:
            method = value.get("quant_method") if isinstance(value, dict) else None
            told = f" ({method})" if method else ""
            raise HomogenizationError(f"{path}: {holder}{name}{told} {_REFUSED[name]}.")
        if name in _ATTENTION:
            for chosen in value.values() if isinstance(value, dict) else [value]:
                if chosen is not None and (not isinstance(chosen, str) or "/" in chosen):
                    raise HomogenizationError(
                        f"{path}: {holder}{name} asks for {chosen!r}, code that does not come with transformers and is "
                        "not run. Remove this field, and the network computes attention as its architecture says."
                    )


def _all_fields(fields: Mapping[str, Any], holder: str = "") -> Iterator[tuple[str, str, Any]]:
    """Each field, with the names of the fields that hold it."""
    for name, value in fields.items():
        yield holder, name, value
        if isinstance(value, dict):
            yield from _all_fields(value, f"{holder}{name}.")


def _json_object(path: Path, remedy: str) -> dict[str, Any]:
    try:
        with open_regular(path) as file:
            content = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise HomogenizationError(f"{path}: no JSON in UTF-8 ({error}). {remedy}") from error
    if not isinstance(content, dict):
        raise HomogenizationError(f"{path}: {type(content).__name__} where an object {{...}} should stand. {remedy}")
    return content


def _listed(folder: Path) -> str:
    return ", ".join(sorted(entry.name for entry in folder.iterdir())[:12]) or "nothing"
