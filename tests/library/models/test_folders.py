"""Folders of models that are refused, each with its cure, and what is read of others."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.models.weights import resolve_configuration, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.states.model import load_model
from tiny_folders import ENTRY, edit


def load(weights):
    return load_model({**ENTRY, "weights": weights})


@pytest.fixture(scope="module")
def adapter(built, tmp_path_factory) -> Path:
    """Files of a low-rank adapter of the model, which changes it."""
    folder = tmp_path_factory.mktemp("adapter")
    network = get_peft_model(AutoModel.from_pretrained(built), LoraConfig(r=2, target_modules="all-linear"))
    network.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("read", [resolve_weights, resolve_configuration, load])
def test_an_adapter_beside_weights_or_alone_is_refused(folder, adapter, read):
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(adapter / name, folder)
    for path in (folder, adapter):
        with pytest.raises(HomogenizationError, match=r"holds an adapter .*a second time.*merge_and_unload"):
            read({"path": str(path)})


def test_an_adapter_is_told_when_the_study_is_read(folder, adapter):
    shutil.copy(adapter / "adapter_config.json", folder)
    study = SMALL | {"models": {"tiny": {"weights": {"path": str(folder)}, "device": "cpu"}}}
    with pytest.raises(HomogenizationError, match=r"models\.tiny\.weights.*holds an adapter"):
        load_study(study)


@pytest.mark.parametrize("fields", [{"return_dict": False}, {"auto_map": {"AutoModel": "modeling_other.Other"}}])
def test_fields_that_change_no_number_are_without_effect(built, folder, fields):
    edit(folder / "config.json", **fields)
    network, plain = (load({"path": str(path)}).transformer.network for path in (folder, built))
    assert type(network) is type(plain)
    assert network.config.return_dict
    assert all(map(torch.equal, network.state_dict().values(), plain.state_dict().values()))


@pytest.mark.parametrize("content", [b"[1, 2]", b"{", '{"model_type": "llámá"}'.encode("latin1")])
def test_a_configuration_that_is_no_object_is_named(folder, content):
    (folder / "config.json").write_bytes(content)
    with pytest.raises(HomogenizationError, match=r"config\.json: no JSON object in UTF-8"):
        load({"path": str(folder)})


@pytest.mark.parametrize(
    "fields",
    [
        {"num_hidden_layers": "two"},
        {"num_attention_heads": 0},
        {"model_type": "brand_new"},
        {"model_type": "new", "auto_map": {"AutoConfig": "c.New"}},
        {"hidden_act": "unknown"},
        {"num_hidden_layers": 3},
        {"intermediate_size": 48},
    ],
)
def test_a_configuration_that_does_not_fit_is_named(folder, fields):
    edit(folder / "config.json", **fields)
    with pytest.raises(HomogenizationError, match=str(folder)):
        load({"path": str(folder)})


def test_a_model_in_several_files_is_read_and_a_pickle_beside_it_is_not(built, folder):
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
    torch.save({}, folder / "pytorch_model.bin")
    network, plain = (load({"path": str(path)}).transformer.network for path in (folder, built))
    assert all(map(torch.equal, network.state_dict().values(), plain.state_dict().values()))
