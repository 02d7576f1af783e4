"""Files appear whole or not at all, and one that can't be read is named."""

from contextlib import nullcontext

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_whole
from homogenization.run.parquet import read_input, read_table, table_metadata, write_table
from homogenization.run.yaml_files import read_yaml

TABLE = pl.DataFrame({"review_id": ["a", "b"], "value": [1.0, 2.0]})


def test_round_trip_with_metadata(tmp_path):
    path = tmp_path / "folder" / "table.parquet"
    write_table(TABLE, path, {"model": "m", "views": ["raw"]})
    assert read_table(path).equals(TABLE)
    assert table_metadata(path) == {"model": "m", "views": ["raw"]}
    assert [p.name for p in path.parent.iterdir()] == ["table.parquet"]


def test_inputs_are_tables_paths_or_none(tmp_path):
    paths = [str(tmp_path / name) for name in ("table.parquet", "table.csv")]
    for path in paths:
        write_table(TABLE, path, schema=TABLE.schema)
    assert all(read_input(path, TABLE.schema).equals(TABLE) for path in paths)
    assert read_input(paths) == paths
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


@pytest.mark.parametrize(
    ("text", "where"), [("a: [1", "line 1, column"), ("a: 1\n b: 2", "line 2"), ("a:\n\tx", "line 2, column 1")]
)
def test_what_is_no_yaml_is_named_with_its_line(tmp_path, text, where):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(HomogenizationError, match=rf"a\.yaml: not readable as YAML \(.*{where}"):
        read_yaml(tmp_path / "a.yaml")
