"""Folders of models that transformers would read in another way than their files say: each is refused with a cure."""

import json
import os
import shutil
import socket
from pathlib import Path

import polars as pl
import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.models.digests import DIGESTS_FILE
from homogenization.models.untrained import build_random_model
from homogenization.models.weights import resolve_configuration, resolve_weights, source_of
from homogenization.run.errors import HomogenizationError
from homogenization.run.regular_files import sha256_once
from homogenization.run.yaml_files import read_yaml
from homogenization.states.model import load_model
from homogenization.training.networks import load_trainable
from homogenization.variants.fluency import load_reader
from homogenization.variants.scorers import keybert_scorer
from homogenization.variants.similarity import load_encoder
from homogenization.writers.local import LocalWriter
from homogenization.writers.prompts import load_prompt
from tiny_folders import ENTRY, LLAMA, TEXTS, edit

WRITER = {"dtype": "float32", "temperature": 0, "top_p": 1, "max_new_tokens": 9, "structured_output": "none"}
READERS = {
    "models": lambda weights: load_model({**ENTRY, "weights": weights}),
    "writers": lambda weights: LocalWriter({**WRITER, "weights": weights}, 0)._model,
    "encoder": lambda weights: load_encoder(weights, 1, "cpu"),
    "keybert": lambda weights: keybert_scorer(pl.DataFrame({"word": ["a"], "document_frequency": [1]}), 1, weights),
    "fluency": lambda weights: load_reader({"dtype": "float32", "device": "cpu", "weights": weights}),
    "training": lambda weights: load_trainable(weights, {"max_tokens": 32}, device="cpu", gpus=1, seed=0),
    "tokens": resolve_configuration,
}


@pytest.fixture(scope="module")
def adapter(built, tmp_path_factory) -> Path:
    """Files of a low-rank adapter of the model, which changes it."""
    folder = tmp_path_factory.mktemp("adapter")
    network = get_peft_model(AutoModel.from_pretrained(built), LoraConfig(r=2, target_modules="all-linear"))
    for parameter in network.parameters():
        parameter.data.add_(0.1)
    network.save_pretrained(folder)
    return folder


def refusal(folder: Path, *words: str, read=resolve_weights) -> None:
    """The folder is refused in these words."""
    with pytest.raises(HomogenizationError) as raised:
        read({"path": str(folder)})
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("reader", READERS)
def test_an_adapter_beside_weights_is_applied_to_none_of_them(folder, adapter, reader):
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(adapter / name, folder)
    words = ("holds an adapter (adapter_config.json)", "a second time", "without the files adapter_*", "merge")
    refusal(folder, *words, read=READERS[reader])


def test_an_adapter_beside_weights_is_told_when_the_study_is_read(folder, adapter):
    shutil.copy(adapter / "adapter_config.json", folder)
    study = SMALL | {"models": {"tiny": {"weights": {"path": str(folder)}, "device": "cpu"}}}
    with pytest.raises(HomogenizationError, match=r"models\.tiny\.weights.*holds an adapter"):
        load_study(study)


def test_an_adapter_alone_names_its_base_and_how_to_merge_it(built, adapter, folder):
    refusal(adapter, f"an adapter of the model '{built}'", "merge_and_unload()", "save_pretrained(FOLDER)")
    # the command of the message makes a model that is read
    network = AutoModel.from_pretrained(built)
    network.load_adapter(str(adapter))
    for path in folder.glob("*.safetensors"):
        path.unlink()
    PeftModel.from_pretrained(AutoModel.from_pretrained(built), adapter).merge_and_unload().save_pretrained(folder)
    tokens = torch.tensor([[5, 6, 7]])
    merged = AutoModel.from_pretrained(folder)(tokens).last_hidden_state
    torch.testing.assert_close(merged, network(tokens).last_hidden_state, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(merged, AutoModel.from_pretrained(built)(tokens).last_hidden_state, atol=1e-2)
    resolve_weights({"path": str(folder)})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, ["quantization_config (gptq)", "GGUF"]),
        ({"quantization_config": "fp8"}, ["quantization_config says", "float32"]),
        ({"text_config": {"quantization_config": {"quant_method": "fp8"}}}, ["text_config.quantization_config (fp8)"]),
        ({"compression_config": {"format": "dense"}}, ["compression_config", "float32"]),
        ({"_attn_implementation": "kernels-community/flash-attn"}, ["'kernels-community/flash-attn'", "Remove"]),
        ({"attn_implementation": {"text_config": "a/b@main:c"}}, ["attn_implementation asks for 'a/b@main:c'"]),
        ({"attn_implementation": 4}, ["attn_implementation asks for 4"]),
        ({"transformers_weights": "other.safetensors"}, ["transformers_weights", "model.safetensors"]),
        ({"fusion_config": {"patch_embeddings": True}}, ["fusion_config", "Remove"]),
    ],
)
def test_fields_that_ask_for_more_than_an_architecture_are_refused(folder, fields, words):
    edit(folder / "config.json", **fields)
    refusal(folder, str(folder / "config.json"), *words)


@pytest.mark.parametrize(
    "fields",
    [
        {"quantization_config": None},
        {"attn_implementation": "flash_attention_2"},
        {"torch_dtype": "float16", "return_dict": False},
        {"auto_map": {"AutoModel": "modeling_other.Other"}},
    ],
)
def test_fields_that_change_no_number_are_without_effect(built, folder, fields):
    edit(folder / "config.json", **fields)
    network = READERS["models"]({"path": str(folder)}).packed.network
    plain = READERS["models"]({"path": str(built)}).packed.network
    assert type(network) is type(plain)
    assert network.config.return_dict
    assert all(map(torch.equal, network.state_dict().values(), plain.state_dict().values()))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[1, 2]", "list where an object"),
        (b"{", "no JSON in UTF-8"),
        ('{"model_type": "llámá"}'.encode("latin1"), "no JSON in UTF-8"),
        (b"[" * 100_000, "no JSON in UTF-8"),
    ],
)
def test_a_configuration_that_is_no_object_is_named(folder, content, words):
    (folder / "config.json").write_bytes(content)
    refusal(folder, f"{folder / 'config.json'}: {words}")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_hidden_layers": "two"}, "'num_hidden_layers' expected int"),
        ({"num_attention_heads": 0}, "modulo by zero"),
        ({"id2label": [1]}, "not a configuration"),
        ({"model_type": [1]}, "not a configuration"),
        ({"model_type": "brand_new"}, "brand_new"),
        ({"model_type": "new", "auto_map": {"AutoConfig": "c.New"}}, "bring their own code are not run"),
        ({"hidden_act": "unknown"}, "can't be loaded ('unknown')"),
        ({"num_hidden_layers": 1}, "hold layers.1.input_layernorm.weight, for which LlamaModel has no place"),
        ({"intermediate_size": 48}, "has the shape"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named(folder, fields, words):
    edit(folder / "config.json", **fields)
    refusal(folder, str(folder), words, read=READERS["models"])


def sharded(folder: Path) -> dict:
    """The model in two files, with an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {}
    for number in (1, 2):
        name = f"model-0000{number}-of-00002.safetensors"
        part = dict(sorted(tensors.items())[number - 1 :: 2])
        save_file(part, folder / name, metadata={"format": "pt"})
        places |= dict.fromkeys(part, name)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return index


def test_a_model_in_several_files_is_read(built, folder):
    sharded(folder)
    network = READERS["models"]({"path": str(folder)}).packed.network
    plain = READERS["models"]({"path": str(built)}).packed.network
    assert all(map(torch.equal, network.state_dict().values(), plain.state_dict().values()))


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("/etc/model.safetensors", "leads to '/etc/model.safetensors', out of the folder"),
        ("../model.safetensors", "leads to '../model.safetensors', out of the folder"),
        ("sub/model.safetensors", "out of the folder"),
        ("pytorch_model.bin", "names 'pytorch_model.bin'. Only safetensors"),
        ("model-00003-of-00002.safetensors", "'model-00003-of-00002.safetensors', which is not there"),
        (3, "gives no file for each tensor"),
        ("model-00002-of-00002.safetensors", "names another place or none"),
    ],
)
def test_an_index_that_leads_elsewhere_is_refused(folder, place, words):
    index = sharded(folder)
    index["weight_map"]["norm.weight" if isinstance(place, int) else min(index["weight_map"])] = place
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "pytorch_model.bin").touch()
    refusal(folder, words, "save_pretrained()")


@pytest.mark.parametrize("content", ["[]", "{", '{"weight_map": {}}', '{"weight_map": {"a": "b"}}'])
def test_an_index_that_is_none_is_refused(folder, content):
    (folder / "model.safetensors.index.json").write_text(content)
    refusal(folder, "model.safetensors.index.json")


def test_two_sets_of_weights_are_refused_and_a_pickle_beside_is_not_read(built, folder):
    torch.save({}, folder / "pytorch_model.bin")
    resolve_weights({"path": str(folder)})
    sharded(folder)
    shutil.copy(built / "model.safetensors", folder)
    refusal(folder, "two sets of weights. Remove one")


def test_weights_by_another_name_are_told_from_none(folder):
    (folder / "model.safetensors").rename(folder / "consolidated.safetensors")
    words = "neither is there (the folder holds config.json, consolidated.safetensors"
    refusal(folder, words, read=READERS["models"])


def with_tensors(folder: Path, **changed) -> None:
    tensors = load_file(folder / "model.safetensors") | {name.replace("__", "."): new for name, new in changed.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


UP = "layers__0__mlp__up_proj__weight"


@pytest.mark.parametrize("reader", ["models", "training", "fluency"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(folder, reader, bad):
    build_random_model(LLAMA | {"tie_word_embeddings": True}, 0, TEXTS, 300, folder)
    (folder / DIGESTS_FILE).unlink()
    tensor = torch.zeros(24, 16)
    tensor[5, 3] = bad
    with_tensors(folder, **{UP: tensor})
    words = ("model.safetensors: 1 of the 384 numbers of the tensor", "mlp.up_proj.weight are not finite")
    refusal(folder, *words, read=READERS[reader])


def test_weights_beyond_float16_name_the_dtype_that_holds_them(folder):
    with_tensors(folder, **{UP: torch.full((24, 16), 7e4)})
    entry = {**ENTRY, "weights": {"path": str(folder)}}
    with pytest.raises(HomogenizationError, match=r"holds 70,000, beyond the 65,504 of float16\. Set dtype: bfloat16"):
        load_model(entry | {"dtype": "float16"})
    load_model(entry | {"dtype": "bfloat16"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"layers__0__self_attn__q_proj__bias": torch.ones(16)}, "hold layers.0.self_attn.q_proj.bias"),
        ({UP: torch.ones(24, 16).to(torch.float8_e4m3fn)}, "holds numbers of the type F8_E4M3, which are quantised"),
        ({UP: torch.ones(24, 16).to(torch.int8)}, "holds numbers of the type I8"),
    ],
)
def test_tensors_that_would_be_left_out_or_read_as_others_are_refused(folder, change, words):
    with_tensors(folder, **change)
    refusal(folder, words, read=READERS["models"])


def test_what_earlier_versions_saved_beside_parameters_is_left_out(built, folder):
    old = {"layers__0__self_attn__rotary_emb__inv_freq": torch.ones(4), "layers__0__attn__bias": torch.ones(1, 1, 8, 8)}
    others = {"lm_head__weight": torch.ones(4, 16), "vision__encoder__layers__0__fc__weight": torch.ones(4, 16)}
    with_tensors(folder, **old, **others)
    READERS["models"]({"path": str(folder)})


def test_other_numbers_than_the_files_hold_are_seen(folder, monkeypatch):
    own = AutoModel.from_pretrained

    def changing(*arguments, **options):
        network, loading = own(*arguments, **options)
        network.layers[1].self_attn.q_proj.weight.data.mul_(1.5)
        return network, loading

    monkeypatch.setattr(AutoModel, "from_pretrained", changing)
    words = "other numbers in layers.1.self_attn.q_proj.weight than this file holds"
    refusal(folder, words, read=READERS["models"])


def special(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(path))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_what_is_no_file_is_not_waited_for(folder, name, kind, monkeypatch):
    monkeypatch.chdir(folder)
    special(folder / name, kind)
    said = {"pipe": "a named pipe"}.get(kind, f"a {kind}")
    refusal(folder, f"{folder / name} is {said}, and not a file")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_no_file_of_a_study_is_waited_for(tmp_path, kind):
    path = tmp_path / "file"
    special(path, kind)

    def digest(path):
        return source_of({"path": str(path.parent), "gguf": path.name}).fetch_gguf(path.parent)

    for read in (digest, read_yaml, load_prompt):
        with pytest.raises(HomogenizationError, match=f"(pipe|device), and not a file.*{path}|{path}.*(pipe|device)"):
            read(path)
    with pytest.raises(OSError, match="and not a file"):
        sha256_once(path)
    special(tmp_path / "reviews.csv", kind)
    with pytest.raises(HomogenizationError, match=r"corpus\.source.*reviews\.csv' is a (named pipe|device), and not"):
        load_study(SMALL | {"corpus": SMALL["corpus"] | {"source": str(tmp_path / "reviews.csv")}})
