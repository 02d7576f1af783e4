"""Files appear whole or not at all, and one that can't be read is named."""

import os
import subprocess
import sys
from functools import partial

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import read_csv, read_json, written_together, written_whole
from homogenization.run.parquet import read_input, read_table, table_metadata, write_table, write_tables

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


def test_files_that_belong_together_appear_together(tmp_path):
    with written_together(tmp_path / "folder", ["a.txt", "b.txt"]) as partial:
        (partial / "a.txt").write_text("a")
        (partial / "b.txt").write_text("b")
        assert [path.name for path in (tmp_path / "folder").iterdir()] == [partial.name]
    assert {path.name: path.read_text() for path in (tmp_path / "folder").iterdir()} == {"a.txt": "a", "b.txt": "b"}


@pytest.mark.parametrize(
    ("read", "content"),
    [
        *((read, content) for read in (read_table, table_metadata) for content in (b"", b"PAR1", b"no parquet at all")),
        *((read_json, content) for content in (b"", b'{"seconds": 1', b'{"seconds": \xff}')),
        *((partial(read_csv, schema={"n": pl.Int64}), content) for content in (b"", b"name\na\n", b"n\nno number\n")),
    ],
)
def test_a_file_that_is_damaged_or_gone_is_named(tmp_path, read, content):
    path = tmp_path / "table"
    with pytest.raises(HomogenizationError, match="table: gone"):
        read(path)
    path.write_bytes(content)
    with pytest.raises(HomogenizationError, match="table: damaged or cut short"):
        read(path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.99])
def test_a_table_cut_short_is_named(tmp_path, kept):
    path = tmp_path / "table.parquet"
    write_table(TABLE, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(HomogenizationError, match=r"table\.parquet: damaged or cut short"):
        read_table(path)


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
