"""Position ids other than 0, 1, 2, …, for models whose positions rotate queries and keys."""

from collections.abc import Callable

import numpy as np

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import CONSTANT, OFFSET, SCALED, SHUFFLED
from homogenization.run.errors import HomogenizationError
from homogenization.states.network import PackedModel

OFFSET_BY = 64
SCALED_BY = 2

# (tokens of a review, the name of its draws) -> its positions, int64 (tokens,)
POSITION_IDS: dict[str, Callable[[int, bytes], np.ndarray]] = {
    OFFSET: lambda n_tokens, draw: np.arange(n_tokens) + OFFSET_BY,
    CONSTANT: lambda n_tokens, draw: np.zeros(n_tokens, dtype=np.int64),
    SCALED: lambda n_tokens, draw: np.arange(n_tokens) * SCALED_BY,
    SHUFFLED: lambda n_tokens, draw: np.random.default_rng(
        int.from_bytes(seeded_hash(0, draw.hex(), SHUFFLED))
    ).permutation(n_tokens),
}


def context_of(model: PackedModel) -> int:
    """The number of positions that the model was made for."""
    return model.network.config.get_text_config().max_position_embeddings


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
