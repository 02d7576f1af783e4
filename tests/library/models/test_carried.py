"""Weights that are carried to other machines are read there as they lie here."""

import shutil

import pytest

from conftest import LLAMA
from homogenization.models.built import with_built_weights
from homogenization.models.digests import list_digests, verified_digests
from homogenization.models.saving import carry_weights
from homogenization.models.untrained import build_random_model
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError


@pytest.fixture
def folder(tmp_path):
    build_random_model(LLAMA, 0, ["A short text to learn a tokenizer of."], 300, tmp_path / "model")
    return tmp_path / "model"


def test_copies_have_their_origin_and_are_checked_where_they_are_read(folder, tmp_path):
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    weights, there = {"path": str(folder)}, tmp_path / "there"
    carry_weights(weights, [str(folder / name) for name in names], there)
    shutil.move(folder, tmp_path / "gone")
    files = [str(there / name) for name in (*names, "origin.txt", "weights.sha256")]
    resolved = resolve_weights(with_built_weights({"weights": weights}, files)["weights"])
    assert resolved.description == f"the local folder {folder}"
    verified_digests(resolved)
    for name in names:
        assert (there / name).read_bytes() == (tmp_path / "gone" / name).read_bytes()
    with (there / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(HomogenizationError, match="damaged"):
        verified_digests(resolved)


def test_a_damaged_model_is_not_carried(folder, tmp_path):
    list_digests(folder, ["model.safetensors"])
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(HomogenizationError, match="SHA-256"):
        carry_weights({"path": str(folder)}, [str(folder / "model.safetensors")], tmp_path / "there")
    assert not (tmp_path / "there").exists()
