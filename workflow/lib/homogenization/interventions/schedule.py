"""A condition as passes over a review: the change, the blocks, the positions; for massive keys, several."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions import changes
from homogenization.interventions.conditions import MASKED, STEERING, UNTOUCHED, Condition, blocks_of
from homogenization.interventions.passes import Run, run
from homogenization.interventions.patterns import drawn_place
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import Transformer

MASSIVE_ROUNDS = 8  # times that massive tokens are masked, each time with those that grew massive since

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reviews:
    """The reviews that a model reads.

    Attributes:
        model: transformer, with a language-model head or without.
        name: name of the model, for messages.
        names: names of the reviews.
        texts: token ids of each review.
        seed: seed of all draws.
        steepest: depths between which the model's homogenization is fastest; None where no condition asks for it.
    """

    model: Transformer
    name: str
    names: Sequence[str]
    texts: Sequence[np.ndarray]
    seed: int
    steepest: tuple[float, float] | None = None

    @property
    def lengths(self) -> list[int]:
        """Tokens of each review."""
        return list(map(len, self.texts))

    def draw(self, review: int) -> bytes:
        """The name of a review's draws."""
        return seeded_hash(self.seed, self.names[review])

    def through(self, review: int) -> Callable[..., Run]:
        """A pass over a review."""
        return partial(run, self.model, self.texts[review])


def apply(condition: Condition, reviews: Reviews, review: int, untouched: Run) -> Run:
    """Run a review in a condition.

    Args:
        condition: what is done.
        reviews: the reviews.
        review: number of the one that is run.
        untouched: the run of the same review in which nothing is done.
    """
    through, draw = reviews.through(review), reviews.draw(review)
    if condition.kind == UNTOUCHED:
        return through()
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, reviews.model.n_blocks, reviews.name, reviews.steepest)
        return through(changes.steering(condition.pattern, condition.strength, draw), blocks)
    if condition.kind == MASKED:
        if condition.pattern == "massive":
            return _massive_masked(through, untouched, reviews.names[review])
        return through(changes.masked([_masked_place(condition.pattern, draw, untouched)]), reads_after=True)
    return through(positions=np.zeros(len(reviews.texts[review]), dtype=np.int64))


def _masked_place(which: str, draw: bytes, untouched: Run) -> int:
    """The key that is masked."""
    if which == "first":
        return 0
    if which == "most_attended":
        return int(untouched.received.argmax())
    return drawn_place(1, max(2, len(untouched.received)), draw, which)


def _massive_masked(through: Callable[..., Run], untouched: Run, name: str) -> Run:
    """Mask massive tokens, which are found again in the changed run until it has none that is not masked.

    At most eight times: in trained models the next token may grow massive each time, up to the end of the text.
    """
    further = untouched.massive
    for _ in range(MASSIVE_ROUNDS):
        places = further
        masked = through(changes.masked(places), reads_after=True)
        further = places | masked.massive
        if further == places:
            return masked
    logger.warning(
        "masked-massive: in review %s a further token is massive after %d rounds of masking, and is read",
        name,
        MASSIVE_ROUNDS,
    )
    return masked


def refuse_other_positions(model: Transformer, name: str) -> None:
    """Refuse a model whose positions are not rotary.

    Raises:
        HomogenizationError: it adds learned positions, or none can be told.
    """
    if not any("rotary" in type(module).__name__.lower() for module in model.network.modules()):
        raise HomogenizationError(
            f"interventions.positions: the model {name} ({model.architecture}) has no rotary positions; positions that "
            "are learned have no meaning elsewhere. Set 'positions: null', or name models under interventions.models."
        )
