"""Conditions: what is done to a model in a pass, in which blocks, and what is measured: pairs of view and metric.

Every parse of the Snakefile imports it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from homogenization.metrics.registry import ALL_TOKENS, WITHOUT_FIRST
from homogenization.metrics.spectral import SPECTRAL_METRICS
from homogenization.run.errors import HomogenizationError

UNTOUCHED, STEERING, MASKED, POSITIONS = KINDS = ("untouched", "steering", "masked", "positions")

ALL_BLOCKS, STEEPEST = "all", "steepest"
# by the depth of a block's middle, upper end excluded
RANGES = {ALL_BLOCKS: (0.0, 1.0), "first": (0.0, 0.25), "middle": (0.25, 0.75), "last": (0.75, 1.0)}
BLOCK_NAMES = (*RANGES, STEEPEST)

KEYS_MASKED = ("first", "random", "most_attended", "massive")
RANDOM_DRAWS = 3
CONSTANT = "constant"  # all position ids are equal

CENTRED, AFTER_QUARTER = "centred", "after_quarter"
VIEWS = (ALL_TOKENS, WITHOUT_FIRST, CENTRED, AFTER_QUARTER)
COSINE, TO_FIRST = "cosine_anisotropy", "cosine_to_first_token"
METRICS = (COSINE, TO_FIRST, *SPECTRAL_METRICS)


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
    def fields(self) -> list[str | float | None]:
        """Its attributes, as plain values."""
        return [self.kind, self.pattern, self.strength, self.blocks]

    @property
    def name(self) -> str:
        """Its name, in files too: `steering-first-0.2-all`, `steering-first-0.2-1_2`, `masked-massive`."""
        parts = [self.kind, self.pattern, None if self.strength is None else f"{self.strength:g}"]
        blocks = [self.blocks.replace(",", "_")] * (self.kind == STEERING)
        return "-".join([part for part in parts if part is not None] + blocks)


def conditions_of(section: Mapping[str, Any]) -> list[Condition]:
    """The conditions of the section `interventions` (plain values), the untouched model first."""
    conditions = [Condition(UNTOUCHED)]
    steering = section.get("steering") or {"patterns": [], "strengths": []}
    conditions += [
        # as tables show an entry of `blocks`
        Condition(STEERING, pattern, strength, blocks if isinstance(blocks, str) else ",".join(map(str, blocks)))
        for blocks in section["blocks"]
        for pattern in steering["patterns"]
        for strength in steering["strengths"]
    ]
    for place in section["masked"]:
        draws = [f"random_{draw}" for draw in range(1, RANDOM_DRAWS + 1)] if place == "random" else [place]
        conditions += [Condition(MASKED, name) for name in draws]
    return conditions + ([Condition(POSITIONS, section["positions"])] if section["positions"] else [])


def blocks_of(name: str, n_blocks: int, model: str, steepest: tuple[float, float] | None = None) -> frozenset[int]:
    """Indices of the blocks, from 0, that a condition changes.

    Args:
        name: `Condition.blocks`.
        n_blocks: blocks of the model.
        model: name of the model, for messages.
        steepest: depths between which the model's homogenization is fastest.

    Raises:
        HomogenizationError: there is no such block, or the model has no steepest step.
    """
    if name in RANGES or name == STEEPEST:
        if name == STEEPEST and steepest is None:
            raise HomogenizationError(
                f"interventions.blocks: 'steepest' has no meaning for the model {model}: no step of the mean cosine "
                "leads towards homogenization in tables/depth.parquet. Leave it out, or name the blocks."
            )
        low, high = RANGES.get(name) or steepest
        blocks = frozenset(block for block in range(n_blocks) if low <= (block + 0.5) / n_blocks < high)
    else:
        blocks = frozenset(int(number) - 1 for number in name.split(","))
    if not blocks or max(blocks) >= n_blocks:
        raise HomogenizationError(
            f"interventions.blocks: {name!r} names blocks that the model {model} does not have; it has {n_blocks}. "
            f"Allowed: {', '.join(BLOCK_NAMES)}, or numbers from 1 to {n_blocks}."
        )
    return blocks


def cells(metrics: Sequence[str]) -> list[tuple[str, str]]:
    """The pairs (view, metric) of `metrics`: every view, but for the cosine to the first token `all_tokens` alone."""
    return [(view, metric) for metric in metrics for view in (VIEWS if metric != TO_FIRST else (ALL_TOKENS,))]
