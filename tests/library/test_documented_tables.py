"""The page of tables is made from their schemas; a schema whose column has no meaning makes no page."""

import sys
from importlib.util import module_from_spec, spec_from_file_location

import polars as pl
import pytest

from conftest import ROOT
from homogenization.config.table_docs import PAGE, described, row, tables_made, tables_page

SOURCE = """
import polars as pl
from homogenization.tables.mauve import MAUVE_SUMMARY_SCHEMA
from homogenization.names.columns import columns, with_ends

NUMBERS = {
    "first": pl.Int32,  #: behind
    #: above, in
    #: two lines
    "second": pl.Float64,
}
#: A row for each example.
EXAMPLE_SCHEMA = {
    **columns("model", "depth"),
    **NUMBERS,
    **dict.fromkeys(("third", "fourth"), pl.String),  #: of both
    **with_ends("fifth"),  #: a number
}
#: A row that stands on one line.
SHORT_SCHEMA = {**columns("model"), **NUMBERS}
UNDESCRIBED_SCHEMA = {**columns("model"), "sixth": pl.Int64}
"""


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The dotted name of a module with schemas."""
    (tmp_path / "example.py").write_text(SOURCE)
    spec = spec_from_file_location("homogenization.example", tmp_path / "example.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "homogenization.example", module)
    return "example"


def test_the_page_is_that_of_the_schemas():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert page == tables_page(page), "write it anew: PYTHONPATH=workflow/lib python -m homogenization.config.docs"


def test_columns_stand_in_their_order_with_their_meanings(example):
    assert row(f"{example}.EXAMPLE_SCHEMA") == "A row for each example."
    table = described(f"{example}.EXAMPLE_SCHEMA")
    assert [(name, *column) for name, column in table.items()] == [
        ("model", pl.String, "name of the model in the configuration", "COLUMNS"),
        ("depth", pl.Float64, "layer or block / number of blocks", "COLUMNS"),
        ("first", pl.Int32, "behind", ""),
        ("second", pl.Float64, "above, in two lines", ""),
        *((name, pl.String, "of both", "") for name in ("third", "fourth")),
        *((name, pl.Float64, "a number", "") for name in ("fifth", "fifth_low", "fifth_high")),
    ]
    assert described(f"{example}.SHORT_SCHEMA") == {name: table[name] for name in ("model", "first", "second")}


def test_an_imported_schema_is_described_where_it_stands(example):
    assert described(f"{example}.MAUVE_SUMMARY_SCHEMA") == described("tables.mauve.MAUVE_SUMMARY_SCHEMA")


def test_a_column_without_a_meaning_is_named(example):
    with pytest.raises(ValueError, match=r"example\.UNDESCRIBED_SCHEMA: sixth has no meaning; write it as a comment"):
        described(f"{example}.UNDESCRIBED_SCHEMA")


def test_a_name_that_is_no_schema_is_refused():
    with pytest.raises(ValueError, match=r"homogenization\.tables\.mauve has no OTHER_SCHEMA"):
        described("tables.mauve.OTHER_SCHEMA")


def test_a_table_of_changing_columns_is_described_by_hand():
    assert "verdicts.csv" not in tables_made()
    assert "### `verdicts.csv`" in (ROOT / PAGE).read_text(encoding="utf-8")
