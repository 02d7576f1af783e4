"""What a linear probe finds in pooled states, cross-validated by review."""

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from homogenization.consequences.schemas import POOLED_READINGS_SCHEMA
from homogenization.corpus.hashing import seeded_hash
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, read_tables

logger = logging.getLogger(__name__)

SCHEMAS = {"readings": POOLED_READINGS_SCHEMA}
PENALTY = 100.0  # of standardised states
_PERMUTATIONS = 5  # orders of the labels of which the null is the mean


def folds_of(names: Sequence[str], labels: Sequence[str], folds: int, seed: int) -> np.ndarray:
    """The fold of each review, (reviews,): the reviews of each label, shuffled by a hash, take turns.

    Raises:
        HomogenizationError: a label has fewer reviews than there are folds, or all reviews have one label.
    """
    counts = {label: list(labels).count(label) for label in sorted(set(labels))}
    if len(counts) < 2 or min(counts.values()) < folds:
        there = ", ".join(f"label '{label}': {count}" for label, count in counts.items())
        raise HomogenizationError(
            f"consequences: probes need two labels with {folds} reviews each; there are {there}. Raise "
            "consequences.n_reviews, or set corpus.label_column: null for no probes."
        )
    fold_of_review = np.empty(len(names), dtype=np.int64)
    for label in counts:
        own = [index for index, other in enumerate(labels) if other == label]
        own.sort(key=lambda index: seeded_hash(seed, "fold", names[index]))
        fold_of_review[own] = np.arange(len(own)) % folds
    return fold_of_review


def cross_validated(
    texts: Mapping[str, np.ndarray], labels: np.ndarray, folds: np.ndarray, penalty: float = PENALTY
) -> dict[str, np.ndarray]:
    """Log-loss and guesses of a logistic regression that is trained on originals and asked about texts.

    A review and all its texts are in one fold; states are standardised by the training folds. The regression minimises
    the sum of the losses + penalty / 2 times the squared norm of its weights.

    `texts` are pooled states by name, `original` among them, (reviews, d), NaN where a review lacks the text; `labels`
    and `folds` are (reviews,).

    Returns:
        By name of the text, (2, reviews): log-loss in nats, and 1 where the guess is right, else 0. NaN where a review
        lacks the text, or where the originals that train have one label, or not the review's.
    """
    found = {name: np.full((2, len(labels)), np.nan) for name in texts}
    there = {name: ~np.isnan(states).any(axis=1) for name, states in texts.items()}
    for fold in np.unique(folds):
        training = (folds != fold) & there[ORIGINAL]
        if len(np.unique(labels[training])) < 2:
            continue  # a condition that few reviews fit
        probe = make_pipeline(StandardScaler(), LogisticRegression(C=1 / penalty, max_iter=2000))
        probe.fit(texts[ORIGINAL][training], labels[training])
        for name, states in texts.items():
            held_out = np.flatnonzero((folds == fold) & there[name] & np.isin(labels, probe.classes_))
            if len(held_out):
                chances = probe.predict_proba(states[held_out])
                own = chances[np.arange(len(held_out)), np.searchsorted(probe.classes_, labels[held_out])]
                # far from all originals, a chance can be 0
                found[name][0, held_out] = -np.log(own.clip(min=np.finfo(np.float64).tiny))
                found[name][1, held_out] = probe.classes_[chances.argmax(axis=1)] == labels[held_out]
    return found


def readings(
    texts: Mapping[str, np.ndarray], names: Sequence[str], labels: np.ndarray, folds: int, seed: int
) -> dict[str, np.ndarray]:
    """What is read of the pooled `texts` (`cross_validated`) of one condition and layer.

    By text, (4, reviews): log_loss, correct, null_log_loss and null_correct of `POOLED_READINGS_SCHEMA`. The null, of
    the originals alone, has the same labels in random order, dealt to folds anew.
    """

    def probed(order: np.ndarray, of: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return cross_validated(of, order, folds_of(names, order.tolist(), folds, seed))

    generator, originals = np.random.default_rng(seed), {ORIGINAL: texts[ORIGINAL]}
    orders = [generator.permutation(labels) for _ in range(_PERMUTATIONS)]
    null = np.mean([probed(order, originals)[ORIGINAL] for order in orders], axis=0)
    nulls = {name: np.full_like(null, np.nan) for name in texts} | {ORIGINAL: null}
    return {name: np.vstack([own, nulls[name]]) for name, own in probed(labels, texts).items()}


def tabulate(
    states: Sequence[str],
    shards: Sequence[str],
    model: str,
    variants: Sequence[str],
    *,
    folds: int | None,
    seed: int,
) -> pl.DataFrame:
    """Probes of one model, review by review and layer by layer: `POOLED_READINGS_SCHEMA`.

    `states` are the files of pooled states of all texts and conditions (`POOLED_STATES_SCHEMA`), `shards` those of the
    corpus, which hold the labels. Without labels, `folds` is None.
    """
    parts = [pl.DataFrame(schema=POOLED_READINGS_SCHEMA)]
    if folds is None:
        logger.warning("no probes: corpus.label_column is null")
        return parts[0]
    pooled = read_tables(states)
    originals = pooled.filter(variant=ORIGINAL)
    names = originals["review_id"].unique().sort()
    known = pl.concat([read_table(path).select("review_id", "label") for path in shards])
    labels = names.to_frame().join(known, on="review_id", maintain_order="left")["label"].to_numpy()
    n_blocks = max(pooled["layer"].max() or 0, 1)
    for condition, layer in originals.select("condition", "layer").unique(maintain_order=True).rows():
        rows = pooled.filter(condition=condition, layer=layer)
        texts = {name: rows.filter(variant=name) for name in variants}
        placed = {name: _placed(table, names) for name, table in texts.items() if len(table)}
        for name, values in readings(placed, names.to_list(), labels, folds, seed).items():
            place = {"model": model, "variant": name, "condition": condition, "layer": layer, "depth": layer / n_blocks}
            columns = dict(zip(("log_loss", "correct", "null_log_loss", "null_correct"), values, strict=True))
            table = pl.DataFrame({"review_id": names, **place, **columns}, strict=False)
            table = table.select(*POOLED_READINGS_SCHEMA).cast(POOLED_READINGS_SCHEMA)
            parts.append(table.filter(~np.isnan(placed[name]).any(axis=1)))
    return pl.concat(parts)


def _placed(table: pl.DataFrame, names: pl.Series) -> np.ndarray:
    """(reviews, d) float64 states in the order of `names`; NaN where a review has none."""
    placed = names.to_frame().join(table, on="review_id", how="left", maintain_order="left")["state"]
    return placed.list.to_array(table["state"].list.len().max()).to_numpy().astype(np.float64)
