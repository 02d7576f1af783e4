"""Measures of a model's states while it reads, layer by layer and review by review: no store is written.

Each measure gets what it would read from a store, rounded to the store's dtype. Measures of single reviews (`begin`)
get every review once at each point. Others name the tokens that they read (`rows`), whose states are held in main
memory until the model has read all. On CUDA, and where pooled tokens are too many to be held, the model reads twice, as
their two walks do: on a GPU, a second reading takes less than their products would on a core. A pass that runs out of
memory comes again in parts; what was taken by then counts once.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import torch

from homogenization.measures import device_mauve, mauve, pooled
from homogenization.measures.device_tokens import tokens_of
from homogenization.measures.reviews import Each, OfReview
from homogenization.measures.views import TokenGram
from homogenization.measures.workers import Workers
from homogenization.run.parquet import read_table, write_tables
from homogenization.states.extraction import read_reviews
from homogenization.states.held import HeldStates
from homogenization.states.long_texts import Windows, with_originals
from homogenization.states.model import LanguageModel
from homogenization.states.writer import StoreShape, identity_of, refuse_unstorable
from homogenization.vocabulary.points import FINAL_NORM, RESIDUAL_STREAM, layer_name

HELD_BYTES = 4_000_000_000  # of pooled tokens; more than that, and the model reads twice on the CPU too
_LEFT = 4  # a worker of so many, and at least one, is left to MAUVE while the others measure pooled tokens


@dataclass(frozen=True)
class Sample:
    """The sample of states to write: file, tokens of each review, seed, and tokens in a chunk."""

    path: str | Path
    sample_tokens: int
    seed: int
    chunk_tokens: int


def measure_shard(
    model: LanguageModel, inputs: Any, params: Any, files: Mapping[str, Any], workers: Workers
) -> dict[str, Any]:
    """Write the files of a job, but for its run record, which is returned.

    Args:
        model: language model that reads.
        inputs: files: `variant` and `original`.
        params: parameters of the rule: `model`, the entry; `variant`; `shard`; `storage`; `measures`, the parameters of
            what is measured of this variant, by name; `sample`, the fields of `Sample` after the first.
        files: files to write: `sample`, or nothing; and those of each measure, by its name. A measure that is not
            among `params.measures` has an empty table.
        workers: who measures reviews.

    Raises:
        HomogenizationError: as in `measure_in_pass`.
    """
    reviews = with_originals(read_table(inputs.variant), read_table(inputs.original))
    of_measures = {name: of for name, of in files.items() if name not in ("run", "sample")}
    modules = {name: import_module(f"homogenization.measures.{name}") for name in of_measures}
    record, attributes, tables = measure_in_pass(
        model,
        reviews["review_id"].to_list(),
        reviews["text"].to_list(),
        {"model": params.model["name"], "variant": params.variant, "shard": params.shard},
        params.model["token_budget"],
        measures={name: (modules[name], of) for name, of in params.measures.items()},
        originals=reviews["original"].to_list(),
        sample=Sample(files["sample"], *params.sample) if files.get("sample") else None,
        workers=workers,
        **params.storage,
    )
    states = {name: value for name, value in attributes.items() if name != "review_ids"}
    for name, module in modules.items():
        made = tables.get(name, [pl.DataFrame(schema=schema) for schema in module.SCHEMAS])
        write_tables(made, of_measures[name], module.SCHEMAS, {**params.measures.get(name, {}), "states": states})
    return record


@dataclass
class _Pass:
    """The takers of the states of one job, and what they have found.

    Attributes:
        held: what a store would tell, with the states that are held.
        whole: measures of held states, by name.
        of_reviews: measures of single reviews, by name.
        of_shard: the pooled tokens by point, where the model reads twice for them; None where it does not.
        pooled: names of the measures of pooled tokens, which are among `whole`.
    """

    held: HeldStates
    whole: dict[str, Callable[[Each], Any]]
    of_reviews: dict[str, Any]
    of_shard: "_Pooled | None"
    pooled: set[str] = field(default_factory=set)
    found: dict[tuple[str, int], Future] = field(default_factory=dict)  # by point, and first review of a part


class _Taker:
    """Takes the states of one walk, each review once at each point; `take` gets them rounded to the store's dtype."""

    def __init__(self, held: HeldStates, take: Callable[[str, int, torch.Tensor], None]) -> None:
        self.seconds = 0.0
        self._held, self._take = held, take
        self._filled = dict.fromkeys(held.points, 0)

    def append(self, point: str, start: int, states: torch.Tensor) -> None:
        began, filled = time.perf_counter(), self._filled[point]
        if start > filled:
            raise RuntimeError(f"{point}: the states of tokens {filled} to {start} were left out")
        states = states[filled - start :]
        if len(states):
            held = self._held
            about = (point, filled, held.review_ids, held.tokens, identity_of(held.attributes))
            refuse_unstorable(states, held.dtype, *about)
            self._take(point, filled, states.to(held.dtype))
            self._filled[point] = filled + len(states)
        self.seconds += time.perf_counter() - began

    def write_attention(self, received: np.ndarray) -> None:
        self._held.keep_attention(received)


class _Pooled:
    """The two walks over pooled tokens at every point (`measures.pooled`)."""

    def __init__(self, held: HeldStates) -> None:
        self._held = held
        self._is_first, self._is_drawn = pooled.marks(held)
        self._means = {point: pooled.Means() for point in held.points}
        self._sums: dict[str, pooled.Sums] = {}

    def add_to_means(self, point: str, start: int, states: torch.Tensor) -> None:
        tokens, is_first, _ = self._block(start, states)
        self._means[point].add(tokens, is_first)

    def add_to_sums(self, point: str, start: int, states: torch.Tensor) -> None:
        if self._means[point].n_tokens > 1:
            self._sums.setdefault(point, pooled.Sums(self._means[point])).add(*self._block(start, states))

    def table(self, each: Each) -> pl.DataFrame:
        places = _places(self._held)
        # one point after another gives back what it holds of the device's memory
        sums = ((*places[point], self._sums.pop(point)) for point in list(self._sums))
        return pooled.table_of(sums, self._held, each)

    def _block(self, start: int, states: torch.Tensor) -> tuple[Any, Any, Any]:
        marks = [of[start : start + len(states)] for of in (self._is_first, self._is_drawn)]
        tokens = states.double() if states.is_cuda else states.float().cpu().numpy().astype(np.float64)
        return tokens, *marks


def measure_in_pass(
    model: LanguageModel,
    review_ids: Sequence[str],
    texts: Sequence[str],
    identity: Mapping[str, str],
    token_budget: int,
    dtype: str,
    record_attention: bool,
    measures: Mapping[str, tuple[ModuleType, Mapping[str, Any]]],
    layers: Sequence[int] | None = None,
    originals: Sequence[str] | None = None,
    sample: Sample | None = None,
    workers: Workers | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Sequence[pl.DataFrame]]]:
    """Run `model` over reviews and measure its states: what `extract` and then `measure` of each module would give.

    On the CPU the numbers are those over a store, bit for bit, apart from pooled tokens that are too many to be held.
    On CUDA they are the same up to the rounding of float64.

    Args:
        model: language model that reads.
        review_ids: names of the reviews.
        texts: their texts, in the same order.
        identity: `model`, `variant` and `shard`.
        token_budget: largest number of tokens in a forward pass.
        dtype: dtype to which states are rounded, as a store would.
        record_attention: whether to record the attention that each token receives.
        layers: layers of the residual stream that are measured; None for all.
        originals: the original texts, in the same order; None where the texts are the originals.
        measures: by name, the module of a measure (with `begin` or `rows`) and its parameters.
        sample: the sample of states to write; None for none.
        workers: who measures reviews; None: the caller.

    Returns:
        The run record, the attributes that the store would have, and the tables of each measure.

    Raises:
        HomogenizationError: as in `extract` and in the measures.
    """
    passes: list[_Pass] = []
    workers = workers or Workers(0)

    @contextmanager
    def opened(
        shape: StoreShape, read: Windows, attributes: Mapping[str, Any], stored_as: str
    ) -> Iterator[Sequence[_Taker]]:
        held = HeldStates(shape, read.review_ids, read.tokens, attributes, stored_as)
        passes.append(_planned(held, measures, sample, workers, model.packed.device))
        yield _takers(passes[0], workers)
        for future in passes[0].found.values():  # a fault in a worker ends the job here
            future.result()

    record = read_reviews(
        model, review_ids, texts, identity, token_budget, dtype, record_attention, opened, layers, originals
    )
    done = passes[0]
    if sample is not None:
        done.held.write_sample(sample.path, sample.sample_tokens, sample.seed, sample.chunk_tokens)
    return record, done.held.attributes, _tables(done, measures, workers)


def _planned(
    held: HeldStates,
    measures: Mapping[str, tuple[ModuleType, Mapping[str, Any]]],
    sample: Sample | None,
    workers: Workers,
    device: torch.device,
) -> _Pass:
    """What is done with the states of a job; it decides which tokens are held, and makes room for them."""
    planned = _Pass(held, {}, {}, None)
    wanted = [np.empty(0, dtype=np.int64)]
    if sample is not None:
        wanted.append(held.sampled(sample.sample_tokens, sample.seed))
    for name, (module, params) in measures.items():
        if hasattr(module, "begin"):
            planned.of_reviews[name] = module.begin(held, **params)
            continue
        rows, more = module.rows(held, **params), {}
        if module is pooled:
            planned.pooled.add(name)
            if device.type == "cuda" or len(rows) * held.bytes_of_token > HELD_BYTES:
                planned.of_shard = _Pooled(held)
                planned.whole[name] = planned.of_shard.table
                continue
        wanted.append(rows)
        if module is mauve and device_mauve.is_fast(device):
            more["values"] = partial(device_mauve.values, held, device, workers.each)
        planned.whole[name] = partial(_measured_held, module.measure, held, {**params, **more})
    held.hold(np.unique(np.concatenate(wanted)))
    return planned


def _takers(planned: _Pass, workers: Workers) -> list[_Taker]:
    """The takers of the walks over the reviews, the one of the means first where there are two."""
    held, of_shard = planned.held, planned.of_shard
    places, starts = _places(held), held.review_offsets
    subsets = [measure.positions for measure in planned.of_reviews.values() if hasattr(measure, "positions")]

    def take(point: str, start: int, states: torch.Tensor) -> None:
        held.fill(point, start, states)
        at, layer = places[point]
        first, last = np.searchsorted(starts, [start, start + len(states)]).tolist()
        wanted, reviews, drawn = [], [], []
        for review in range(first, last):
            of = states[starts[review] - start : starts[review + 1] - start]
            review_id, (n_tokens, width) = held.review_ids[review], of.shape
            place = {"review_id": review_id, "point": at, "layer": layer, "n_tokens": n_tokens, "width": width}
            wanted.append({name: measure.of_review(place) for name, measure in planned.of_reviews.items()})
            reviews.append(of)
            drawn.append([positions for of_reviews in subsets for positions in of_reviews.get(review_id, ())])
        tokens = tokens_of(reviews, drawn)
        planned.found[point, first] = workers.submit(_measured, wanted, list(tokens) if workers.number else tokens)
        if of_shard is not None:  # the last, since it can't be taken twice
            of_shard.add_to_sums(point, start, states)

    walks = [] if of_shard is None else [_Taker(held, of_shard.add_to_means)]
    return [*walks, _Taker(held, take)]


def _measured_held(measure: Callable[..., Any], held: HeldStates, params: Mapping[str, Any], each: Each) -> Any:
    """The tables of a measure of held states, which may share its work out."""
    return measure(held, **params, **({"each": each} if "each" in signature(measure).parameters else {}))


def _measured(wanted: Sequence[Mapping[str, OfReview]], reviews: Iterable[TokenGram]) -> list[dict[str, Any]]:
    """What all measures find in some reviews at one place; in a worker."""
    return [
        {name: find(tokens) for name, find in of_review.items()}
        for of_review, tokens in zip(wanted, reviews, strict=True)
    ]


def _tables(done: _Pass, names: Iterable[str], workers: Workers) -> dict[str, Sequence[pl.DataFrame]]:
    """The tables of each measure, after all reviews are read.

    Where workers measure, most of them decompose the matrices of pooled tokens while the GPU computes MAUVE, for which
    the others find eigenvectors.
    """
    beside = [name for name in names if name in done.pooled and workers.number]
    alone = threading.Event()
    each = partial(workers.each, fewer=lambda: 0 if alone.is_set() else 1 + max(1, workers.number // _LEFT))
    with ThreadPoolExecutor(1) as thread:
        of_pooled = thread.submit(lambda: {name: _tables_of(done, name, each) for name in beside})
        try:
            tables = {name: _tables_of(done, name, workers.each) for name in names if name not in beside}
        except BaseException:
            workers.close()  # so that pooled tokens do not go on
            raise
        alone.set()
        return tables | of_pooled.result()


def _tables_of(done: _Pass, name: str, each: Each) -> Sequence[pl.DataFrame]:
    """The tables of one measure."""
    if name in done.whole:
        tables = done.whole[name](each)
        return [tables] if isinstance(tables, pl.DataFrame) else tables
    order = {point: place for place, point in enumerate(done.held.points)}
    ordered = sorted(done.found, key=lambda part: (order[part[0]], part[1]))
    found = (of_review[name] for part in ordered for of_review in done.found[part].result())
    return done.of_reviews[name].tables(one for one in found if one is not None)


def _places(held: HeldStates) -> dict[str, tuple[str, int]]:
    """Point and layer, as tables name them, of each point of a store."""
    places = {layer_name(layer): (RESIDUAL_STREAM, layer) for layer in held.layers}
    return {**places, FINAL_NORM: (FINAL_NORM, held.n_blocks)}
