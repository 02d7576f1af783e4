"""What a measure is, how the stream of states passes through measures, and the tables that they make."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import polars as pl

from homogenization.measures.views import TokenGram
from homogenization.names.points import FINAL_NORM
from homogenization.states.stream import Block, Consumer, TokenStates, stream

# what a measure finds in the tokens of one review; it can be pickled, and so can what it finds
OfReview = Callable[[TokenGram], Any]
# calls a function of each of many arguments and gives the results in their order, as `map` does
Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class TokenMeasure:
    """A measure of some tokens of all reviews, or of what is known of them. A measure of the catalogue is a subclass.

    It is made from `TokenStates` before any state is there.

    Attributes:
        schemas: columns of its tables, in their order.
        states: the states that it measures.
        rows: int64, ascending: the tokens whose states `tables` reads.
    """

    schemas: ClassVar[Sequence[Mapping[str, Any]]]
    states: TokenStates
    rows: np.ndarray = np.empty(0, dtype=np.int64)

    def walks(self) -> Sequence[Consumer]:
        """Who takes all states in the place of `rows`, one walk after another, where these are too many to be kept."""
        return ()

    def tables(self, each: Each) -> Sequence[pl.DataFrame]:
        """The tables, once all states are there; `each` shares work out."""
        raise NotImplementedError


class ReviewMeasure:
    """A measure of single reviews, each at one point and layer. A measure of the catalogue is a subclass.

    It is made from `TokenStates` before any state is there.

    Attributes:
        schemas: columns of its tables, in their order.
        states: the states that it measures.
        subsets: by review, the positions of tokens that are measured as a review of their own, (tokens,) int64 each.
    """

    schemas: ClassVar[Sequence[Mapping[str, Any]]]
    states: TokenStates
    subsets: Mapping[str, Sequence[np.ndarray]] = MappingProxyType({})

    def of_review(self, place: Mapping[str, Any]) -> OfReview:
        """What it finds in a review at a place (`Block.reviews`): rows, and None where it wants nothing of it."""
        raise NotImplementedError

    def tables(self, found: Iterable[Any]) -> Sequence[pl.DataFrame]:
        """The tables, from what was found in all reviews: point by point, in the order of the reviews."""
        return (measured_table(chain.from_iterable(found), self.states, *self.schemas),)


Measure = TokenMeasure | ReviewMeasure


def class_of(measure: str) -> type[Measure]:
    """The class of a measure of the catalogue: that of the module of its name, with this name in CamelCase."""
    return getattr(import_module(f"homogenization.measures.{measure}"), measure.title().replace("_", ""))


class Inline:
    """Does work where it is handed on; `measures.workers.Workers` share it out.

    Attributes:
        number: number of processes.
    """

    number = 0
    each = staticmethod(map)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """The result of a function."""
        done: Future = Future()
        done.set_result(function(*arguments))
        return done

    def close(self) -> None:
        """There is nothing to end."""


class Reviews:
    """The consumer for measures of single reviews: they share the inner products of the tokens of each.

    Args:
        states: what is known of the states.
        measures: the measures, by name.
        grams: makes a `TokenGram` of the states of each of some reviews, which has the subsets of each.
        workers: who measures: `Inline` or `measures.workers.Workers`.
    """

    def __init__(
        self,
        states: TokenStates,
        measures: Mapping[str, ReviewMeasure],
        grams: Callable[[Sequence[Any], Sequence[Sequence[np.ndarray]]], Iterable[TokenGram]],
        workers: Any,
    ) -> None:
        self._states, self._measures, self._grams, self._workers = states, dict(measures), grams, workers
        self._found: dict[tuple[bool, int, str, int], Future] = {}  # by place, the final norm last, and first token

    def add(self, block: Block) -> None:
        """Measure the reviews of a block."""
        places, reviews = zip(*block.reviews(self._states), strict=True)
        wanted = [{name: of.of_review(place) for name, of in self._measures.items()} for place in places]
        subsets = [
            [positions for of in self._measures.values() for positions in of.subsets.get(place["review_id"], ())]
            for place in places
        ]
        grams = self._grams(reviews, subsets)
        key = block.point == FINAL_NORM, block.layer, block.point, block.start
        self._found[key] = self._workers.submit(_found, wanted, list(grams) if self._workers.number else grams)

    def wait(self) -> None:
        """Wait until all reviews are measured; raises what failed."""
        for part in self._found.values():
            part.result()

    def tables(self, name: str) -> Sequence[pl.DataFrame]:
        """The tables of one measure, after all blocks."""
        parts = (self._found[key].result() for key in sorted(self._found))
        found = (of_review[name] for part in parts for of_review in part)
        return self._measures[name].tables(one for one in found if one is not None)


def _in_memory(reviews: Sequence[np.ndarray], _subsets: Any) -> Iterator[TokenGram]:
    return (TokenGram(states.astype(np.float64)) for states in reviews)


def _found(wanted: Sequence[Mapping[str, OfReview]], reviews: Iterable[TokenGram]) -> list[dict[str, Any]]:
    """What all measures find in some reviews at one place; in a worker."""
    return [
        {name: of(tokens) for name, of in of_review.items()} for of_review, tokens in zip(wanted, reviews, strict=True)
    ]


def measured(measure: Measure) -> Sequence[pl.DataFrame]:
    """The tables of a measure of a store, or of other states that are at hand; it raises as they do."""
    if isinstance(measure, TokenMeasure):
        return measure.tables(map)
    reviews = Reviews(measure.states, {"": measure}, _in_memory, Inline())
    for block in stream(measure.states):
        reviews.add(block)
    return reviews.tables("")


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
