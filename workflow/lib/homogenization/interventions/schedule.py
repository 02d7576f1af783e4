"""A condition as passes over a pack of reviews: the change, the blocks, the positions; for massive keys, several."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions import changes
from homogenization.interventions.conditions import MASKED, STEERING, UNTOUCHED, Condition, blocks_of
from homogenization.interventions.passes import Run, run
from homogenization.interventions.patterns import drawn_place
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import PackedModel

MASSIVE_ROUNDS = 8  # times that massive tokens are masked, each time with those that grew massive since

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pack:
    """Reviews that pass through a model together, or all reviews that it reads.

    Attributes:
        model: transformer, with a language-model head or without.
        name: name of the model, for messages.
        names: names of the reviews.
        texts: token ids of each review.
        seed: seed of all draws.
        steepest: depths between which the model's homogenization is fastest; None where no condition asks for it.
    """

    model: PackedModel
    name: str
    names: Sequence[str]
    texts: Sequence[np.ndarray]
    seed: int
    steepest: tuple[float, float] | None = None

    @property
    def lengths(self) -> list[int]:
        """Tokens of each review."""
        return list(map(len, self.texts))

    @cached_property
    def draws(self) -> list[bytes]:
        """For each review, the name of its draws."""
        return [seeded_hash(self.seed, name) for name in self.names]

    @cached_property
    def token_ids(self) -> np.ndarray:
        """Token ids of all reviews, end to end."""
        return np.concatenate(self.texts)

    @property
    def through(self) -> Callable[..., Run]:
        """A pass over the pack."""
        return partial(run, self.model, self.token_ids, self.lengths)

    def part(self, reviews: Sequence[int]) -> "Pack":
        """Some of its reviews."""
        names, texts = ([values[review] for review in reviews] for values in (self.names, self.texts))
        return replace(self, names=names, texts=texts)


def apply(condition: Condition, pack: Pack, untouched: Run) -> Run:
    """Run a pack of reviews in a condition.

    Args:
        condition: what is done.
        pack: the reviews.
        untouched: the run of the same reviews in which nothing is done.
    """
    if condition.kind == UNTOUCHED:
        return pack.through()
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, pack.model.n_blocks, pack.name, pack.steepest)
        return pack.through(changes.steering(condition.pattern, condition.strength, pack.draws), blocks)
    if condition.kind == MASKED:
        return _masked(condition.pattern, pack, untouched)
    return pack.through(positions=np.zeros(len(pack.token_ids), dtype=np.int64))


def _masked(which: str, pack: Pack, untouched: Run) -> Run:
    """Mask keys; massive tokens are found again in the changed run until it has none that is not masked.

    At most eight times: in trained models the next token may grow massive each time, up to the end of the text.
    """
    if which == "massive":
        further = untouched.massive
        for _ in range(MASSIVE_ROUNDS):
            places = further
            masked = pack.through(changes.masked(places), reads_after=True)
            further = [shut | massive for shut, massive in zip(places, masked.massive, strict=True)]
            if further == places:
                return masked
        logger.warning(
            "masked-massive: in %d of %d reviews a further token is massive after %d rounds of masking, and is read",
            sum(shut != more for shut, more in zip(places, further, strict=True)),
            len(places),
            MASSIVE_ROUNDS,
        )
        return masked
    if which == "first":
        places = [frozenset([0])] * len(pack.lengths)
    elif which == "most_attended":
        places = [frozenset([int(received.argmax())]) for received in untouched.received]
    else:
        reviews = zip(pack.lengths, pack.draws, strict=True)
        places = [frozenset([drawn_place(1, max(2, length), draw, which)]) for length, draw in reviews]
    return pack.through(changes.masked(places), reads_after=True)


def refuse_other_positions(model: PackedModel, name: str) -> None:
    """Refuse a model whose positions are not rotary.

    Raises:
        HomogenizationError: it adds learned positions, or none can be told.
    """
    if not any("rotary" in type(module).__name__.lower() for module in model.network.modules()):
        raise HomogenizationError(
            f"interventions.positions: the model {name} ({model.architecture}) has no rotary positions; positions that "
            "are learned have no meaning elsewhere. Set 'positions: null', or name models under interventions.models."
        )
