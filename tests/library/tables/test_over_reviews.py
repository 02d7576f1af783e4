import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from homogenization.statistics.resampling import mean_interval
from homogenization.tables.over_reviews import corrected_t, keep_accepted, mean_reach, summarise
from measured import accepted


def test_a_variant_keeps_its_own_reviews_in_their_order_and_the_original_all():
    variants = ["front", "end", "original", "front", "front", "unscored", "end", "front"]
    table = pl.DataFrame({"variant": variants, "review_id": [*"cbbbabac"], "x": range(8)})
    similarity = pl.concat([accepted("a", "c"), accepted("b", variant="end"), accepted(variant="random_pairs")])
    assert keep_accepted(table, similarity)["x"].to_list() == [0, 1, 2, 4, 7]
    assert keep_accepted(table, similarity.clear())["x"].to_list() == [2]


class TestSummary:
    @pytest.mark.parametrize("n", [7, 12])
    def test_interval_is_that_of_contrasts_and_of_few_values_students(self, n):
        values = np.random.default_rng(0).exponential(size=n)
        table = pl.DataFrame({"group": ["g"] * n, "value": values})
        row = summarise(table, ["group"], "value").row(0, named=True)
        low, high = (float(bound[0]) for bound in mean_interval(values[:, None]))
        student = stats.t.interval(0.95, n - 1, loc=values.mean(), scale=stats.sem(values))
        assert ((low, high) == pytest.approx(student)) == (n < 8)
        assert (row["ci_low"], row["ci_high"]) == (pytest.approx(low), pytest.approx(high))
        assert row["median"] == pytest.approx(np.median(values))
        assert row["std"] == pytest.approx(values.std(ddof=1))

    def test_missing_values_are_left_out(self):
        table = pl.DataFrame({"group": ["g", "g", "g", "h"], "value": [1.0, math.nan, 3.0, math.nan]})
        first, second = summarise(table, ["group"], "value").iter_rows(named=True)
        assert (first["n_reviews"], first["mean"]) == (2, 2.0)
        assert second["n_reviews"] == 0
        assert math.isnan(second["mean"])
        assert math.isnan(second["ci_low"])

    def test_one_value_has_no_interval(self):
        assert np.isnan(mean_reach([0, 1], np.zeros(2), 0.95)).all()
        assert mean_reach([2], np.zeros(1), 0.95)[0] == pytest.approx(stats.t.ppf(0.975, 1))


class TestReach:
    @given(n=st.integers(8, 500), skew=st.floats(-6, 6), confidence=st.floats(0.6, 0.999))
    def test_is_where_the_corrected_t_is_students_quantile_and_never_shorter(self, n, skew, confidence):
        below, above = (float(end) for end in mean_reach(n, skew, confidence))
        quantile = stats.t.ppf((1 + confidence) / 2, n - 1)
        assert min(below, above) >= quantile
        longer = [reach > quantile * (1 + 1e-9) for reach in (below, above)]
        assert longer in ([False, False], [skew < 0, skew > 0])
        for reach, sign in ((below, 1), (above, -1)):
            if reach > quantile * (1 + 1e-9):
                assert sign * float(corrected_t(sign * reach, n, skew)) == pytest.approx(quantile, rel=1e-6)
        assert (above, below) == pytest.approx(tuple(map(float, mean_reach(n, -skew, confidence))))

    @given(n=st.integers(8, 200), skew=st.floats(-6, 6), t=st.floats(-50, 50), step=st.floats(1e-3, 10))
    def test_the_corrected_t_rises_with_t(self, n, skew, t, step):
        assert corrected_t(t + step, n, skew) >= corrected_t(t, n, skew)
