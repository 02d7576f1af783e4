"""Tables of trained models: means over seeds, pairs by seed and step, losses of several snapshots."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.names.training import LOSSES_SCHEMA
from homogenization.tables.arms import ARMS_SCHEMA, paired_at_loss, tabulate
from homogenization.tables.training import TRAINING_SCHEMA
from homogenization.tables.training import tabulate as training_table
from measured import written

MODELS = [
    *[[f"a-{seed}-step{step}", "a", seed, step] for seed in (0, 1, 2) for step in (0, 9)],
    *[[f"b-{seed}", "b", seed, 9] for seed in (0, 1, 3)],
]
LOSSES = {"a": {0: 3.0, 9: 2.0}, "b": {9: 2.5}}
TRAINING = pl.DataFrame(
    [
        {"arm": arm, "seed": seed, "step": step, "held_out_loss": LOSSES[arm][step] + seed / 100}
        for _, arm, seed, step in MODELS
    ]
)
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
    table = tabulate(summary(), TRAINING, MODELS, [])
    assert table.schema == pl.Schema(ARMS_SCHEMA)
    (row,) = table.filter(arm="a", step=9, layer=2).iter_rows(named=True)
    values = np.array([1.0, 9.0, 25.0]) + 2
    assert (row["n_seeds"], row["lowest"], row["highest"]) == (3, 3, 27)
    low, high = stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
    assert [row["mean"], row["ci_low"], row["ci_high"]] == pytest.approx([values.mean(), low, high])


def test_pairs_are_of_the_same_seed_and_step():
    table = tabulate(summary(), TRAINING, MODELS, [["a", "b"], ["b", "plain"]]).drop_nulls("minus")
    (row,) = table.filter(arm="a", layer=0).iter_rows(named=True)
    assert (row["step"], row["n_seeds"]) == (9, 2)  # seeds 0 and 1; step 0 is in one arm alone
    assert {row["lowest"], row["highest"]} == {1.0 - 36.0, 9.0 - 49.0}
    (row,) = table.filter(arm="b", layer=2).iter_rows(named=True)
    assert (row["minus"], row["n_seeds"], row["mean"]) == ("plain", 3, pytest.approx((36 + 49 + 64) / 3 - 100))


def test_the_order_of_models_changes_nothing():
    one = tabulate(summary(), TRAINING, MODELS, [["a", "b"]])
    assert one.equals(tabulate(summary().reverse(), TRAINING, MODELS[::-1], [["a", "b"]]))


def with_snapshots(losses):
    """Two arms of two seeds, whose metric is 10 × seed + the share of the way from loss 4 to loss 2, per arm."""
    models = [
        [f"{arm}-{seed}-{step}", arm, seed, step] for arm, path in losses.items() for seed in (0, 1) for step in path
    ]
    rows = [
        {"model": name, "variant": "original", "point": "residual_stream", "layer": 1, "depth": 1.0, "view": "raw"}
        | {"metric": "m", "mean": 10 * seed + {"fast": 1.0, "slow": 3.0}[arm] * (4 - losses[arm][step]) / 2}
        for name, arm, seed, step in models
    ]
    training = [
        {"arm": arm, "seed": seed, "step": step, "held_out_loss": losses[arm][step]} for _, arm, seed, step in models
    ]
    return pl.DataFrame(rows, schema_overrides={"layer": pl.Int32}), models, pl.DataFrame(training)


def test_arms_are_compared_where_they_have_learnt_as_much():
    """The metric is linear in the loss, so interpolation is exact: at a loss of 3, fast has .5, slow 1.5."""
    found, models, training = with_snapshots({"fast": {0: 4.0, 5: 3.2, 9: 2.0}, "slow": {0: 4.1, 5: 3.5, 9: 3.0}})
    table = tabulate(found, training, models, [["fast", "slow"]]).filter(minus="slow")
    assert table.filter(at="step")["step"].to_list() == [0, 5, 9]
    (row,) = table.filter(at="loss").iter_rows(named=True)
    assert (row["step"], row["loss"], row["n_seeds"]) == (None, pytest.approx(3.0), 2)
    assert [row["lowest"], row["mean"], row["highest"]] == pytest.approx([-1.0] * 3)
    other = paired_at_loss(found, models, training, ["slow", "fast"])
    np.testing.assert_allclose(other["value"], [1.0, 1.0])


@pytest.mark.parametrize("fast", [{0: 2.9, 9: 2.0}, {9: 2.0}])
def test_an_arm_that_was_never_at_the_other_ones_loss_has_no_such_row(fast):
    found, models, training = with_snapshots({"fast": fast, "slow": {0: 4.1, 9: 3.0}})
    assert paired_at_loss(found, models, training, ["fast", "slow"]).is_empty()
    table = tabulate(found, training, models, [["fast", "slow"]])
    assert not table.filter(at="loss").height


def test_the_first_time_at_a_loss_counts_and_a_cell_that_a_snapshot_lacks_does_not():
    found, models, training = with_snapshots({"fast": {0: 4.0, 3: 2.0, 6: 4.0, 9: 2.0}, "slow": {0: 4.1, 9: 3.0}})
    (one,) = set(paired_at_loss(found, models, training, ["fast", "slow"])["value"].round(9))
    assert one == pytest.approx(0.5 - 1.5)
    lacking = found.with_columns(pl.when(model=pl.lit("fast-1-3")).then(None).otherwise("mean").alias("mean"))
    assert paired_at_loss(lacking, models, training, ["fast", "slow"])["value"].to_list() == pytest.approx([-1.0])


def test_losses_of_snapshots_are_joined(tmp_path):
    """The end of one snapshot has a held-out loss; the first step of the next has both."""
    rows = [
        [{"step": 0, "loss": 3.0, "held_out_loss": 3.5}, {"step": 1, "held_out_loss": 3.1}],
        [{"step": 1, "loss": 2.0, "held_out_loss": 3.1, "layers": [2]}, {"step": 2, "held_out_loss": 2.5}],
    ]
    tables = [pl.DataFrame(of_job, schema=LOSSES_SCHEMA) for of_job in rows]
    table = training_table(written(tmp_path, *tables), [["a", 4], ["a", 4]])
    assert table.schema == pl.Schema(TRAINING_SCHEMA)
    assert table["step"].to_list() == [0, 1, 2]
    assert table["loss"].to_list() == [3.0, 2.0, None]
    assert table["held_out_loss"].to_list() == [3.5, 3.1, 2.5]
    assert training_table([], []).is_empty()
