"""Weights that are spread out by accelerate: the same numbers, whatever lies where."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from accelerate import dispatch_model
from transformers import AutoModel

from extracted import EMBEDDED, read, run, tiny
from homogenization.models.devices import choose_device, placement
from homogenization.models.loading import load_network
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import transformer_of
from tiny_models import CONFIGS, network

# the whole of the last block and parts of others lie on the disk, and come to work one after the other
PLACES = {
    "llama": {"embed_tokens": "disk", "layers.0": "cpu", "layers.1": "disk", "layers.2": "disk"},
    "gemma2": {"embed_tokens": "cpu", "layers.0": "disk", "layers.1": "cpu", "layers.2": "disk"},
    "bert": {"embeddings": "disk", "encoder.layer.0": "disk", "encoder.layer.1": "cpu", "encoder.layer.2": "disk"},
}
REST = {"llama": ("norm", "rotary_emb"), "gemma2": ("norm", "rotary_emb"), "bert": ("pooler",)}


def extracted(made, path, record_attention):
    model = replace(tiny(CONFIGS["llama"]), transformer=transformer_of(made))
    run(model, EMBEDDED[:6], path, record_attention)
    return read(path)


@pytest.mark.parametrize("record_attention", [True, False])
@pytest.mark.parametrize("name", PLACES)
def test_blocks_that_lie_in_several_places_give_the_same_numbers(tmp_path, name, record_attention):
    expected = extracted(network(CONFIGS[name]), tmp_path / "plain.zarr.zip", record_attention)
    device_map = {**PLACES[name], **dict.fromkeys(REST[name], "cpu")}
    spread = dispatch_model(network(CONFIGS[name]), device_map, offload_dir=tmp_path / "disk")
    assert any(parameter.device.type == "meta" for parameter in spread.parameters())
    found = extracted(spread, tmp_path / "spread.zarr.zip", record_attention)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_are_loaded_straight_to_where_the_map_says(tmp_path):
    made = network(CONFIGS["llama"])
    made.save_pretrained(tmp_path / "model")
    device_map = {**PLACES["llama"], **dict.fromkeys(REST["llama"], "cpu")}
    spread = load_network(
        AutoModel, tmp_path / "model", "float32", device_map=device_map, offload_folder=tmp_path / "disk"
    )
    assert spread.layers[1].mlp.up_proj.weight.device.type == "meta"
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert transformer_of(spread).device == torch.device("cpu")
    for ours, theirs in zip(
        extracted(spread, tmp_path / "spread.zarr.zip", True),
        extracted(made, tmp_path / "plain.zarr.zip", True),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("visible", [0, 1])
def test_gpus_that_are_not_there_are_named(monkeypatch, visible):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: visible)
    with pytest.raises(HomogenizationError, match=rf"gpu: 2 .* this job sees {visible}\. Ask for fewer"):
        placement("auto", 2)


def test_one_device_takes_all(monkeypatch):
    assert placement("cpu", 0) == placement("cpu", 1) == {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert placement("auto", 1) == {"device_map": {"": torch.device("cuda", 0)}}


def test_the_cpu_does_not_take_the_place_of_a_gpu_in_silence(monkeypatch, tmp_path, caplog):
    driver = tmp_path / "version"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n")
    monkeypatch.setattr("homogenization.models.devices._DRIVER", driver)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for device in ("auto", "cuda"):
        with pytest.raises(HomogenizationError, match=rf"device: '{device}' finds a GPU that .* can't use; .*535\.104"):
            choose_device(device)
    assert choose_device("cpu").type == "cpu"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with caplog.at_level("INFO"):
        assert choose_device("auto").type == "cpu"
    assert "device: auto is cpu here" in caplog.text
