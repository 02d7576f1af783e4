"""Probes of pooled states: planted labels, folds that keep a review together."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from homogenization.consequences.probing import cross_validated, folds_of, readings, tabulate
from homogenization.interventions.schemas import POOLED_STATES_SCHEMA
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table

N, WIDTH = 60, 12
NAMES = [f"r{number:02d}" for number in range(N)]
LABELS = np.array(["neg", "pos"] * (N // 2))


def planted(size: float) -> np.ndarray:
    """States in which one direction tells the label by `size` standard deviations."""
    generator = np.random.default_rng(0)
    return generator.standard_normal((N, WIDTH)) + size * np.where(LABELS == "pos", 1, -1)[:, None] / np.sqrt(WIDTH)


def test_a_planted_label_is_found_and_permuted_ones_are_not():
    strong, nothing = (readings({"original": planted(size)}, NAMES, LABELS, 5, 0) for size in (6.0, 0.0))
    log_loss, correct, null_log_loss, null_correct = strong["original"].mean(axis=1)
    assert correct == 1
    assert log_loss < 0.3 < np.log(2) - 0.05 < null_log_loss
    assert null_correct < 0.65
    assert nothing["original"][0].mean() > np.log(2) - 0.05


def test_a_probe_is_the_penalised_regression_of_the_training_folds():
    """The log-loss of one fold by another optimiser, on states standardised by the other folds."""
    states, folds = planted(1.0), folds_of(NAMES, LABELS.tolist(), 3, 0)
    log_loss, correct = cross_validated({"original": states}, LABELS, folds, 5.0)["original"]
    trained, held = folds != 0, folds == 0
    x = (states - states[trained].mean(axis=0)) / states[trained].std(axis=0)
    sign = np.where(LABELS == "pos", 1.0, -1.0)

    def loss(weights):
        margins = sign[trained] * (x[trained] @ weights[1:] + weights[0])
        return np.logaddexp(0, -margins).sum() + 5.0 / 2 * (weights[1:] ** 2).sum()

    best = minimize(loss, np.zeros(WIDTH + 1), tol=1e-12).x
    expected = np.logaddexp(0, -sign[held] * (x[held] @ best[1:] + best[0]))
    np.testing.assert_allclose(log_loss[held], expected, atol=1e-3)
    np.testing.assert_array_equal(correct[held], expected < np.log(2))


@pytest.mark.parametrize("there", [[], [0], [0, 2, 4], [0, 1, 2, 3]])
def test_a_condition_that_few_reviews_fit_has_the_losses_that_can_be_had(there):
    """Originals of one label, or none, train no probe."""
    states, folds = np.full((N, WIDTH), np.nan), np.arange(N) // 2 % 2
    states[there] = planted(3.0)[there]
    log_loss, _ = cross_validated({"original": states}, LABELS, folds, 1.0)["original"]
    both = [review for review in there if len({LABELS[other] for other in there if folds[other] != folds[review]}) > 1]
    assert np.flatnonzero(~np.isnan(log_loss)).tolist() == both


def test_no_text_of_a_held_out_review_is_seen_in_training():
    """A label that only the review itself tells is not found, though its texts are almost equal."""
    states = np.random.default_rng(0).standard_normal((N, N)) + 20 * np.eye(N)
    labels = np.random.default_rng(1).permutation(LABELS)
    found = readings({"original": states, "copy": states + 1e-3}, NAMES, labels, 5, 0)
    assert found["original"][1].mean() < 0.75
    np.testing.assert_allclose(found["copy"][0], found["original"][0], atol=0.01)


def test_folds_are_balanced_within_labels_and_do_not_depend_on_the_order():
    folds = folds_of(NAMES, LABELS.tolist(), 5, 0)
    for label in ("neg", "pos"):
        assert np.bincount(folds[label == LABELS]).tolist() == [6] * 5
    turned = folds_of(NAMES[::-1], LABELS[::-1].tolist(), 5, 0)
    np.testing.assert_array_equal(turned[::-1], folds)
    assert (folds_of(NAMES, LABELS.tolist(), 5, 1) != folds).any()


@pytest.mark.parametrize("labels", [["a"] * 6, ["a"] * 4 + ["b"] * 2])
def test_too_few_reviews_of_a_label_are_named(labels):
    with pytest.raises(HomogenizationError, match=r"two labels with 3 reviews each; .* label 'a': "):
        folds_of(NAMES[:6], labels, 3, 0)


def test_the_job_reads_files_of_all_texts_and_shards(tmp_path):
    states = planted(6.0)
    paths = {"states": [], "shards": [str(tmp_path / "corpus.parquet")]}
    for text, moved in (("original", 0.0), ("front", 0.25)):
        for shard, part in enumerate(np.split(np.arange(N), 2)):
            rows = [
                ("m", text, NAMES[review], condition, layer, ((1 + layer) * (states[review] + moved)).tolist())
                for condition in ("untouched", "masked-first")
                if (text, condition) != ("front", "masked-first")
                for review in part
                for layer in (0, 1)
                if (text, review) != ("front", 0)
            ]
            paths["states"].append(str(tmp_path / f"{text}{shard}.parquet"))
            write_table(pl.DataFrame(rows, POOLED_STATES_SCHEMA, orient="row"), paths["states"][-1])
    write_table(pl.DataFrame({"review_id": NAMES, "label": LABELS}).reverse(), tmp_path / "corpus.parquet")
    chosen = {"model": "m", "variants": ["original", "front"], "seed": 0}
    found = tabulate(**paths, **chosen, folds=5)
    assert len(found) == 2 * (2 * N + N - 1)
    assert found.filter(variant="original")["correct"].mean() == 1
    assert found.filter(variant="front")["review_id"].n_unique() == N - 1
    assert tabulate(**paths, **chosen, folds=None).is_empty()
