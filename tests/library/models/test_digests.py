"""Whether weights are whole: their digests, and what becomes of files that differ from them."""

import os
import shutil
import subprocess
from hashlib import sha256

import huggingface_hub
import pytest

from flipped import flip_bit
from homogenization.models.built import with_built_weights
from homogenization.models.digests import combined_digest, list_digests, verified_digests
from homogenization.models.saving import carry_weights
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONTENT = {"model-1.safetensors": b"the first", "model-2.safetensors": b"the second"}


def digest(content):
    return sha256(content).hexdigest()


WHOLE_LIST = "".join(f"{digest(content)}  {name}\n" for name, content in CONTENT.items())


@pytest.fixture
def shards(tmp_path):
    """A folder with weights in two files."""
    folder = tmp_path / "shards"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    return folder


def test_digests_are_those_of_sha256sum(shards):
    listed = subprocess.run(["sha256sum", *CONTENT], cwd=shards, capture_output=True, text=True, check=True).stdout
    found = verified_digests(resolve_weights({"path": str(shards)}))
    assert list(found) == sorted(CONTENT)
    assert "".join(f"{value}  {name}\n" for name, value in found.items()) == listed


def test_the_combined_digest_tells_names_and_contents_apart():
    first, second = digest(b"1"), digest(b"2")
    assert combined_digest({"a": first, "b": second}) == combined_digest({"b": second, "a": first})
    different = [{"a": first}, {"a": second}, {"b": first}, {"a": first, "b": second}, {"a": second, "b": first}]
    assert len({combined_digest(digests) for digests in different}) == 5


def test_without_known_digests_any_content_will_do(shards):
    flip_bit(shards / "model-1.safetensors")
    found = verified_digests(resolve_weights({"path": str(shards)}))
    assert found == {name: digest((shards / name).read_bytes()) for name in CONTENT}


@pytest.mark.parametrize("listing", ["weights.sha256", "SHA256SUMS"])
@pytest.mark.parametrize("arguments", [[], ["--binary"], ["./"]])
def test_a_local_folder_is_compared_with_its_list_of_digests(shards, listing, arguments):
    names = [f"./{name}" for name in CONTENT] if arguments == ["./"] else [*arguments, *CONTENT]
    with (shards / listing).open("w") as output:
        subprocess.run(["sha256sum", *names, "config.json"], cwd=shards, stdout=output, check=True)
    weights = resolve_weights({"path": str(shards)})
    assert verified_digests(weights) == {name: digest(content) for name, content in CONTENT.items()}
    flip_bit(shards / "model-2.safetensors")
    with pytest.raises(HomogenizationError) as caught:
        verified_digests(weights)
    found = digest((shards / "model-2.safetensors").read_bytes())
    assert all(word in str(caught.value) for word in ["model-2.safetensors", found, digest(b"the second"), "Fetch"])
    assert (shards / "model-2.safetensors").exists(), "the user's own file stays where it is"


def test_other_files_of_the_list_do_not_matter(shards):
    lines = [f"{digest(content)}  {name}" for name, content in CONTENT.items()]
    (shards / "pytorch_model.bin").write_bytes(b"changed")
    (shards / "original").mkdir()
    (shards / "original" / "params.json").write_bytes(b"changed")
    others = ["pytorch_model.bin", "original/params.json", "not_here.safetensors"]
    listing = "\n".join([*lines, *(f"{digest(b'x')}  {name}" for name in others), ""])
    (shards / "SHA256SUMS").write_text(listing)
    verified_digests(resolve_weights({"path": str(shards)}))


@pytest.mark.parametrize(
    ("listing", "words"),
    [
        (f"{digest(b'the first')}  model-1.safetensors", "model-2.safetensors is not listed"),
        (WHOLE_LIST.replace("model-2", "model-3"), "model-2.safetensors is not listed"),
        ("0123  model-1.safetensors", "'0123  model-1.safetensors' is no line of sha256sum"),
        ("\x00\ufffd", "no line of sha256sum"),
    ],
)
@pytest.mark.parametrize("source", ["path", "built"])
def test_a_list_that_says_too_little_is_refused(shards, listing, words, source):
    (shards / "weights.sha256").write_text(listing)
    with pytest.raises(HomogenizationError, match=r"weights\.sha256") as caught:
        verified_digests(resolve_weights({source: str(shards)}))
    assert words in str(caught.value)
    assert (shards / "weights.sha256").exists() == (source == "path")


def test_a_list_of_the_workflow_names_what_is_there(shards):
    (shards / "weights.sha256").write_text(f"{WHOLE_LIST}{digest(b'x')}  tokenizer.json\n")
    with pytest.raises(HomogenizationError, match=r"tokenizer\.json is listed and not there\)\. .* moved to"):
        verified_digests(resolve_weights({"built": str(shards)}))
    with pytest.raises(HomogenizationError, match=r"weights\.sha256: gone"):
        verified_digests(resolve_weights({"built": str(shards)}))


@pytest.fixture
def hub_cache(shards, tmp_path, monkeypatch):
    """The snapshot of a model in a cache that is laid out as the hub's client does it."""
    repository = tmp_path / "models--some--model"
    snapshot, blobs = repository / "snapshots" / COMMIT, repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in shards.iterdir():
        content = path.read_bytes()
        blob = digest(content) if path.suffix == ".safetensors" else digest(content)[:40]
        (blobs / blob).write_bytes(content)
        (snapshot / path.name).symlink_to(os.path.relpath(blobs / blob, snapshot))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(snapshot))
    return snapshot


def test_a_hub_model_is_compared_with_the_names_of_its_files(hub_cache):
    weights = resolve_weights({"hub": "some/model"})
    assert verified_digests(weights) == {name: digest(content) for name, content in CONTENT.items()}
    blob = (hub_cache / "model-1.safetensors").resolve()
    flip_bit(blob)
    message = rf"model-1\.safetensors: damaged .*{digest(b'the first')}.* moved to .*\.damaged\. .*fetches it again"
    with pytest.raises(HomogenizationError, match=message):
        verified_digests(weights)
    assert not os.path.lexists(hub_cache / "model-1.safetensors"), "so that the client fetches it"
    assert not blob.exists()
    assert blob.with_name(f"{blob.name}.damaged").exists(), "nothing is lost"


def test_copies_for_other_machines_have_their_origin_and_are_checked_where_they_are_read(shards, tmp_path):
    files, there = sorted(shards.iterdir()), tmp_path / "there"
    weights = {"path": str(shards)}
    carry_weights(weights, list(map(str, files)), there)
    shutil.rmtree(shards)
    copied = [str(there / name) for name in (*(file.name for file in files), "origin.txt", "weights.sha256")]
    resolved = resolve_weights(with_built_weights({"weights": weights}, copied)["weights"])
    assert resolved.description == f"the local folder {shards}"
    assert verified_digests(resolved) == {name: digest(content) for name, content in CONTENT.items()}
    flip_bit(there / "model-1.safetensors")
    with pytest.raises(HomogenizationError, match="damaged"):
        verified_digests(resolved)


def test_a_damaged_model_is_not_carried(shards, tmp_path):
    list_digests(shards, CONTENT)
    flip_bit(shards / "model-1.safetensors")
    with pytest.raises(HomogenizationError, match="SHA-256"):
        carry_weights({"path": str(shards)}, [str(shards / "model-1.safetensors")], tmp_path / "there")
    assert not (tmp_path / "there").exists()
