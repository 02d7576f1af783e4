"""A large file is hashed once, and again when it has changed, whatever its size and date of modification say."""

import os
import time
from hashlib import sha256

import pytest

from homogenization.run import regular_files
from homogenization.run.regular_files import sha256_once
from homogenization.run.user_cache import CACHE_VARIABLE

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
