"""A condition as passes over a pack of reviews: the change, the blocks, the positions; for massive keys, several."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions import changes
from homogenization.interventions.conditions import (
    CLIPPED,
    CONSTANT,
    MASKED,
    OFFSET,
    POSITIONS,
    SCALED,
    SHUFFLED,
    STEERING,
    TEMPLATE,
    TEMPLATES,
    UNTOUCHED,
    Condition,
    blocks_of,
)
from homogenization.interventions.passes import Run, run
from homogenization.interventions.patterns import drawn_place
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import PackedModel

MASSIVE_ROUNDS = 8  # times that massive tokens are masked, each time with those that grew massive since

# (tokens of a review, the name of its draws) -> its positions, int64 (tokens,)
POSITION_IDS: dict[str, Callable[[int, bytes], np.ndarray]] = {
    OFFSET: lambda n_tokens, draw: np.arange(n_tokens) + 64,
    CONSTANT: lambda n_tokens, draw: np.zeros(n_tokens, dtype=np.int64),
    SCALED: lambda n_tokens, draw: np.arange(n_tokens) * 2,
    SHUFFLED: lambda n_tokens, draw: np.random.default_rng(
        int.from_bytes(seeded_hash(0, draw.hex(), SHUFFLED))
    ).permutation(n_tokens),
}

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
        templates: for each review, the attention that position predicts; None where no condition asks for it.
        steepest: depths between which the model's homogenization is fastest; None where no condition asks for it.
    """

    model: PackedModel
    name: str
    names: Sequence[str]
    texts: Sequence[np.ndarray]
    seed: int
    templates: Sequence[changes.Templates] | None = None
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
        names, texts, templates = (
            values and [values[review] for review in reviews] for values in (self.names, self.texts, self.templates)
        )
        return replace(self, names=names, texts=texts, templates=templates)


def apply(condition: Condition, pack: Pack, untouched: Run) -> Run:
    """Run a pack of reviews in a condition.

    Args:
        condition: what is done.
        pack: the reviews; for positions, none that `fits` refuses.
        untouched: the run of the same reviews in which nothing is done.
    """
    if condition.kind == UNTOUCHED:
        return pack.through()
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, pack.model.n_blocks, pack.name, pack.steepest)
        return pack.through(changes.steering(condition.pattern, condition.strength, pack.draws), blocks)
    if condition.kind == MASKED:
        return _masked(condition.pattern, pack, untouched)
    if condition.kind == CLIPPED:
        sinks = [int(received.argmax()) for received in untouched.received]
        return pack.through(changes.clipped(condition.strength, condition.pattern, sinks), reads_after=True)
    if condition.kind == TEMPLATE:
        draws = pack.draws if condition.pattern == TEMPLATES[1] else None
        return pack.through(changes.template(condition.strength, pack.templates, draws))
    ids = [POSITION_IDS[condition.pattern](*of_review) for of_review in zip(pack.lengths, pack.draws, strict=True)]
    return pack.through(positions=np.concatenate(ids))


def fits(condition: Condition, pack: Pack, review: int) -> bool:
    """Whether a review of the pack can be run in a condition: its positions lie within the model's context."""
    if condition.kind != POSITIONS:
        return True
    ids = POSITION_IDS[condition.pattern](pack.lengths[review], pack.draws[review])
    return int(ids.max()) < pack.model.network.config.get_text_config().max_position_embeddings


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
            "masked:massive: in %d of %d reviews a further token is massive after %d rounds of masking, and is read",
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
            "are learned have no meaning elsewhere. Set 'positions: []', or name the models under interventions.models."
        )
