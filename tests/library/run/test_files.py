"""Files appear whole or not at all."""

import errno
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import damage, move_aside, read_csv, read_json, written_together, written_whole
from homogenization.run.job import job, job_record
from homogenization.run.parquet import read_input, read_table, table_metadata, write_table, write_tables
from homogenization.run.storage import arguments_of_storage, tell_scripts

TABLE = pl.DataFrame({"review_id": ["a", "b"], "value": [1.0, 2.0]})


def test_round_trip_with_metadata(tmp_path):
    path = tmp_path / "folder" / "table.parquet"
    write_table(TABLE, path, {"model": "m", "views": ["raw"]})
    assert read_table(path).equals(TABLE)
    assert table_metadata(path) == {"model": "m", "views": ["raw"]}
    assert [p.name for p in path.parent.iterdir()] == ["table.parquet"]


def test_inputs_are_tables_paths_or_none(tmp_path):
    path = str(tmp_path / "table.parquet")
    write_table(TABLE, path)
    TABLE.write_csv(tmp_path / "table.csv")
    assert read_input(path).equals(TABLE)
    assert read_input(tmp_path / "table.csv", TABLE.schema).equals(TABLE)
    assert read_input([path]) == [path]
    assert read_input([]) is None
    assert read_input([], TABLE.schema).equals(TABLE.clear())


def test_a_table_says_what_made_it(tmp_path):
    snakemake = SimpleNamespace(
        rule="tabulate", threads=1, input=[], params={"code": "0123", "threshold": 0.9}, log=[tmp_path / "log"]
    )
    with job(snakemake):
        write_table(TABLE, tmp_path / "table.parquet", {"model": "m"})
    metadata = table_metadata(tmp_path / "table.parquet")
    assert metadata["model"] == "m"
    assert metadata["made_by"]["rule"] == "tabulate"
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
        with written_whole(path) as hidden:
            hidden.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_belong_together_appear_together_or_not_at_all(tmp_path):
    def write(second: bool) -> None:
        with written_together(tmp_path / "folder", ["a.txt", "b.txt"]) as partial:
            (partial / "a.txt").write_text("a")
            if second:
                (partial / "b.txt").write_text("b")

    with pytest.raises(FileNotFoundError):
        write(second=False)
    assert list((tmp_path / "folder").iterdir()) == []
    write(second=True)
    assert {path.name: path.read_text() for path in (tmp_path / "folder").iterdir()} == {"a.txt": "a", "b.txt": "b"}


def test_a_full_disk_is_named(tmp_path):
    with pytest.raises(HomogenizationError, match=r"file\.txt: the disk is full"), written_whole(tmp_path / "file.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_table_on_a_disk_that_is_really_full(small_disk):
    import numpy as np

    large = pl.DataFrame({"x": np.random.default_rng(0).random(1_000_000)})
    with pytest.raises(HomogenizationError, match="the disk is full"):
        write_table(large, small_disk / "large.parquet")
    assert list(small_disk.iterdir()) == []


@pytest.fixture(params=[read_table, table_metadata])
def read(request):
    """Both ways to read a table."""
    return request.param


def is_moved_aside(read, path, reason: str) -> None:
    """Reading `path` has to name it, say `reason`, and keep its bytes under another name."""
    content = None if path.is_dir() else path.read_bytes()
    with pytest.raises(HomogenizationError) as raised:
        read(path)
    message = str(raised.value)
    aside = path.with_name(f"{path.name}.damaged")
    assert message.startswith(f"{path}: damaged or cut short")
    assert reason in message
    assert f"It was moved to {aside}. Run the same command again" in message
    assert not path.exists()
    assert aside.is_dir() if content is None else aside.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, but long enough to be looked at"])
def test_a_broken_table_is_moved_aside(tmp_path, read, content):
    path = tmp_path / "table.parquet"
    path.write_bytes(content)
    is_moved_aside(read, path, "parquet")


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_table_cut_short_is_moved_aside(tmp_path, read, kept):
    path = tmp_path / "table.parquet"
    write_table(TABLE, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    is_moved_aside(read, path, "")


def test_no_flipped_byte_of_a_table_goes_unnoticed(tmp_path):
    """Parquet itself would read half of them as other values, and abort the process at some."""
    path = tmp_path / "table.parquet"
    write_table(TABLE, path, {"model": "m"})
    whole = path.read_bytes()
    mark = b'"homogenization_checksum": "'
    without_effect = range(whole.index(mark), whole.index(mark) + len(mark))  # the name of the checksum
    for position in set(range(len(whole))) - set(without_effect):
        flipped = bytearray(whole)
        flipped[position] ^= 0x10
        path.write_bytes(flipped)
        with pytest.raises(HomogenizationError, match=r"checksum|readable"):
            read_table(path)
        path.with_name("table.parquet.damaged").unlink()


@pytest.mark.parametrize("metadata", [None, {"homogenization": '{"model": "m'}], ids=["another program's", "cut short"])
def test_a_table_without_readable_metadata_has_no_checksum(tmp_path, metadata):
    path = tmp_path / "table.parquet"
    TABLE.write_parquet(path, metadata=metadata)
    assert read_table(path).equals(TABLE)
    is_moved_aside(table_metadata, path, "no readable metadata")


def test_a_folder_in_place_of_a_table_is_moved_aside(tmp_path, read):
    path = tmp_path / "table.parquet"
    write_table(TABLE, path / "000.parquet")  # polars would read the files in it
    is_moved_aside(read, path, "a folder and not a file")


@pytest.mark.parametrize("content", [b"", b'{"seconds": 1', b'{"seconds": \xff}'])
def test_a_damaged_json_file_is_moved_aside(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text('{"seconds": 1.5}')
    assert read_json(path) == {"seconds": 1.5}
    path.write_bytes(content)
    is_moved_aside(read_json, path, "not readable as JSON")


@pytest.mark.parametrize("content", [b"", b"name\na\n", b"name,n\na,no number\n"])
def test_a_damaged_csv_file_is_moved_aside(tmp_path, content):
    path = tmp_path / "claims.csv"
    schema = {"name": pl.String, "n": pl.Int64}
    path.write_text("name,other,n\na,b,1\n")
    assert read_csv(path, schema).rows() == [("a", 1)]
    path.write_bytes(content)
    is_moved_aside(partial(read_csv, schema=schema), path, "not a readable CSV table of name, n")


@pytest.mark.parametrize("reader", [read_table, table_metadata, read_json, partial(read_csv, schema={})])
def test_a_file_that_is_gone_is_named(tmp_path, reader):
    """Another job may have moved it aside a moment ago."""
    with pytest.raises(HomogenizationError, match=r"table\.parquet: gone\. .* Run the same command again"):
        reader(tmp_path / "table.parquet")


def test_damaged_files_of_one_name_are_all_kept(tmp_path):
    path = tmp_path / "table.parquet"
    for content in ("first", "second", "third"):
        path.write_text(content)
        move_aside(path)
    kept = {aside.name: aside.read_text() for aside in tmp_path.iterdir()}
    assert kept == {
        "table.parquet.damaged": "first",
        "table.parquet.damaged-2": "second",
        "table.parquet.damaged-3": "third",
    }


def test_the_file_behind_a_link_is_moved_aside_in_its_own_folder(tmp_path):
    """Snakemake's between-workflow cache: what stayed in the cache would be fetched again."""
    cached, link = tmp_path / "cache" / "0123.parquet", tmp_path / "results" / "000.parquet"
    write_table(TABLE, cached)
    cached.write_bytes(cached.read_bytes()[:-1])
    link.parent.mkdir()
    link.symlink_to(cached)
    with pytest.raises(HomogenizationError, match=r"results/000\.parquet: .* moved to .*/cache/0123\.parquet\.damaged"):
        read_table(link)
    assert [path.name for path in cached.parent.iterdir()] == ["0123.parquet.damaged"]
    assert list(link.parent.iterdir()) == []


def test_two_jobs_that_find_the_same_damage_both_say_so(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_text("damaged")
    with ThreadPoolExecutor(8) as threads:
        messages = [str(error) for error in threads.map(lambda _: damage(path, "cut"), range(8))]
    assert sum("It was moved to" in message for message in messages) == 1
    assert sum("Another job has moved it aside. Run the same command again" in message for message in messages) == 7
    assert [aside.name for aside in tmp_path.iterdir()] == ["table.parquet.damaged"]


def test_a_damaged_file_in_a_folder_that_is_read_only(small_disk):
    path = small_disk / "table.parquet"
    path.write_text("damaged")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(HomogenizationError, match=f"could not be moved aside .*Delete {path} and run the same command"):
        read_table(path)
    assert path.read_text() == "damaged"


KILLED_HALF_WAY = """
import sys, time
from homogenization.run.files import written_whole
with written_whole(sys.argv[1]) as partial:
    partial.write_text("half")
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer_at_work(tmp_path):
    """A process that has written half of `file.txt`."""
    library = os.path.dirname(os.path.dirname(sys.modules["homogenization"].__file__))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED_HALF_WAY, str(tmp_path / "file.txt")],
        env={**os.environ, "PYTHONPATH": library},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "written\n"
    yield process
    process.kill()
    process.wait()


def write(path, shared: bool = False) -> None:
    with written_whole(path, shared) as partial:
        partial.write_text("whole")


def test_what_a_killed_process_left_goes_when_the_file_is_written_again(tmp_path, writer_at_work):
    writer_at_work.kill()
    writer_at_work.wait()
    (left,) = tmp_path.iterdir()
    assert (left / "file.txt").read_text() == "half"
    write(tmp_path / "other.txt")
    assert left.exists()
    write(tmp_path / "file.txt")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"file.txt": "whole", "other.txt": "whole"}


def test_a_writer_that_was_thought_dead_fails_and_places_nothing(tmp_path):
    """Snakemake was killed, the job it left went on, and the next run writes the same file."""
    path = tmp_path / "file.txt"

    def first_writer() -> None:
        with written_whole(path) as partial:
            partial.write_text("of the first")
            write(path)

    with pytest.raises(FileNotFoundError):
        first_writer()
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


def test_a_shared_file_has_several_writers_at_a_time(tmp_path, writer_at_work):
    (attempt,) = tmp_path.iterdir()
    write(tmp_path / "file.txt", shared=True)
    assert (attempt / "file.txt").read_text() == "half"
    assert (tmp_path / "file.txt").read_text() == "whole"


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"name": ["a"], "count": [1.5]}, "column 'count' is Float64, the schema says Int64"),
        ({"name": ["a"]}, "column 'count' is missing, the schema says Int64"),
        ({"name": ["a"], "count": [1], "more": [2]}, "column 'more' is not in the schema"),
        ({"count": [1], "name": ["a"]}, "the columns are in the order count, name, the schema says name, count"),
    ],
)
def test_a_table_of_other_columns_than_its_schema_is_not_written(tmp_path, columns, fault):
    schema = {"name": pl.String, "count": pl.Int64}
    right, path = pl.DataFrame({"name": ["a"], "count": [1]}), tmp_path / "counts.parquet"
    with pytest.raises(ValueError, match=rf"^counts\.parquet: {fault}$"):
        write_tables([right, pl.DataFrame(columns)], [tmp_path / "right.csv", path], [schema, schema], {})
    assert not list(tmp_path.iterdir())
    write_tables([right, pl.DataFrame(columns)], [tmp_path / "right.csv", path], [schema, None], {})
    assert read_table(path).equals(pl.DataFrame(columns))


def test_a_full_disk_tells_the_room_of_every_place_that_may_be_full(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(HomogenizationError) as raised, written_whole(tmp_path / "results/a"):
        raise RuntimeError("zstd: No space left on device (os error 28)")
    said = str(raised.value)
    for place in (tmp_path / "results", tmp_path, "/dev/shm"):
        assert re.search(rf"[\d,]+ MB in {place}\b", said), said
    assert "export TMPDIR=" in said
    assert "--shm-size" in said


def test_a_damaged_copy_of_an_object_names_the_object(tmp_path, monkeypatch):
    factory = SimpleNamespace(
        get_default_storage_provider_args=lambda: "--default-storage-prefix 's3://b/a b'",
        get_storage_provider_args=lambda: [],
        get_storage_provider_envvars=lambda: {},
    )
    settings = SimpleNamespace(local_storage_prefix=tmp_path, shared_fs_usage=set())
    monkeypatch.setattr(os, "environ", dict(os.environ))
    tell_scripts(SimpleNamespace(spawned_job_args_factory=factory, storage_settings=settings))
    copy, other = tmp_path / "s3/b/results/x.json", tmp_path.parent / "y.json"
    copy.parent.mkdir(parents=True)
    for path in (copy, other):
        path.write_text("{")
    said = {path: str(damage(path, "cut")) for path in (copy, other)}
    assert "It is a copy of s3://b/results/x.json. Delete this object in the storage" in said[copy]
    assert copy.exists()
    assert "It was moved to" in said[other]
    assert arguments_of_storage() == ["--default-storage-prefix", "s3://b/a b", "--shared-fs-usage", "none"]
