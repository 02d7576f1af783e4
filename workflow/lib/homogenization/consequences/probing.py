"""What a linear probe finds in pooled states, cross-validated by review."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression

from homogenization.consequences.schemas import POOLED_READINGS_SCHEMA
from homogenization.corpus.hashing import seeded_hash
from homogenization.names.columns import table_of
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, read_tables

logger = logging.getLogger(__name__)

SCHEMAS = {"readings": POOLED_READINGS_SCHEMA}
_STEPS = 2000  # of the solver
_READ = ("log_loss", "correct", "null_log_loss", "null_correct")


class Probed(NamedTuple):
    """What a probe says of texts: their log-loss in nats, and 1 where its guess is right; (reviews,) float64."""

    log_loss: np.ndarray
    correct: np.ndarray


def folds_of(names: Sequence[str], labels: Sequence[str], folds: int, seed: int) -> np.ndarray:
    """The fold of each review, (reviews,): the reviews of each label, shuffled by a hash, take turns.

    Args:
        names: names of the reviews.
        labels: their labels.
        folds: number of folds.
        seed: seed of the shuffling.

    Raises:
        HomogenizationError: a label has fewer reviews than there are folds, or all reviews have one label.
    """
    counts = {label: list(labels).count(label) for label in sorted(set(labels))}
    if len(counts) < 2 or min(counts.values()) < folds:
        there = ", ".join(f"label '{label}': {count}" for label, count in counts.items())
        raise HomogenizationError(
            f"consequences.probes.folds: {folds} folds need two labels with {folds} reviews each; there are {there}. "
            "Lower the folds, raise consequences.n_reviews, or set probes: null."
        )
    fold_of_review = np.empty(len(names), dtype=np.int64)
    for label in counts:
        own = [index for index, other in enumerate(labels) if other == label]
        for turn, index in enumerate(sorted(own, key=lambda index: seeded_hash(seed, "fold", names[index]))):
            fold_of_review[index] = turn % folds
    return fold_of_review


def cross_validated(
    originals: np.ndarray, texts: Mapping[str, np.ndarray], labels: np.ndarray, folds: np.ndarray, penalty: float
) -> dict[str, Probed]:
    """Log-loss and guesses of a logistic regression that is trained on originals and asked about texts.

    A review and all its texts are in one fold. States are standardised by mean and standard deviation of the training
    folds. The regression minimises the sum of the losses + penalty / 2 times the squared norm of its weights.

    Args:
        originals: (reviews, d) pooled states.
        texts: by name, (reviews, d) pooled states of texts of the same reviews; NaN where a review lacks one.
        labels: (reviews,) labels.
        folds: (reviews,) fold of each review.
        penalty: strength of the penalty.

    Returns:
        By name of the text; NaN where a review lacks it, or where the originals that train have one label.
    """
    probed = {name: Probed(*np.full((2, len(labels)), np.nan)) for name in texts}
    for fold in np.unique(folds):
        trained = (folds != fold) & ~np.isnan(originals).any(axis=1)
        if len(np.unique(labels[trained])) < 2:
            continue  # a condition that few reviews fit
        training = originals[trained].astype(np.float64)
        centre, spread = training.mean(axis=0), training.std(axis=0)
        spread = np.where(spread > 1e-6 * np.abs(training).max(axis=0), spread, np.inf)  # a constant says nothing
        probe = LogisticRegression(C=1 / penalty, max_iter=_STEPS)
        probe.fit((training - centre) / spread, labels[trained])
        for name, states in texts.items():
            held_out = np.flatnonzero((folds == fold) & ~np.isnan(states).any(axis=1))
            if not len(held_out):
                continue
            chances = probe.predict_proba((states[held_out] - centre) / spread)
            scores = np.log(chances.clip(min=np.finfo(np.float64).tiny))  # far from all originals, one can be 0
            column = np.searchsorted(probe.classes_, labels[held_out])
            probed[name].log_loss[held_out] = -scores[np.arange(len(held_out)), column]
            probed[name].correct[held_out] = probe.classes_[scores.argmax(axis=1)] == labels[held_out]
    return probed


class Task(NamedTuple):
    """Labels (reviews,) and the fold of each review (reviews,)."""

    labels: np.ndarray
    folds: np.ndarray


def tasks(names: Sequence[str], labels: np.ndarray, chosen: Mapping[str, Any], seed: int) -> list[Task]:
    """The task of the probes, and after it those of the null: the same labels in random order, dealt to folds anew.

    Args:
        names: names of the reviews.
        labels: (reviews,) their labels.
        chosen: `folds` and `permutations`.
        seed: seed of folds and permutations.
    """
    generator = np.random.default_rng(seed)
    orders = [labels, *(generator.permutation(labels) for _ in range(chosen["permutations"]))]
    return [Task(order, folds_of(names, order.tolist(), chosen["folds"], seed)) for order in orders]


def readings(states: Mapping[str, np.ndarray], probe_tasks: Sequence[Task], penalty: float) -> dict[str, np.ndarray]:
    """What is read of the pooled states of one condition and layer: by text, (columns, reviews).

    Args:
        states: by text, the originals among them, (reviews, d); NaN where a review lacks the text.
        probe_tasks: as `tasks` gives them; none where nothing is probed.
        penalty: strength of the probes' penalty.

    Returns:
        log_loss, correct, null_log_loss and null_correct, as in `POOLED_READINGS_SCHEMA`.
    """
    originals = states[ORIGINAL].astype(np.float64)
    nothing = np.full(len(originals), np.nan)
    probed, null = dict.fromkeys(states, Probed(nothing, nothing)), Probed(nothing, nothing)
    if probe_tasks:
        first, *others = probe_tasks
        probed = cross_validated(originals, states, *first, penalty)
        alone = {ORIGINAL: originals}
        null = Probed(
            *np.mean([cross_validated(originals, alone, *task, penalty)[ORIGINAL] for task in others], axis=0)
        )
    return {name: np.stack([*probed[name], *(null if name == ORIGINAL else (nothing, nothing))]) for name in states}


def tabulate(
    states: Sequence[str],
    shards: Sequence[str],
    model: str,
    variants: Sequence[str],
    *,
    probes: Mapping[str, Any] | None,
    seed: int,
) -> pl.DataFrame:
    """Probes of one model, review by review and layer by layer: `POOLED_READINGS_SCHEMA`.

    A review that the model does not read as original is left out.

    Args:
        states: files of pooled states of all variants, conditions and shards (`POOLED_STATES_SCHEMA`).
        shards: those of the corpus, which hold the labels.
        model: name of the model.
        variants: their names, `original` among them.
        probes: `folds`, `penalty` and `permutations`; None where the reviews have no labels or nothing is probed.
        seed: seed of folds and permutations.
    """
    if probes is None:
        logger.warning(
            "no probes: consequences.probes is null, or corpus.label_column is null and nothing can be probed"
        )
    pooled = read_tables(states)
    by_text = {name: pooled.filter(variant=name) for name in variants}
    known = pl.concat([read_table(path).select("review_id", "label") for path in shards])
    originals = by_text[ORIGINAL]
    parts = [pl.DataFrame(schema=POOLED_READINGS_SCHEMA)]
    names = originals["review_id"].unique().sort()
    of_labels = known.join(names.to_frame(), on="review_id").sort("review_id")["label"].to_numpy()
    probe_tasks = tasks(names.to_list(), of_labels, probes, seed) if probes and len(names) else []
    n_blocks = max(originals["layer"].max() or 0, 1)
    for condition in originals["condition"].unique(maintain_order=True):
        of_texts = {name: table.filter(condition=condition) for name, table in by_text.items()}
        of_texts = {name: table for name, table in of_texts.items() if len(table)}
        for layer in range(n_blocks + 1):
            placed = {name: _placed(table.filter(layer=layer), names) for name, table in of_texts.items()}
            for name, values in readings(placed, probe_tasks, probes["penalty"] if probes else np.nan).items():
                columns = dict(zip(_READ, values, strict=True))
                place = {"model": model, "variant": name, "condition": condition, "layer": layer}
                place["depth"] = layer / n_blocks
                table = table_of({"review_id": names, **place, **columns}, POOLED_READINGS_SCHEMA)
                parts.append(table.filter(~np.isnan(placed[name]).any(axis=1)))
        logger.info("condition %s: %s", condition, ", ".join(of_texts))
    return pl.concat(parts)


def _placed(table: pl.DataFrame, names: pl.Series) -> np.ndarray:
    """(reviews, d) float64 states in the order of `names`; NaN where a review has none."""
    order = names.to_frame().with_row_index("row")
    placed = table.join(order, on="review_id").select("row", "state")
    width = placed["state"].list.len().max()
    states = np.full((len(names), width), np.nan)
    states[placed["row"].to_numpy()] = placed["state"].list.to_array(width).to_numpy()
    return states
