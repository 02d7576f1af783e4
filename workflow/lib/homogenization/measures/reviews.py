"""What a measure is, and the tables that measures make."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import polars as pl

from homogenization.measures.views import TokenGram
from homogenization.states.stream import TokenStates, stream


class TokenMeasure:
    """A measure of some tokens of all reviews, or of what is known of them. A measure of the catalogue is a subclass.

    Attributes:
        schemas: columns of its tables, in their order.
        states: the states that it measures.
    """

    schemas: ClassVar[Sequence[Mapping[str, Any]]]
    states: TokenStates

    def tables(self) -> Sequence[pl.DataFrame]:
        """The tables."""
        raise NotImplementedError


class ReviewMeasure:
    """A measure of single reviews, each at one point and layer. A measure of the catalogue is a subclass.

    Attributes:
        schemas: columns of its tables, in their order.
        states: the states that it measures.
    """

    schemas: ClassVar[Sequence[Mapping[str, Any]]]
    states: TokenStates

    def of_review(self, place: Mapping[str, Any], gram: TokenGram) -> Any:
        """What it finds in a review at a place (`states.stream.place_of`): rows, or None where it wants nothing."""
        raise NotImplementedError

    def tables(self, found: Iterable[Any]) -> Sequence[pl.DataFrame]:
        """The tables, from what was found in all reviews: point by point, in the order of the reviews."""
        return (measured_table(chain.from_iterable(found), self.states, *self.schemas),)


Measure = TokenMeasure | ReviewMeasure


def class_of(measure: str) -> type[Measure]:
    """The class of a measure of the catalogue: that of the module of its name, with this name in CamelCase."""
    return getattr(import_module(f"homogenization.measures.{measure}"), measure.title().replace("_", ""))


def measured(measure: Measure) -> Sequence[pl.DataFrame]:
    """The tables of a measure; it raises as they do."""
    if isinstance(measure, TokenMeasure):
        return measure.tables()
    found = (measure.of_review(place, TokenGram(states.astype(np.float64))) for place, states in stream(measure.states))
    return measure.tables(one for one in found if one is not None)


def measured_table(
    rows: Iterable[Mapping[str, Any]], store: TokenStates, schema: Mapping[str, Any], layer: str = "layer"
) -> pl.DataFrame:
    """The table of one measure of `store`.

    Args:
        rows: values of the columns of `schema`, without model, variant and depth, which `with_origin` adds.
        store: the states that were measured.
        schema: columns of the table.
        layer: column of the layer that depth follows from.
    """
    columns: dict[str, list] = {name: [] for name in schema if name not in ("model", "variant", "depth")}
    for row in rows:
        for name, values in columns.items():
            values.append(row[name])
    table = pl.DataFrame(columns, schema={name: schema[name] for name in columns})
    return with_origin(table, store.attributes, store.n_blocks, layer).select(*schema)


def with_origin(table: pl.DataFrame, identity: Mapping[str, Any], n_blocks: int, layer: str = "layer") -> pl.DataFrame:
    """`table` with the columns model, variant and depth.

    Depth is layer / number of blocks: 0 after the embedding, 1 after the last block.

    Args:
        table: a table with a column `layer`, Int32.
        identity: names by kind, `model` and `variant` among them.
        n_blocks: blocks of the model.
        layer: column of the layer that depth follows from.
    """
    names = {name: pl.lit(identity[name], dtype=pl.String) for name in ("model", "variant")}
    # tables are joined by depth, so polars computes it everywhere: Python's last digit may differ
    return table.with_columns(**names, depth=pl.col(layer) / max(n_blocks, 1))


def provenance(store: TokenStates) -> dict[str, Any]:
    """The store's attributes without the list of reviews, for the metadata of tables made from it."""
    return {name: value for name, value in store.attributes.items() if name != "review_ids"}
