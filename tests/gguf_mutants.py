"""Damaged copies of a GGUF file, each by one fault of a known kind, and what becomes of them."""

import random
import struct
from collections.abc import Iterator
from pathlib import Path

import gguf
from safetensors.torch import load_file

from homogenization.models.gguf import convert_gguf
from homogenization.models.saving import MODEL_FILES
from homogenization.run.errors import HomogenizationError

FINE = {"refused", "same", "finite"}  # what may become of a damaged copy
HUGE = (2**63 - 1, 2**40, 2**32, 2**20)


def places_in(path: Path) -> dict[str, list[int]]:
    """Offsets in a whole file, by what stands there."""
    reader = gguf.GGUFReader(path)
    fields = [field for name, field in reader.fields.items() if not name.startswith("GGUF.")]
    kinds = [field.offset + 8 + len(field.name) for field in fields]
    infos = [tensor.field.offset for tensor in reader.tensors]
    names = [(tensor.field.offset + 8, tensor.name) for tensor in reader.tensors]
    shapes = [place + len(name) for place, name in names]
    types = [at + 4 + 8 * len(tensor.shape) for at, tensor in zip(shapes, reader.tensors, strict=True)]
    first, last = fields[0].offset, infos[0]
    arrays = [at + 8 for at, field in zip(kinds, fields, strict=True) if field.types[0] == gguf.GGUFValueType.ARRAY]
    return {
        "header": list(range(first)),
        "metadata": list(range(first, last)),
        "values": [at + 4 for at in kinds],
        "infos": list(range(last, types[-1] + 12)),
        "data": list(range(reader.data_offset, path.stat().st_size)),
        "counts": [8, 16, *(field.offset for field in fields), *arrays, *infos, *(at + 4 for at in shapes)],
        "kinds": kinds,
        "types": types,
        "offsets": [at + 4 for at in types],
        "names": [at for at, name in names if name.startswith("blk.0")],
    }


def mutants(path: Path, seed: int, number: int) -> Iterator[tuple[str, bytes]]:
    """Damaged copies of the file: what was done, and the bytes."""
    draw, places, whole = random.Random(seed), places_in(path), path.read_bytes()
    for index in range(number):
        content = bytearray(whole)
        kind = ("cut", "header", "metadata", "values", "infos", "data", "counts", "kinds", "types", "offsets", "names")[
            index % 11
        ]
        at = draw.randrange(len(whole)) if kind == "cut" else draw.choice(places[kind])
        if kind == "cut":
            del content[at:]
        elif kind == "counts":
            struct.pack_into("<Q", content, at, draw.choice(HUGE))
        elif kind in ("kinds", "types"):
            struct.pack_into("<I", content, at, draw.randrange(45))
        elif kind == "offsets":
            struct.pack_into("<Q", content, at, draw.choice((*HUGE, 0, 32 * draw.randrange(4000))))
        elif kind == "names":
            content[at + 4] = ord("1")  # blk.1: that name stands twice
        else:
            content[at] ^= 1 << draw.randrange(8)
        yield f"{index}: {kind} at {at}", bytes(content)


def fate(content: bytes, whole: Path, folder: Path) -> str:
    """What becomes of a damaged copy in `folder`: "refused", "same" as in the folder `whole`, "finite", or a fault."""
    folder.mkdir()
    (folder / "model.gguf").write_bytes(content)
    made = folder / "converted"
    try:
        convert_gguf({"path": str(folder), "gguf": "model.gguf"}, made)
    except HomogenizationError as error:
        told = "model.gguf of the local folder" in str(error) and not list(made.iterdir())
        return "refused" if told else f"left files behind, or without the file's name: {error}"
    names = [name for name in MODEL_FILES if name not in ("origin.txt", "weights.sha256")]
    if all((made / name).read_bytes() == (whole / name).read_bytes() for name in names):
        return "same"
    tensors = load_file(made / "model.safetensors").values()
    return "finite" if all(tensor.isfinite().all() for tensor in tensors) else "not finite"
