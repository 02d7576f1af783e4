"""Tiny models in GGUF as llama.cpp writes them, and wheels around them."""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFWriter, get_tensor_name_map, quantize
from transformers import LlamaConfig, LlamaForCausalLM

from homogenization.models.untrained import train_tokenizer

TEXTS = ["The plot is thin, the acting is not.", "In 1997 I saw 23 films, and 10 were dull.", "Ghosts, again? 3½!"] * 4
CHAT_TEMPLATE = (
    "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
)
SIZE = 420  # of the vocabulary, at most
HEADS, KEY_HEADS, HEAD_WIDTH, BLOCKS = 4, 2, 16, 2
WIDTH, INNER = HEADS * HEAD_WIDTH, 96


def llama() -> LlamaForCausalLM:
    """A network whose embedding is its head too, the same in each call."""
    config = LlamaConfig(
        vocab_size=train_tokenizer(TEXTS, SIZE).get_vocab_size(),
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=BLOCKS,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
        max_position_embeddings=256,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = LlamaForCausalLM(config).eval()
        for parameter in network.parameters():
            parameter.data += 0.1 * torch.randn_like(parameter)
    return network


def tensors(network: LlamaForCausalLM) -> dict[str, np.ndarray]:
    """The network's tensors by llama.cpp's names. It turns neighbours of a head where transformers turns its halves."""
    theirs, ours = get_tensor_name_map(MODEL_ARCH.LLAMA, BLOCKS), network.model.state_dict(prefix="model.")
    arrays = {theirs.get_name(name, [".weight"]): tensor.numpy().copy() for name, tensor in ours.items()}
    for name, array in arrays.items():
        if "attn_q." in name or "attn_k." in name:
            rows = [
                head + part * HEAD_WIDTH // 2 + pair
                for head in range(0, len(array), HEAD_WIDTH)
                for pair in range(HEAD_WIDTH // 2)
                for part in (0, 1)
            ]
            arrays[name] = array[rows]
    return arrays


def write_gguf(
    path: Path,
    kind: str = "F32",
    metadata: Mapping[str, Any] | None = None,
    change: Callable[[dict[str, np.ndarray]], object] = lambda arrays: None,
) -> Path:
    """Write the network to `path`: matrices as `kind`, vectors as F32; None among `metadata` removes a value."""
    tokenizer = train_tokenizer(TEXTS, SIZE)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    values = {
        "general.architecture": "llama",
        "llama.block_count": BLOCKS,
        "llama.context_length": 256,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS,
        "llama.rope.freq_base": 5000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.vocab_size": len(vocabulary),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": vocabulary,
        "tokenizer.ggml.token_type": [3 if token in ("<s>", "</s>") else 1 for token in vocabulary],
        "tokenizer.ggml.merges": merges_of(TEXTS),
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    } | dict(metadata or {})
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, values.pop("general.architecture"))
    for name, value in values.items():
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
        if value is not None:
            add.get(type(value), writer.add_array)(name, value)
    arrays = tensors(llama())
    change(arrays)
    for name, array in arrays.items():
        if array.ndim == 1 or kind == "F32":
            writer.add_tensor(name, array)
        else:
            stored = GGMLQuantizationType[kind]
            writer.add_tensor(name, quantize(array, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def merges_of(texts: Sequence[str]) -> list[str]:
    """The merges of a tokenizer that is trained on `texts`, as GGUF holds them."""
    return [" ".join(pair) for pair in json.loads(train_tokenizer(texts, SIZE).to_str())["model"]["merges"]]


def write_wheel(folder: Path, members: Mapping[str, bytes]) -> None:
    """Write a wheel with these members to `folder`, as pip takes it from there (PIP_FIND_LINKS)."""
    folder.mkdir(parents=True, exist_ok=True)
    described = "tiny_lm-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny_lm-1.0-py3-none-any.whl", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        archive.writestr(f"{described}/METADATA", "Metadata-Version: 2.1\nName: tiny_lm\nVersion: 1.0\n")
        archive.writestr(f"{described}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{described}/RECORD", "")
