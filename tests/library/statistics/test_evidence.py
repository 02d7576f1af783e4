import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.config.claims import STATISTICS
from homogenization.statistics.evidence import CLAIM_STATISTICS, COMPONENT_GROUPS, UnavailableError, measure
from homogenization.statistics.resampling import bootstrap_weights, mean_interval
from library.statistics.shared import (
    CONFIDENCE,
    COSINE,
    DRAWS,
    N_BLOCKS,
    N_REVIEWS,
    NORM,
    RANK,
    SEED,
    claim_of,
    component_changes,
    component_rows,
    evidence_of,
    metric_rows,
    noise,
)

DEPTH = np.arange(N_BLOCKS + 1) / N_BLOCKS
FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
WITH_NORM = {"metric": "max_explainable_variance", "with_metric": NORM}


def test_every_statistic_of_the_configuration_is_measured():
    assert set(CLAIM_STATISTICS) == set(STATISTICS)


class TestLevel:
    @pytest.mark.parametrize(
        ("layers", "counted"),
        [
            ("all", range(9)),
            ("first", [0, 1]),
            ("middle", [2, 3, 4, 5]),
            ("last", [6, 7, 8]),
            ("input", [0]),
            ("output", [8]),
        ],
    )
    def test_is_averaged_over_the_layers_that_are_named(self, layers, counted):
        values = DEPTH**2 + noise(0)
        found = measure(
            claim_of(level={"metric": RANK, "layers": layers}, above=0), "m", evidence_of(metric_rows(values))
        )
        by_review = values[:, list(counted)].mean(axis=1)
        low, high = mean_interval(by_review[:, None], bootstrap_weights(N_REVIEWS, DRAWS, SEED), CONFIDENCE)
        assert (found.estimate, found.low, found.high) == pytest.approx((by_review.mean(), low[0], high[0]), rel=1e-9)
        assert found.n_reviews == N_REVIEWS
        np.testing.assert_allclose(found.values, by_review)

    def test_takes_its_own_metric_view_variant_point_and_model(self):
        wanted = metric_rows(noise(0) + 1, COSINE, "without_first", "front", "m", "final_norm")
        others = [
            metric_rows(noise(1) + 9, "resultant_length", "without_first", "front", "m", "final_norm"),
            metric_rows(noise(2) + 9, COSINE, "all_tokens", "front", "m", "final_norm"),
            metric_rows(noise(3) + 9, COSINE, "without_first", "end", "m", "final_norm"),
            metric_rows(noise(4) + 9, COSINE, "without_first", "front", "other", "final_norm"),
            metric_rows(noise(5) + 9, COSINE, "without_first", "front", "m", "residual_stream"),
        ]
        level = {"metric": COSINE, "view": "without_first", "variant": "front", "point": "final_norm"}
        found = measure(claim_of(level=level, above=0), "m", evidence_of(wanted, *others))
        assert found.estimate == pytest.approx((noise(0) + 1).mean())

    def test_undefined_values_are_left_out(self):
        values = noise(0) + 1
        values[0], values[1, :4] = np.nan, np.nan
        found = measure(claim_of(level={"metric": RANK}, above=0), "m", evidence_of(metric_rows(values)))
        assert found.n_reviews == N_REVIEWS - 1
        assert found.estimate == pytest.approx(np.nanmean(values[1:], axis=1).mean())


class TestContrast:
    def test_is_paired_by_review_and_layer(self):
        front, original = noise(0) + 1, noise(1)
        front[0], original[1] = np.nan, np.nan
        front[2, 3] = np.nan
        rows = [metric_rows(front, variant="front"), metric_rows(original)]
        # a review that only one variant has, and rows in no order
        rows = pl.concat(rows).filter((pl.col("variant") == "front") | (pl.col("review_id") != "r005"))
        evidence = evidence_of(rows.sample(fraction=1, shuffle=True, seed=0))
        found = measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", evidence)
        by_review = np.nanmean(np.delete(front - original, [0, 1, 5], axis=0), axis=1)
        np.testing.assert_allclose(found.values, by_review)

    def test_without_a_review_in_both(self):
        front = metric_rows(noise(0), variant="front").with_columns(pl.col("review_id") + " elsewhere")
        with pytest.raises(UnavailableError, match="in both 'front' and 'original'"):
            measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", evidence_of(front, metric_rows(noise(1))))


def test_slope_is_that_of_scipy():
    values = noise(0) + 3 * DEPTH
    values[0, 4] = np.nan
    found = measure(claim_of(slope={"metric": RANK}, above=0), "m", evidence_of(metric_rows(values)))
    expected = [stats.linregress(DEPTH[~np.isnan(row)], row[~np.isnan(row)]).slope for row in values]
    np.testing.assert_allclose(found.values, expected)


def test_steepest_follows_homogenization_and_not_the_size_of_the_change():
    profile = np.array([0, 0, 5, 5, 4, 2, 2, 2, 2.0])  # the rank rises most at block 2, falls most at block 5
    evidence = evidence_of(
        metric_rows(profile + noise(0, 0.01)), metric_rows(profile + noise(1, 0.01), COSINE, "all_tokens")
    )
    falling = measure(claim_of(steepest={"metric": RANK}, between=[0, 1]), "m", evidence)
    rising = measure(claim_of(steepest={"metric": COSINE}, between=[0, 1]), "m", evidence)
    assert (falling.estimate, falling.low, falling.high) == (4.5 / 8, 4.5 / 8, 4.5 / 8)
    assert rising.estimate == 1.5 / 8
    assert falling.n_reviews == N_REVIEWS


class TestCorrelation:
    def test_pools_reviews_and_layers(self):
        x = noise(0, 1)
        y = x + noise(1, 1) + DEPTH
        x[0], y[1, 2] = np.nan, np.nan
        evidence = evidence_of(metric_rows(x, "max_explainable_variance"), metric_rows(y, NORM, "all_tokens"))
        found = measure(claim_of(correlation=WITH_NORM, above=0), "m", evidence)
        there = ~np.isnan(x + y)
        assert found.estimate == pytest.approx(stats.pearsonr(x[there], y[there]).statistic)
        assert found.n_reviews == N_REVIEWS - 1
        draws = []
        for weights in bootstrap_weights(N_REVIEWS - 1, DRAWS, SEED)[:300]:
            drawn = 1 + np.repeat(np.arange(N_REVIEWS - 1), np.rint(weights * (N_REVIEWS - 1)).astype(int))
            kept = there[drawn]
            draws.append(np.corrcoef(x[drawn][kept], y[drawn][kept])[0, 1])
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.03)

    def test_of_a_metric_with_itself_is_one(self):
        evidence = evidence_of(metric_rows(noise(0), NORM, "all_tokens"))
        found = measure(claim_of(correlation={"metric": NORM, "with_metric": NORM}, above=0), "m", evidence)
        assert (found.estimate, found.low, found.high) == pytest.approx((1, 1, 1))

    def test_of_a_constant_is_not_tested(self):
        evidence = evidence_of(
            metric_rows(noise(0), "max_explainable_variance"), metric_rows(np.ones((30, 9)), NORM, "all_tokens")
        )
        with pytest.raises(UnavailableError, match="the same everywhere"):
            measure(claim_of(correlation=WITH_NORM, above=0), "m", evidence)


class TestComponent:
    def measured(self, changes, largest, **more):
        component = {"metric": "cosine_anisotropy", "largest": largest}
        return measure(claim_of(component=component), "m", evidence_of(components=component_rows(changes), **more))

    @pytest.mark.parametrize("parallel", [False, True])
    def test_is_the_lead_of_the_smallest_named_over_the_largest_other(self, parallel):
        changes = component_changes(parallel)
        found = self.measured(changes, ["residual", "attention"])
        groups = {
            group: sum(changes[name] for name in names if name in changes).mean(axis=1)
            for group, names in COMPONENT_GROUPS.items()
        }

        def lead(weights):
            means = {group: np.average(values, weights=weights) for group, values in groups.items()}
            return min(means["residual"], means["attention"]) - max(means["feed_forward"], means["norm"])

        draws = [lead(weights) for weights in bootstrap_weights(N_REVIEWS, DRAWS, SEED)]
        expected = (lead(np.ones(N_REVIEWS)), *np.quantile(draws, [0.025, 0.975]))
        assert (found.estimate, found.low, found.high) == pytest.approx(expected, rel=1e-9)
        assert found.estimate == pytest.approx(0.15, abs=0.1)
        assert found.n_reviews == N_REVIEWS

    def test_undefined_changes_leave_a_block_out(self):
        changes = component_changes()
        changes["norm_2"][0, 3] = np.nan
        norm = np.nanmean(changes["norm_1"] + changes["norm_2"], axis=1).mean()  # the largest of the others
        residual = (changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        found = self.measured(changes, ["residual", "attention"])
        assert found.estimate == pytest.approx(min(residual, changes["attention"].mean()) - norm)

    def test_what_the_blocks_lack(self):
        changes = {name: change for name, change in component_changes().items() if not name.startswith("norm")}
        with pytest.raises(UnavailableError, match="no component 'norm'"):
            self.measured(changes, ["norm"])
        with pytest.raises(UnavailableError, match="no other component"):
            self.measured({"attention": changes["attention"]}, ["attention"])
