"""Devices for weights, and weights that accelerate spreads: the same numbers, whatever lies where."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel

from homogenization.models.devices import placement
from homogenization.models.loading import load_network
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS, network

# the whole of the last block and parts of others lie on the disk, and come to work one after the other
PLACES = {
    "llama": {"embed_tokens": "disk", "layers.0": "cpu", "layers.1": "disk", "layers.2": "disk", "norm": "cpu"},
    "bert": {"embeddings": "disk", "encoder.layer.0": "disk", "encoder.layer.1": "cpu", "encoder.layer.2": "disk"},
}


@pytest.mark.parametrize(("name", "last"), [("llama", "rotary_emb"), ("bert", "pooler")])
def test_weights_are_loaded_to_where_the_map_says_and_give_the_same_numbers(tmp_path, name, last):
    made = network(CONFIGS[name])
    made.save_pretrained(tmp_path)
    places = {"device_map": PLACES[name] | {last: "cpu"}, "offload_folder": tmp_path / "disk"}
    spread = load_network(AutoModel, tmp_path, "float32", **places)
    assert any(parameter.device.type == "meta" for parameter in spread.parameters())
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    ids = torch.arange(3, 40)[None]
    with torch.inference_mode():
        assert torch.equal(spread(ids).last_hidden_state, made(ids).last_hidden_state)


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_takes_cuda_then_mps_then_cpu(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert placement("auto", 1) == ({} if chosen == "cpu" else {"device_map": {"": torch.device(chosen, 0)}})
    with pytest.raises(HomogenizationError, match=r"gpu: 2 .* this job sees 0"):
        placement("auto", 2)
    if not mps:
        with pytest.raises(HomogenizationError, match=r"device: 'mps' is not here; allowed: auto, .*cpu"):
            placement("mps", 1)


def test_the_cpu_does_not_take_the_place_of_a_gpu_in_silence(monkeypatch, tmp_path):
    driver = Path(tmp_path / "version")
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n")
    monkeypatch.setattr("homogenization.models.devices._DRIVER", driver)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for device in ("auto", "cuda"):
        with pytest.raises(HomogenizationError, match=rf"device: '{device}' finds a GPU that .* can't use; .*535\.104"):
            placement(device, 1)
    assert placement("cpu", 1) == {}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert placement("auto", 1) == {}
