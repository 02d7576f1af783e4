"""What trained models learnt and what sets two arms apart, in words made from the numbers: the table `training.csv`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.run.parquet import read_table
from homogenization.tables.arms import AT_LOSS
from homogenization.tables.over_reviews import t_factor
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.numbers import significant
from homogenization.vocabulary.points import RESIDUAL_STREAM
from homogenization.vocabulary.variants import ORIGINAL

#: A row for each arm, and after them for each pair of `arms`: the answer under *Training* on the first page of the
#: report.
TRAINING_ANSWERS_SCHEMA = {
    **columns("arm"),
    "minus": pl.String,  #: what the arm is compared with; null for an arm by itself
    #: of an arm, its held-out loss at the start and at the end beside those of counts; of a pair, the differences of
    #: the mean cosine and of the centred effective rank after the penalised blocks, a layer later and at the output,
    #: and of the held-out loss, over seeds, in words
    "answer": pl.String,
}
SCHEMAS = (TRAINING_ANSWERS_SCHEMA,)
ANSWERED = {  # metric and view -> as a sentence names it; those that penalties are made of
    ("cosine_anisotropy", "without_first"): "The mean cosine without the first token",
    ("normalized_effective_rank", "centred_without_first"): "The centred effective rank without the first token",
}
_BASELINES = ("unigram", "bigram")
_OF_ARMS = ("mean", "ci_low", "ci_high", "lowest", "highest", "n_seeds")  # columns of the table `arms`


class OverSeeds(NamedTuple):
    """A number of each seed: mean, Student's 95 % interval (NaN for one seed), and range; how many seeds."""

    mean: float
    low: float
    high: float
    lowest: float
    highest: float
    n: int

    @classmethod
    def of(cls, values: pl.Series) -> "OverSeeds":
        """Over a value of each seed, at least one."""
        own = np.sort(values.to_numpy())
        reach = float(t_factor(len(own)) * own.std(ddof=1)) if len(own) > 1 else np.nan
        mean = float(own.mean())
        return cls(mean, mean - reach, mean + reach, float(own[0]), float(own[-1]), len(own))

    def in_words(self, unit: str = "") -> str:
        """`2.75 nats [2.7, 2.8] (seeds 2.71 to 2.78)`; of one seed, and of equal ones, the number alone."""
        number = f"{significant(self.mean)}{unit}"
        if self.lowest == self.highest and self.n > 1:
            return f"{number} in every seed"
        return number if self.n == 1 else f"{number} {self._interval} ({self._range})"

    def as_difference(self, unit: str = "") -> str:
        """The same with its sign, and with what seeds and interval leave open about that."""
        number = f"{'+' if self.mean > 0 else ''}{significant(self.mean)}{unit}"
        if self.n == 1:
            return number
        notes = [
            self._range,
            "all of one sign" if self.lowest * self.highest > 0 else "",
            "of both signs" if self.lowest < 0 < self.highest else "",
            "the interval includes 0" if self.low <= 0 <= self.high else "",
        ]
        return f"{number} {self._interval} ({'; '.join(filter(None, notes))})"

    @property
    def _interval(self) -> str:
        return f"[{significant(self.low)}, {significant(self.high)}]"

    @property
    def _range(self) -> str:
        return f"seeds {significant(self.lowest)} to {significant(self.highest)}"


def training_answers(
    training: pl.DataFrame,
    arms: pl.DataFrame,
    pairs: Sequence[Sequence[str]],
    with_start: Sequence[Sequence[str]],
) -> pl.DataFrame:
    """What each arm learnt, and what each pair of arms differs in, in words: `TRAINING_ANSWERS_SCHEMA`.

    The replicate is the seed. Losses are those of the held-out reviews; their differences are paired by seed, at the
    last step that both arms have. Metrics are those of the originals along the residual stream, mean over reviews.

    Args:
        training: the table `training`.
        arms: the table `arms`.
        pairs: [arm, minus], in the order of their rows, which follow those of the arms.
        with_start: those of them whose `minus` is the model that the arm starts from; its loss is the arm's before any
            step.
    """
    measured = training.filter(pl.col("held_out_loss").is_not_null()).sort("arm", "seed", "step")
    rows = [(arm, None, _of_arm(own)) for (arm,), own in measured.group_by("arm", maintain_order=True)]
    starts = {tuple(pair) for pair in with_start}
    rows += [(arm, minus, _of_pair(measured, arms, arm, minus, (arm, minus) in starts)) for arm, minus in pairs]
    return pl.DataFrame(rows, schema=TRAINING_ANSWERS_SCHEMA, orient="row")


def _of_arm(own: pl.DataFrame) -> str:
    """From which loss to which, beside what counts of tokens reach."""
    by_seed = own.group_by("seed", maintain_order=True)
    first, last = by_seed.first(), by_seed.last()
    start, end = (OverSeeds.of(table["held_out_loss"]) for table in (first, last))
    told = last.row(0, named=True)
    worse = int((last["held_out_loss"] >= first["held_out_loss"]).sum())
    sentences = [
        f"{_seeds(end.n)}, {told['step']} steps on {told['n_training']} reviews.",
        f"The loss of {told['n_held_out']} held-out reviews goes from {start.in_words(' nats')} "
        f"to {end.in_words(' nats')}.",
        *(_beside(name, told[name], end) for name in _BASELINES),
        f"It does not fall in {worse} of {end.n} seeds." if worse else "",
    ]
    return " ".join(filter(None, sentences))


def _beside(name: str, loss: float, end: OverSeeds) -> str:
    """What counts of tokens reach, and how many seeds are below it."""
    where = "every seed is below" if end.highest < loss else "no seed is below"
    where = "some seeds are below" if end.lowest < loss <= end.highest else where
    return f"A {name} model has {significant(loss)}, which {where}."


def _of_pair(measured: pl.DataFrame, arms: pl.DataFrame, arm: str, minus: str, from_start: bool) -> str:
    """What changes at the penalised layers, one later and at the output, and what it costs."""
    compared = arms.filter(arm=arm, minus=minus, variant=ORIGINAL, point=RESIDUAL_STREAM)
    if compared.is_empty():
        return "The two have no seed and step in common."
    step, at_loss = compared["step"].max(), compared.filter(at=AT_LOSS)
    compared = compared.filter(step=step)
    sentences = [f"{_seeds(compared['n_seeds'].max())}, after {step} steps."]
    penalised = _penalised(measured, arm) or _penalised(measured, minus)
    for (metric, view), name in ANSWERED.items():
        rows = compared.filter(metric=metric, view=view).sort("layer")
        if len(rows):
            sentences.append(_of_metric(name, rows, penalised))
    if len(sentences) == 1:
        sentences.append("Neither the mean cosine nor the centred effective rank is measured.")
    one = measured.filter(arm=arm, step=step)
    other = measured.filter(arm=arm, step=0) if from_start else measured.filter(arm=minus, step=step)
    return " ".join(filter(None, [*sentences, _cost(one, other, minus), _at_equal_loss(at_loss)]))


def _penalised(measured: pl.DataFrame, arm: str) -> list[int]:
    """The layers of an arm's penalty, of any seed; empty for none."""
    layers = measured.filter(arm=arm).select(pl.col("layers").explode()).to_series().drop_nulls()
    return sorted(set(layers.to_list()))


def _of_metric(name: str, rows: pl.DataFrame, penalised: Sequence[int]) -> str:
    """By how much a metric differs after the penalised blocks, a layer later, and at the output."""
    differences = {row["layer"]: OverSeeds(*(row[column] for column in _OF_ARMS)) for row in rows.iter_rows(named=True)}
    output = max(differences)
    places = {layer: [f"{_named(layer)}, which is penalised"] for layer in penalised}
    if penalised:
        places.setdefault(max(penalised) + 1, []).append("a layer later")
    places.setdefault(output, []).append("at the output")
    told = [
        f"by {differences[layer].as_difference()} {', '.join(where)}"
        for layer, where in places.items()
        if layer in differences
    ]
    return f"{name} differs {'; '.join(told)}."


def _at_equal_loss(rows: pl.DataFrame) -> str:
    """By how much metrics differ at the output where both arms have learnt as much."""
    told = []
    for (metric, view), name in ANSWERED.items():
        output = rows.filter(metric=metric, view=view).sort("layer").tail(1)
        told += [
            f"{name[0].lower()}{name[1:]} by {OverSeeds(*row).as_difference()}"
            for row in output.select(_OF_ARMS).rows()
        ]
    if not told:
        return ""
    loss = f"{significant(rows['loss'].mean())} nats, mean over seeds"
    return f"Where both have the same held-out loss ({loss}), they differ at the output: {'; '.join(told)}."


def _cost(one: pl.DataFrame, other: pl.DataFrame, minus: str) -> str:
    """The difference in the held-out loss, paired by seed."""
    losses = [table.select("seed", "held_out_loss") for table in (one, other)]
    paired = losses[0].join(losses[1], on="seed", suffix="_minus").sort("seed")
    if paired.is_empty():
        return f"What it costs is not known: {minus} has no held-out loss."
    difference = OverSeeds.of(paired["held_out_loss"] - paired["held_out_loss_minus"])
    return f"The held-out loss differs by {difference.as_difference(' nats')}."


def _named(layer: int) -> str:
    return f"after block {layer}" if layer else "before the first block"


def _seeds(number: int) -> str:
    return f"{number} seeds" if number > 1 else "One seed, which has no interval"


def tabulate(inputs: Any, pairs: Sequence[Sequence[str]], with_start: Sequence[Sequence[str]]) -> pl.DataFrame:
    """The table `training.csv` of the tables `inputs.training` and `inputs.arms`; the others: `training_answers`."""
    return training_answers(read_table(inputs.training), read_table(inputs.arms), pairs, with_start)
