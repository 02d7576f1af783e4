"""Files appear whole or not at all."""

import errno
import shutil
import subprocess
from contextvars import copy_context

import polars as pl
import pytest

from homogenization.errors import HomogenizationError
from homogenization.files import describe_job, job_record, read_table, table_metadata, write_table, written_whole

TABLE = pl.DataFrame({"review_id": ["a", "b"], "value": [1.0, 2.0]})


def test_round_trip_with_metadata(tmp_path):
    path = tmp_path / "folder" / "table.parquet"
    write_table(TABLE, path, {"model": "m", "views": ["raw"]})
    assert read_table(path).equals(TABLE)
    assert table_metadata(path) == {"model": "m", "views": ["raw"]}
    assert [p.name for p in path.parent.iterdir()] == ["table.parquet"]


def test_a_table_says_what_made_it(tmp_path):
    context = copy_context()
    context.run(describe_job, "tabulate", {"code": "0123", "threshold": 0.9})
    context.run(write_table, TABLE, tmp_path / "table.parquet", {"model": "m"})
    metadata = table_metadata(tmp_path / "table.parquet")
    assert metadata["model"] == "m"
    assert metadata["made_by"]["params"] == {"code": "0123", "threshold": 0.9}
    assert metadata["made_by"]["libraries"]["polars"] == pl.__version__
    assert job_record() == {}


def test_the_same_table_gives_the_same_bytes(tmp_path):
    write_table(TABLE, tmp_path / "a.parquet", {"x": 1})
    write_table(TABLE, tmp_path / "b.parquet", {"x": 1})
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail_half_way() -> None:
        with written_whole(path) as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(HomogenizationError, match=r"file\.txt: the disk is full"), written_whole(tmp_path / "file.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB, mounted for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_table_on_a_disk_that_is_really_full(small_disk):
    import numpy as np

    large = pl.DataFrame({"x": np.random.default_rng(0).random(1_000_000)})
    with pytest.raises(HomogenizationError, match="the disk is full"):
        write_table(large, small_disk / "large.parquet")
    assert list(small_disk.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, but long enough to be looked at"])
def test_a_broken_table_is_named(tmp_path, content):
    path = tmp_path / "table.parquet"
    path.write_bytes(content)
    with pytest.raises(HomogenizationError, match=r"table\.parquet: not a readable Parquet table"):
        read_table(path)


def test_a_table_cut_short_is_named(tmp_path):
    path = tmp_path / "table.parquet"
    write_table(TABLE, path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(HomogenizationError, match="Delete the file"):
        read_table(path)
