"""Files appear whole or not at all, and one that can't be read is named."""

from contextlib import nullcontext

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.parquet import read_table, table_metadata, write_table
from homogenization.run.yaml_files import read_yaml

TABLE = pl.DataFrame({"review_id": ["a", "b"], "value": [1.0, 2.0]})


def test_round_trip_with_metadata(tmp_path):
    path = tmp_path / "folder" / "table.parquet"
    write_table(TABLE, path, {"model": "m", "views": ["raw"]})
    assert read_table(path).equals(TABLE)
    assert table_metadata(path) == {"model": "m", "views": ["raw"]}
    assert [p.name for p in path.parent.iterdir()] == ["table.parquet"]


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


@pytest.mark.parametrize("shared", [False, True])
def test_a_writer_that_was_thought_dead_places_nothing_unless_files_are_shared(tmp_path, shared):
    """Snakemake was killed, the job that it left goes on, and the next run writes the same file."""
    path = tmp_path / "file.txt"

    def first_writer() -> None:
        with written_whole(path, shared) as partial:
            partial.write_text("of the first")
            with written_whole(path, shared) as other:
                other.write_text("of the second")

    with nullcontext() if shared else pytest.raises(FileNotFoundError):
        first_writer()
    assert path.read_text() == ("of the first" if shared else "of the second")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("columns", [{"name": ["a"], "count": [1.5]}, {"name": ["a"]}, {"count": [1], "name": ["a"]}])
def test_a_table_of_other_columns_than_its_schema_is_not_written(tmp_path, columns):
    with pytest.raises(ValueError, match=r"counts\.parquet: its columns are .*; its schema says .*count"):
        write_table(pl.DataFrame(columns), tmp_path / "counts.parquet", {}, {"name": pl.String, "count": pl.Int64})
    assert not list(tmp_path.iterdir())


def test_what_is_no_yaml_is_named_with_its_line(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n b: 2")
    with pytest.raises(HomogenizationError, match=r"a\.yaml: not readable as YAML \(.*line 2"):
        read_yaml(tmp_path / "a.yaml")
