"""Example tables, made from the schemas of the tables that they stand for."""

import polars as pl


def example_table(schema, **columns):
    """A table of a schema from some of its columns: a single value stands in every row, other columns are null."""
    return pl.DataFrame({name: columns.get(name) for name in schema}, schema=schema)
