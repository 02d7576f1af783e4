"""The table `interventions`, from rows with known effects."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dosed import curves, intervened_rows, steering
from homogenization.statistics.doses import Condition
from homogenization.statistics.interventions import EFFECTS_SCHEMA, effects_table
from homogenization.statistics.resampling import Resampling, mean_interval
from library.statistics.shared import MARGIN

DRAWN = {"draws": 500, "confidence": 0.95, "seed": 0, "margin": MARGIN}
SETTINGS = {"resampling": Resampling(**DRAWN), "min_reviews": 6}
N = 20


def row_of(table, **chosen):
    (row,) = table.filter(**chosen).iter_rows(named=True)
    return row


class TestEffects:
    def test_a_pattern_is_compared_with_the_untouched_run_and_with_every_control_that_there_is(self):
        conditions, kl = curves(
            {"first": 0.5, "uniform": 0.2, "removed": -0.3}, {"first": 0.5, "uniform": 1, "removed": 0.1}
        )
        table = effects_table(intervened_rows(conditions, kl, size=2.0), **SETTINGS)
        assert table.schema == pl.Schema(EFFECTS_SCHEMA)
        of_dose = table.filter(pattern="first", strength=0.2)
        # removing needs a strength of .447 for this KL: its curve ends before
        beyond = row_of(of_dose, against="removed", at="kl")
        assert (beyond["verdict"], beyond["reason"][:29]) == ("not tested", "the KL of 'removed' reaches 0")
        of_dose = of_dose.filter(pl.col("reason").is_null())
        estimates = {(row["against"], row["at"]): row["estimate"] for row in of_dose.iter_rows(named=True)}
        assert estimates == pytest.approx(
            {
                ("untouched", "strength"): 0.1,
                ("uniform", "strength"): 0.06,
                ("removed", "strength"): 0.16,
                ("uniform", "kl"): 0.1 - 0.04 * np.sqrt(0.5),
            }
        )
        assert of_dose.filter(against="uniform", at="strength")["relative_effect"].item() == pytest.approx(0.03)
        assert set(table.filter(pattern="removed")["against"]) == {"untouched"}

    def test_numbers_of_a_mean_are_those_of_the_reviews(self):
        values = np.random.default_rng(0).normal(0.1, 0.3, N)
        table = effects_table(intervened_rows({steering("first", 0.1): values}), **SETTINGS)
        row = row_of(table, pattern="first")
        assert row["estimate"] == pytest.approx(values.mean())
        assert row["n_reviews"] == N
        assert [row["ci_low"], row["ci_high"]] == pytest.approx([end[0] for end in mean_interval(values[:, None])])
        flipped = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
        assert row["p_value"] == pytest.approx(flipped.pvalue, abs=0.06)
        assert row["p_max_t"] == row["p_value"]

    def test_reviews_whose_sink_moved_in_the_condition_or_its_control_are_left_out_and_counted(self):
        first, removed = steering("first", 0.1), steering("removed", 0.1)
        values = {first: np.r_[9.0, 9.0, np.ones(N - 2)], removed: np.zeros(N)}
        moved = {first: np.arange(N) < 2, removed: np.arange(N) == N - 1}
        table = effects_table(intervened_rows(values, moved=moved), **SETTINGS)
        counts = ("estimate", "n_reviews", "n_sink_moved")
        alone, less = (row_of(table, pattern="first", against=name, at="strength") for name in ("untouched", "removed"))
        assert [alone[name] for name in counts] == [1.0, N - 2, 2]
        assert [less[name] for name in counts] == [1.0, N - 3, 3]

    def test_a_condition_whose_sink_always_moves_is_not_tested(self):
        masked = Condition("masked", "first", "all")
        table = effects_table(intervened_rows({masked: np.ones(N)}, moved={masked: np.ones(N, dtype=bool)}), **SETTINGS)
        assert table.select("n_reviews", "n_sink_moved", "verdict").rows() == [(0, N, "not tested")]

    def test_a_norm_behind_attention_leaves_the_other_controls(self):
        """Nothing is said of `removed` at any dose."""
        effects, damage = {"first": 0.5, "removed": 0.4, "uniform": 0.2}, {"first": 0.5, "removed": 1, "uniform": 1}
        conditions, kl = curves(effects, damage, N, 0.3)
        plain, normed = (
            effects_table(intervened_rows(conditions, kl, branch_norm=norm), **SETTINGS) for norm in (False, True)
        )
        less = normed.filter(against="removed")
        assert set(less["pattern"]) == {"first"}
        assert (
            less.select(pl.col("estimate", "ci_low", "ci_high", "relative_effect", "p_value", "p_max_t").is_nan())
            .to_numpy()
            .all()
        )
        assert less["reason"].str.starts_with("a norm follows attention").all()
        assert plain["reason"].is_null().all()
        others = [table.filter(pl.col("against") != "removed") for table in (plain, normed)]
        assert others[0].equals(others[1])
        assert not others[1]["p_max_t"].is_nan().any()

    @pytest.mark.parametrize("n", [2, 5, 6])
    def test_fewer_reviews_than_asked_for_are_not_tested(self, n):
        conditions, kl = curves({"first": 0.5, "uniform": 0.2}, {"first": 0.5, "uniform": 1}, n, 0.2)
        table = effects_table(intervened_rows(conditions, kl), **SETTINGS)
        assert {"strength", "kl"} == set(table.filter(against="uniform")["at"])
        assert table["n_reviews"].unique().to_list() == [n]
        numbers = table.select("estimate", "ci_low", "ci_high", "relative_effect", "p_value", "p_max_t")
        assert numbers.select(pl.all().is_nan()).to_numpy().all() == (n < 6)
        said = f"{n} reviews have a value; at least 6 are needed"
        assert (table["reason"] == said).sum() == (len(table) if n < 6 else 0)
        assert (table["verdict"] == "not tested").all() == (n < 6)

    def test_without_an_effect_one_test_in_twenty_finds_one(self):
        """500 conditions on 25 reviews whose changes are noise; half of them less a control."""
        generator = np.random.default_rng(3)
        doses = {
            steering(name, s / 1000): generator.standard_normal(25) for name in ("first", "removed") for s in range(250)
        }
        table = effects_table(intervened_rows(doses), **SETTINGS).filter(pattern="first", at="strength")
        for (_,), rows in table.group_by("against"):
            assert (rows["p_value"] < 0.05).mean() == pytest.approx(0.05, abs=0.035)
            covered = (rows["ci_low"] <= 0) & (rows["ci_high"] >= 0)
            assert covered.mean() == pytest.approx(0.93, abs=0.04)

    def test_models_do_not_touch_each_other(self):
        conditions, kl = curves({"first": 0.5, "uniform": 0.2}, {"first": 0.5, "uniform": 1.0}, N, 0.2)
        alone = effects_table(intervened_rows(conditions, kl), **SETTINGS)
        other = intervened_rows({steering("first", 0.1): np.arange(9.0)}, model="a")
        both = effects_table(pl.concat([intervened_rows(conditions, kl), other]).reverse(), **SETTINGS)
        assert both.filter(model="m").equals(alone)
