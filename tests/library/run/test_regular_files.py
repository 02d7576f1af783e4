"""A large file is hashed once, and again when it has changed, whatever its size and date of modification say."""

import errno
import json
import os
import subprocess
import sys
import time
from hashlib import sha256

import pytest

from conftest import ROOT
from homogenization.run import regular_files
from homogenization.run.regular_files import sha256_once
from homogenization.run.user_cache import CACHE_VARIABLE, noted

CONTENT = b"weights" * 1000


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file that has settled, for a user without notes."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(regular_files, "_SETTLED", -1.0)
    path = tmp_path / "model.safetensors"
    path.write_bytes(CONTENT)
    time.sleep(0.05)  # the clock of a file system ticks up to every 10 ms
    return path


def test_a_note_that_cant_be_written_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(errno.EDQUOT, "no quota")))
        assert noted("kind", b"of", lambda: 5) == 5
    assert list((tmp_path / "kind").iterdir()) == []
    assert noted("kind", b"of", lambda: 6) == noted("kind", b"of", lambda: 7) == 6


@pytest.fixture
def hashed(monkeypatch):
    """The files that are read to be hashed."""
    read, hash_file = [], regular_files.sha256_of
    monkeypatch.setattr(regular_files, "sha256_of", lambda path: read.append(path) or hash_file(path))
    return read


def notes(tmp_path):
    return list((tmp_path / "cache" / "digests").glob("*.json"))


def test_a_file_is_hashed_once_by_whatever_name(file, hashed, tmp_path):
    (tmp_path / "link").symlink_to(file)
    assert [sha256_once(name) for name in (file, str(file), tmp_path / "link")] == [digest(CONTENT)] * 3
    assert hashed == [file]


def test_a_changed_file_is_hashed_again_though_size_and_date_are_the_same(file, hashed, tmp_path):
    sha256_once(file)
    before = file.stat()
    changed = CONTENT[:-1] + b"!"
    file.write_bytes(changed)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert [sha256_once(file), sha256_once(file)] == [digest(changed)] * 2
    assert len(hashed) == 2


def test_another_file_in_its_place_is_hashed(file, hashed, tmp_path):
    sha256_once(file)
    other = tmp_path / "other"
    other.write_bytes(CONTENT[::-1])
    os.replace(other, file)
    assert sha256_once(file) == digest(CONTENT[::-1])


def test_a_file_that_may_still_change_unseen_gets_no_note(file, hashed, tmp_path, monkeypatch):
    monkeypatch.setattr(regular_files, "_SETTLED", 3600.0)
    sha256_once(file)
    sha256_once(file)
    assert len(hashed) == 2
    assert notes(tmp_path) == []


def test_a_file_that_changes_while_it_is_hashed_gets_no_note(file, tmp_path, monkeypatch):
    hash_file = regular_files.sha256_of

    def hash_and_write(path):
        found = hash_file(path)
        file.write_bytes(CONTENT + b"more")
        return found

    monkeypatch.setattr(regular_files, "sha256_of", hash_and_write)
    sha256_once(file)
    assert notes(tmp_path) == []


def test_without_a_place_for_notes_each_call_hashes(file, hashed, tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert [sha256_once(file), sha256_once(file)] == [digest(CONTENT)] * 2
    for variable in (CACHE_VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(regular_files.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert sha256_once(file) == digest(CONTENT)
    assert len(hashed) == 3


def test_a_note_of_another_file_is_not_taken(file, hashed, tmp_path):
    sha256_once(file)
    (note,) = notes(tmp_path)
    note.write_text(json.dumps(["0" * 32, "0" * 64]))
    assert sha256_once(file) == digest(CONTENT)
    assert len(hashed) == 2


def test_processes_at_once_agree(file, tmp_path):
    files = [file, *(tmp_path / f"{number}.safetensors" for number in range(20))]
    for number, path in enumerate(files):
        path.write_bytes(CONTENT + bytes([number]))
    program = (
        "import sys\nfrom homogenization.run import regular_files\nregular_files._SETTLED = -1.0\n"
        "for path in sys.argv[1:] * 5: print(regular_files.sha256_once(path))"
    )
    command = [sys.executable, "-c", program, *map(str, files)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow/lib")}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    expected = [digest(path.read_bytes()) for path in files] * 5
    assert [process.communicate()[0].split() for process in running] == [expected] * 2
    assert {json.loads(note.read_text())[1] for note in notes(tmp_path)} == set(expected)
