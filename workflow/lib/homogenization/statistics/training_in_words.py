"""What trained models learnt and what sets two arms apart, in words made from the numbers: the table `training.csv`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.prose import write
from homogenization.names.variants import ORIGINAL
from homogenization.statistics.resampling import mean_interval
from homogenization.tables.arms import AT_LOSS

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
Row = Mapping[str, Any]
ANSWERED = {  # metric and view -> as a sentence names it; those that penalties are made of
    ("cosine_anisotropy", "without_first"): "the mean cosine without the first token",
    ("normalized_effective_rank", "centred_without_first"): "the centred effective rank without the first token",
}


def tabulate(
    training: pl.DataFrame,
    arms: pl.DataFrame,
    pairs: Sequence[Sequence[str]],
    with_start: Sequence[Sequence[str]],
    words: str,
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
        words: the template of an answer.
    """
    measured = training.filter(pl.col("held_out_loss").is_not_null()).sort("arm", "seed", "step")
    rows = [(arm, None, write(words, **_of_arm(own))) for (arm,), own in measured.group_by("arm", maintain_order=True)]
    starts = {tuple(pair) for pair in with_start}
    for arm, minus in pairs:
        rows.append((arm, minus, write(words, **_of_pair(measured, arms, arm, minus, (arm, minus) in starts))))
    return pl.DataFrame(rows, schema=TRAINING_ANSWERS_SCHEMA, orient="row")


def _of_arm(own: pl.DataFrame) -> dict[str, Any]:
    """From which loss to which, and the last row of a seed, with what counts of tokens reach."""
    by_seed = own.group_by("seed", maintain_order=True)
    first, last = by_seed.first(), by_seed.last()
    return {
        "losses": {"start": over_seeds(first["held_out_loss"]), "end": over_seeds(last["held_out_loss"])},
        "last": last.row(0, named=True),
        "n_worse": int((last["held_out_loss"] >= first["held_out_loss"]).sum()),
    }


def _of_pair(measured: pl.DataFrame, arms: pl.DataFrame, arm: str, minus: str, from_start: bool) -> dict[str, Any]:
    """Differences by metric and layer at the last common step, in the loss, and at the output at equal loss."""
    compared = arms.filter(arm=arm, minus=minus, variant=ORIGINAL, point=RESIDUAL_STREAM)
    if compared.is_empty():
        return {"step": None}
    step, at_loss = compared["step"].max(), compared.filter(at=AT_LOSS)
    compared = compared.filter(step=step)
    one = measured.filter(arm=arm, step=step)
    other = measured.filter(arm=arm, step=0) if from_start else measured.filter(arm=minus, step=step)
    losses = one.join(other, on="seed", suffix="_minus").sort("seed")
    return {
        "minus": minus,
        "step": step,
        "n_seeds": compared["n_seeds"].max(),
        "penalised": _penalised(measured, arm) or _penalised(measured, minus),
        "by_metric": dict(_by_metric(compared)),
        "cost": over_seeds(losses["held_out_loss"] - losses["held_out_loss_minus"]) if len(losses) else None,
        "equal_loss": at_loss["loss"].mean(),
        "at_loss": {metric: by_layer[max(by_layer)] for metric, by_layer in _by_metric(at_loss)},
    }


def _penalised(measured: pl.DataFrame, arm: str) -> list[int]:
    """The layers of an arm's penalty, of any seed; empty for none."""
    layers = measured.filter(arm=arm).select(pl.col("layers").explode()).to_series().drop_nulls()
    return sorted(set(layers.to_list()))


def _by_metric(rows: pl.DataFrame) -> Iterator[tuple[str, dict[int, Row]]]:
    """The name of each metric of `ANSWERED` in rows of the table `arms`, and these by layer."""
    for (metric, view), name in ANSWERED.items():
        of_cell = rows.filter(metric=metric, view=view).sort("layer")
        if len(of_cell):
            yield name, {row["layer"]: row for row in of_cell.iter_rows(named=True)}


def over_seeds(values: pl.Series) -> Row:
    """A number of each seed, at least one, as a row of the table `arms` has it; its interval is NaN for one seed."""
    own = np.sort(values.to_numpy())
    (low,), (high,) = mean_interval(own[:, None])
    return {
        "mean": own.mean(),
        "ci_low": low,
        "ci_high": high,
        "lowest": own[0],
        "highest": own[-1],
        "n_seeds": len(own),
    }
