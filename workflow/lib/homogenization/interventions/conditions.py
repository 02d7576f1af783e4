"""Conditions: what is done to a model in a pass, in which blocks, and what is measured: pairs of view and metric.

Every parse of the Snakefile imports it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homogenization.measures.depth import REGIONS
from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.run.errors import HomogenizationError

UNTOUCHED, STEERING, MASKED, POSITIONS = KINDS = ("untouched", "steering", "masked", "positions")

ALL_BLOCKS = "all"
BLOCK_NAMES = {ALL_BLOCKS: (0.0, 1.0), **REGIONS}  # by the depth of a block's middle

KEYS_MASKED = ("first", "random", "most_attended", "massive")
RANDOM_DRAWS = 3
CONSTANT = "constant"  # all position ids are equal

CENTRED, AFTER_QUARTER = "centred", "after_quarter"
VIEWS = (ALL_TOKENS, WITHOUT_FIRST, CENTRED, AFTER_QUARTER)
COSINE, TO_FIRST = "cosine_anisotropy", "cosine_to_first_token"
METRICS = (COSINE, "max_explainable_variance", "normalized_effective_rank", TO_FIRST)


@dataclass(frozen=True)
class Condition:
    """One way to run a model.

    Attributes:
        kind: one of `KINDS`.
        pattern: P of steering, the masked key, or the positions.
        strength: λ of steering; None for the other kinds.
        blocks: blocks of steering: a name of `BLOCK_NAMES`, or numbers with commas, from 1; other kinds change all.
    """

    kind: str
    pattern: str | None = None
    strength: float | None = None
    blocks: str = ALL_BLOCKS

    @property
    def name(self) -> str:
        """Its name, in files too: `steering-first-0.2-all`, `steering-first-0.2-1_2`, `masked-massive`."""
        steered = [f"{self.strength:g}", self.blocks.replace(",", "_")] if self.kind == STEERING else []
        return "-".join([self.kind, *filter(None, [self.pattern]), *steered])


def conditions_of(section: Mapping[str, Any]) -> list[Condition]:
    """The conditions of the section `interventions` (plain values), the untouched model first."""
    steering = section.get("steering") or {"patterns": [], "strengths": []}
    steered = [
        # as tables show an entry of `blocks`
        Condition(STEERING, pattern, strength, blocks if isinstance(blocks, str) else ",".join(map(str, blocks)))
        for blocks in section["blocks"]
        for pattern in steering["patterns"]
        for strength in steering["strengths"]
    ]
    draws = {"random": [f"random_{draw}" for draw in range(1, RANDOM_DRAWS + 1)]}
    masked = [Condition(MASKED, name) for key in section["masked"] for name in draws.get(key, [key])]
    positions = [Condition(POSITIONS, section["positions"])] if section["positions"] else []
    return [Condition(UNTOUCHED), *steered, *masked, *positions]


def blocks_of(name: str, n_blocks: int) -> frozenset[int]:
    """Indices, from 0, of the blocks `name` (`Condition.blocks`) of a model with `n_blocks`.

    Raises:
        HomogenizationError: there is no such block.
    """
    if name in BLOCK_NAMES:
        low, high = BLOCK_NAMES[name]
        blocks = frozenset(block for block in range(n_blocks) if low <= (block + 0.5) / n_blocks < high)
    else:
        blocks = frozenset(int(number) - 1 for number in name.split(","))
    if not blocks or max(blocks) >= n_blocks:
        raise HomogenizationError(
            f"interventions.blocks: {name!r} names blocks that this model does not have. Allowed: numbers from 1 to "
            f"{n_blocks}, {', '.join(BLOCK_NAMES)}."
        )
    return blocks


def cells(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (view, metric) of `metrics`: every view, but for the cosine to the first token `all_tokens` alone."""
    return [(view, metric) for metric in metrics for view in (VIEWS if metric != TO_FIRST else (ALL_TOKENS,))]
