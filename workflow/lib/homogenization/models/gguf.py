"""Weights in GGUF, the format of llama.cpp: dequantised and saved as safetensors.

transformers reads the file. What it would read in another sense than llama.cpp is corrected or refused here.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from gguf import GGUFReader
from tokenizers.normalizers import NFC
from tokenizers.pre_tokenizers import Digits, Sequence
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

from homogenization.models.built import save_model
from homogenization.models.weights import failure, fetch_gguf
from homogenization.run.errors import HomogenizationError

# byte-level vocabularies whose texts are split as GPT-2 splits them, which is what transformers does by itself; True:
# after each digit has been taken apart
_SPLIT_LIKE_GPT2 = {"gpt-2": False, "smollm": True}
# what llama.cpp (src/llama-vocab.cpp) does besides: a part of a text that is a token is not merged again, and a text
# opens with BOS unless the file says otherwise
_WHOLE_PARTS = frozenset(
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano", "tekken")
)
# their tokenizer.json puts accents on their letters (NFC); llama.cpp does not
_COMPOSED = frozenset(("qwen2", "qwen35"))


def convert_gguf(weights: Mapping[str, Any], folder: str | Path) -> None:
    """Save the model of a GGUF file in `folder` as `save_model` does, its parameters dequantised to float32.

    `weights` is an entry of the configuration (`fetch_gguf`).

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; its tensors, architecture
            or tokenizer can't be read as llama.cpp reads them.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch:
        path, described = fetch_gguf(weights, Path(scratch))
        # a folder with this file alone: a folder of the user's may hold another configuration or tokenizer
        link = Path(scratch, "alone", "model.gguf")
        link.parent.mkdir()
        link.symlink_to(path.absolute())
        with failure(f"{described} can't be read"):
            reader = GGUFReader(link)
            _refuse_what_is_not_read(reader, described)
            network, tokenizer = _network(link, reader, described), _tokenizer(link, reader)
        save_model(network, tokenizer, folder)


def _value(reader: GGUFReader, name: str) -> Any:
    return reader.fields[name].contents() if name in reader.fields else None


def _split_of(reader: GGUFReader) -> str | None:
    """How a byte-level tokenizer splits texts, by llama.cpp's name; None for other tokenizers."""
    return _value(reader, "tokenizer.ggml.pre") if _value(reader, "tokenizer.ggml.model") == "gpt2" else None


def _refuse_what_is_not_read(reader: GGUFReader, described: str) -> None:
    scaling = _value(reader, f"{_value(reader, 'general.architecture')}.rope.scaling.type") or "none"
    factors = [tensor.name for tensor in reader.tensors if tensor.name.startswith(("rope_freqs", "rope_factors"))]
    split = _split_of(reader)
    problem = None
    if scaling != "none" or factors:
        problem = f"rotary positions are scaled ({', '.join([scaling, *factors])})"
    if split not in {None, *GGUF_PRE_TOKENIZER_SPLITS, *_SPLIT_LIKE_GPT2}:
        problem = f"the tokenizer splits texts in the way {split!r}"
    if problem:
        raise HomogenizationError(
            f"{described}: {problem}, which transformers does not read from GGUF. Use the model's safetensors."
        )


def _network(path: Path, reader: GGUFReader, described: str) -> PreTrainedModel:
    """The network with its head in float32."""
    network = AutoModelForCausalLM.from_pretrained(
        path.parent,
        gguf_file=path.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
        trust_remote_code=False,
    )
    n_in_file = sum(int(tensor.n_elements) for tensor in reader.tensors)
    n_parameters = sum(map(torch.numel, network.parameters()))
    if n_parameters != n_in_file:
        raise HomogenizationError(
            f"{described} holds {n_in_file:,} numbers, transformers' {type(network).__name__} takes {n_parameters:,}: "
            "some would be random or left out. Fetch the whole file again, or use the model's safetensors."
        )
    return network


def _tokenizer(path: Path, reader: GGUFReader) -> PreTrainedTokenizerBase:
    """The tokenizer, with the chat template and the choice about BOS that the file states."""
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, trust_remote_code=False)
    backend, split = tokenizer.backend_tokenizer, _split_of(reader)
    if _SPLIT_LIKE_GPT2.get(split):
        backend.pre_tokenizer = Sequence([Digits(individual_digits=True), backend.pre_tokenizer])
    if split in _COMPOSED:
        backend.normalizer = NFC()
    if split in _WHOLE_PARTS:
        backend.model.ignore_merges = True
        if "tokenizer.ggml.add_bos_token" not in reader.fields:
            tokenizer.add_bos_token = True
    return tokenizer
