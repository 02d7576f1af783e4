"""Tables of trained models: means over seeds, pairs by seed and step, losses of several snapshots."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.tables.arms import ARMS_SCHEMA, arms_table
from homogenization.tables.training import TRAINING_SCHEMA, training_table

MODELS = [
    *[[f"a-{seed}-step{step}", "a", seed, step] for seed in (0, 1, 2) for step in (0, 9)],
    *[[f"b-{seed}", "b", seed, 9] for seed in (0, 1, 3)],
]
VALUES = {name: float(value) for value, (name, *_) in enumerate(MODELS)} | {"plain": 10.0}


def summary() -> pl.DataFrame:
    rows = [
        {"model": name, "variant": "original", "point": "residual_stream", "layer": layer, "depth": layer / 2}
        | {"view": "raw", "metric": "m", "n_reviews": 5, "mean": value**2 + layer}
        for name, value in VALUES.items()
        for layer in (0, 2)
    ]
    return pl.DataFrame(rows, schema_overrides={"layer": pl.Int32})


def test_an_arm_is_its_mean_and_range_over_seeds():
    table = arms_table(summary(), MODELS, [])
    assert table.schema == pl.Schema(ARMS_SCHEMA)
    (row,) = table.filter(arm="a", step=9, layer=2).iter_rows(named=True)
    values = np.array([1.0, 9.0, 25.0]) + 2
    assert (row["n_seeds"], row["lowest"], row["highest"]) == (3, 3, 27)
    low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
    assert [row["mean"], row["ci_low"], row["ci_high"]] == pytest.approx([values.mean(), low, high])


def test_pairs_are_of_the_same_seed_and_step():
    table = arms_table(summary(), MODELS, [["a", "b"], ["b", "plain"]]).drop_nulls("minus")
    (row,) = table.filter(arm="a", layer=0).iter_rows(named=True)
    assert (row["step"], row["n_seeds"]) == (9, 2)  # seeds 0 and 1; step 0 is in one arm alone
    assert {row["lowest"], row["highest"]} == {1.0 - 36.0, 9.0 - 49.0}
    (row,) = table.filter(arm="b", layer=2).iter_rows(named=True)
    assert (row["minus"], row["n_seeds"], row["mean"]) == ("plain", 3, pytest.approx((36 + 49 + 64) / 3 - 100))


def test_the_order_of_models_changes_nothing():
    one = arms_table(summary(), MODELS, [["a", "b"]])
    assert one.equals(arms_table(summary().reverse(), MODELS[::-1], [["a", "b"]]))


def test_losses_of_snapshots_are_joined():
    """The end of one snapshot has a held-out loss; the first step of the next has both."""
    empty = dict.fromkeys(TRAINING_SCHEMA.keys() - {"arm", "seed"})
    rows = [
        [{"step": 0, "loss": 3.0, "held_out_loss": 3.5}, {"step": 1, "held_out_loss": 3.1}],
        [{"step": 1, "loss": 2.0, "held_out_loss": 3.1, "layers": [2]}, {"step": 2, "held_out_loss": 2.5}],
    ]
    schema = {name: dtype for name, dtype in TRAINING_SCHEMA.items() if name not in ("arm", "seed")}
    tables = [pl.DataFrame([empty | row for row in of_job], schema=schema) for of_job in rows]
    table = training_table(tables, [["a", 4], ["a", 4]])
    assert table.schema == pl.Schema(TRAINING_SCHEMA)
    assert table["step"].to_list() == [0, 1, 2]
    assert table["loss"].to_list() == [3.0, 2.0, None]
    assert table["held_out_loss"].to_list() == [3.5, 3.1, 2.5]
    assert training_table([], []).is_empty()
