"""How a claim is judged: by its interval and its q, by the size of what it says, and how easily that turns."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.claims.verdicts import in_words
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, SUPPORTED, UNDECIDED
from library.statistics.shared import (
    MIN_REVIEWS,
    N_BLOCKS,
    N_REVIEWS,
    NORM,
    RANK,
    claim_of,
    component_changes,
    component_rows,
    evidence_of,
    judged,
    metric_rows,
    noise,
)


def verdict_of(evidence, **measured):
    return judged([claim_of(**measured)], evidence)["verdict"].item()


class TestVerdicts:
    @pytest.mark.parametrize(
        ("mean", "criterion", "verdict"),
        [
            (1, {"above": 0}, SUPPORTED),
            (-1, {"above": 0}, CONTRADICTED),
            (0, {"above": 0}, UNDECIDED),
            (1, {"above": 2}, CONTRADICTED),
            (-1, {"below": 0}, SUPPORTED),
            (1, {"below": 0}, CONTRADICTED),
            (0, {"below": 0}, UNDECIDED),
            (0.65, {"between": [0.6, 0.7]}, SUPPORTED),
            (0.8, {"between": [0.6, 0.7]}, CONTRADICTED),
            (0.5, {"between": [0.6, 0.7]}, CONTRADICTED),
            (0.6, {"between": [0.6, 0.7]}, UNDECIDED),
            (0.7, {"between": [0.6, 0.7]}, UNDECIDED),
        ],
    )
    def test_of_a_mean(self, mean, criterion, verdict):
        values = noise(0)
        values += mean - values.mean()
        evidence = evidence_of(metric_rows(values))
        assert verdict_of(evidence, level={"metric": RANK}, **criterion) == verdict

    @pytest.mark.parametrize(
        ("criterion", "verdict"),
        [
            # the step spans .5 to .625
            ({"above": 0.4}, SUPPORTED),
            ({"above": 0.5}, UNDECIDED),  # the bound does not belong to what is claimed
            ({"above": 0.5625}, UNDECIDED),
            ({"above": 0.625}, CONTRADICTED),
            ({"below": 0.63}, SUPPORTED),
            ({"below": 0.5}, CONTRADICTED),
            ({"between": [0.5, 0.625]}, SUPPORTED),  # here it does
            ({"between": [0.25, 0.5625]}, UNDECIDED),
            ({"between": [0.75, 1]}, CONTRADICTED),
        ],
    )
    def test_of_what_is_no_mean(self, criterion, verdict):
        profile = np.array([5, 5, 5, 5, 4, 1, 1, 1, 1.0])
        evidence = evidence_of(metric_rows(profile + noise(0, 0.01)))
        table = judged([claim_of(steepest={"metric": RANK}, **criterion)], evidence)
        assert table["verdict"].item() == verdict
        assert table.select("p_value", "p_max_t", "effect_size", "sample_size_80").row(0) == pytest.approx(
            [np.nan] * 4, nan_ok=True
        )

    def test_the_lead_of_a_component_decides_by_its_interval(self):
        evidence = evidence_of(components=component_rows(component_changes()))
        named = {"metric": "cosine_anisotropy", "largest": ["residual", "attention"]}
        assert verdict_of(evidence, component=named) == SUPPORTED
        named["largest"] = ["feed_forward"]
        assert verdict_of(evidence, component=named) == CONTRADICTED

    def test_an_interval_across_a_bound_decides_nothing(self):
        profile = np.array([4, 3, 3, 3, 3, 3, 3, 3, 2.0])  # as steep at the first block as at the last
        evidence = evidence_of(metric_rows(profile + noise(0, 0.5)))
        for criterion in ({"above": 0.5}, {"below": 0.5}, {"between": [0, 0.5]}):
            assert verdict_of(evidence, steepest={"metric": RANK}, **criterion) == UNDECIDED

    def test_one_review_decides_nothing(self):
        evidence = evidence_of(metric_rows(noise(0)[:1] + 9))
        table = judged([claim_of(level={"metric": RANK}, above=0)], evidence)
        row = table.row(0, named=True)
        assert (row["verdict"], row["n_reviews"], row["reason"]) == (UNDECIDED, 1, None)
        assert np.isnan([row["ci_low"], row["p_value"], row["p_max_t"]]).all()
        assert in_words(row) == "undecided: 9.02, n 1"


FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
RISE = np.linspace(0, 10, N_BLOCKS + 1)  # depth raises the metric by 10: the margin is .2


def changed(differences, **more):
    """Evidence in which each review's metric differs by one of `differences` at all layers."""
    original = RISE + noise(0)
    front = metric_rows(original + differences[:, None], variant="front")
    return evidence_of(metric_rows(original), front, **more)


def spread_evenly(mean, spread):
    return mean + spread * stats.norm.ppf((np.arange(N_REVIEWS) + 0.5) / N_REVIEWS)


def judged_contrast(evidence, **criterion):
    return judged([claim_of(contrast=FRONT_LESS_ORIGINAL, **criterion)], evidence).row(0, named=True)


class TestSizes:
    @pytest.mark.parametrize(
        ("mean", "spread", "verdict"),
        [
            (0.1, 0.02, NEGLIGIBLE),  # significant, and within the margin
            (-0.1, 0.02, NEGLIGIBLE),
            (0.0, 0.02, NEGLIGIBLE),
            (0.3, 0.02, SUPPORTED),
            (0.2, 0.1, SUPPORTED),  # across the margin: a direction, without a bound on the size
            (-0.3, 0.02, CONTRADICTED),
            (0.1, 2.0, UNDECIDED),
        ],
    )
    def test_a_difference_within_the_margin_is_negligible(self, mean, spread, verdict):
        row = judged_contrast(changed(spread_evenly(mean, spread)), above=0)
        assert row["verdict"] == verdict
        assert row["depth_range"] == pytest.approx(10, abs=0.2)
        assert row["relative_effect"] == pytest.approx(row["estimate"] / row["depth_range"])
        assert (row["p_max_t"] < 0.05) == (mean != 0 and verdict != UNDECIDED)

    def test_a_claim_that_names_a_size_is_judged_by_it(self):
        evidence = changed(spread_evenly(0.1, 0.02))
        assert judged_contrast(evidence, above=0.01)["verdict"] == SUPPORTED
        assert judged_contrast(evidence, above=0.15)["verdict"] == CONTRADICTED

    def test_where_depth_does_less_than_reviews_differ_the_margin_is_a_share_of_that(self):
        """A range of .01 would make .001 notable among reviews that lie 1 apart; the margin is .02 of 1."""
        own = np.linspace(-1.7, 1.7, N_REVIEWS)[:, None]
        own /= own.std(ddof=1)
        original = own + 0.001 * RISE
        evidence = evidence_of(
            metric_rows(original), metric_rows(original + spread_evenly(0.005, 0.002)[:, None], variant="front")
        )
        row = judged_contrast(evidence, above=0)
        assert (row["depth_range"], row["review_sd"]) == pytest.approx((0.01, 1))
        assert row["relative_effect"] == pytest.approx(0.5)  # of little
        assert row["verdict"] == NEGLIGIBLE
        large = metric_rows(original + spread_evenly(0.03, 0.002)[:, None], variant="front")
        assert judged_contrast(evidence_of(metric_rows(original), large), above=0)["verdict"] == SUPPORTED

    def test_without_a_margin_nothing_is_negligible(self):
        evidence = changed(spread_evenly(0.1, 0.02), margin=0.0)
        assert judged_contrast(evidence, above=0)["verdict"] == SUPPORTED

    def test_a_slope_is_a_share_of_what_depth_does_and_a_level_is_none(self):
        evidence = changed(spread_evenly(0, 1))
        slope = judged([claim_of(slope={"metric": RANK}, above=0)], evidence).row(0, named=True)
        assert slope["relative_effect"] == pytest.approx(1, abs=0.02)
        level = judged([claim_of(level={"metric": RANK}, above=0)], evidence).row(0, named=True)
        assert np.isnan([level["depth_range"], level["relative_effect"]]).all()


def openings(changed):
    """First tokens of originals and of `front`; that of the first `changed` reviews is another there."""
    parts = [
        pl.DataFrame(
            {"model": "m", "variant": variant, "review_id": [f"r{number:03d}" for number in range(N_REVIEWS)]}
        ).with_columns(first_token=pl.Series([7 if number >= other else 8 for number in range(N_REVIEWS)]))
        for variant, other in (("original", 0), ("front", changed))
    ]
    return pl.concat(parts)


class TestFirstToken:
    """As in Qwen, which begins texts with no token of its own: another first word moves a review more than the rest."""

    def judged(self, n_changed, differences=None, by_first=True):
        if differences is None:
            differences = spread_evenly(0.01, 0.02)
            differences[:n_changed] += 3 * np.resize([1, -1], n_changed)
        opened = openings(n_changed) if by_first else None
        return judged_contrast(changed(differences, opening_tokens=opened), above=0)

    def test_undecided_by_a_few_and_negligible_where_it_stays(self):
        row = self.judged(16)
        assert (row["verdict"], row["verdict_same_first"], row["first_decides"]) == (UNDECIDED, NEGLIGIBLE, True)
        assert row["n_same_first"] == N_REVIEWS - 16
        assert row["same_first"] == pytest.approx(spread_evenly(0.01, 0.02)[16:].mean())
        assert row["same_first_low"] < row["same_first"] < row["same_first_high"] < 0.2

    def test_where_it_stays_everywhere_nothing_is_added(self):
        row = self.judged(0)
        assert [row[f"same_first{end}"] for end in ("", "_low", "_high")] == [
            row[name] for name in ("estimate", "ci_low", "ci_high")
        ]
        assert (row["n_same_first"], row["first_decides"]) == (N_REVIEWS, False)
        assert "first token" not in in_words(row)

    def test_too_few_have_no_numbers(self):
        row = self.judged(N_REVIEWS - MIN_REVIEWS + 1)
        assert (row["n_same_first"], row["verdict_same_first"]) == (MIN_REVIEWS - 1, None)
        assert np.isnan(row["same_first"])
        assert "the first token stays in 9, too few" in in_words(row)

    def test_verdicts_that_agree_are_not_told_twice(self):
        row = self.judged(16, spread_evenly(0.5, 0.1))
        assert (row["verdict"], row["verdict_same_first"], row["first_decides"]) == (SUPPORTED, SUPPORTED, False)
        assert "first token" not in in_words(row)

    def test_without_the_table_it_is_not_known(self):
        row = self.judged(16, by_first=False)
        assert (row["n_same_first"], row["verdict_same_first"]) == (None, None)

    def test_all_other_numbers_are_those_without_it(self):
        one, other = self.judged(16), self.judged(16, by_first=False)
        own = {name for name in one if "first" in name}
        assert {name: one[name] for name in one.keys() - own} == pytest.approx(
            {name: other[name] for name in one.keys() - own}, nan_ok=True
        )


class TestFragile:
    def test_what_a_few_reviews_carry(self):
        differences = spread_evenly(0, 0.02)
        differences[-9:] += np.linspace(2, 20, 9)
        row = judged_contrast(changed(differences), above=0)
        assert (row["verdict"], row["fragile"]) == (SUPPORTED, True)
        assert "by the Hodges-Lehmann estimate it is undecided" in row["why_fragile"]
        assert row["robust_low"] <= row["robust"] <= row["robust_high"]
        assert row["kept"] < row["estimate"]

    def test_what_all_reviews_carry(self):
        row = judged_contrast(changed(spread_evenly(0.5, 0.3)), above=0)
        assert (row["verdict"], row["fragile"], row["why_fragile"]) == (SUPPORTED, False, None)
        assert row["robust"] == pytest.approx(0.5, abs=0.01)

    def test_an_undecided_claim_has_nothing_to_turn(self):
        differences = spread_evenly(0.5, 0.3)
        differences[0] -= 60
        row = judged_contrast(changed(differences), above=0)
        assert (row["verdict"], row["fragile"]) == (UNDECIDED, False)
        assert row["robust_low"] > 0.2

    def test_p_decides_where_it_says_less_than_the_interval(self):
        """At the output alone it would be a finding; it is the one layer of nine that happens to differ."""
        original = RISE + noise(0)
        differences = spread_evenly(0, 1)[:, None] * np.random.default_rng(1).choice([-1, 1], (N_REVIEWS, N_BLOCKS + 1))
        differences -= differences.mean(axis=0)
        differences[:, -1] += 2.3 * differences[:, -1].std(ddof=1) / np.sqrt(N_REVIEWS)
        evidence = evidence_of(metric_rows(original), metric_rows(original + differences, variant="front"))
        row = judged([claim_of(contrast=FRONT_LESS_ORIGINAL | {"layers": "output"}, above=0)], evidence).row(
            0, named=True
        )
        assert row["ci_low"] > 0
        assert row["p_value"] < 0.05 < row["p_max_t"]
        assert (row["verdict"], row["p_decides"]) == (UNDECIDED, True)


class TestCorrelations:
    claim = claim_of(correlation={"metric": "max_explainable_variance", "with_metric": NORM}, above=0.5)

    def verdict(self, mev, bare, norm):
        rows = [metric_rows(norm, NORM, "all_tokens")]
        rows += [metric_rows(mev, "max_explainable_variance")]
        rows += [metric_rows(bare, "max_explainable_variance", "raw_without_first")]
        return judged([self.claim], evidence_of(*rows)).row(0, named=True)

    def test_a_trend_over_depth_is_no_correlation(self):
        row = self.verdict(RISE + noise(0), RISE + noise(1), RISE + noise(2))
        assert row["verdict"] == CONTRADICTED
        assert abs(row["estimate"]) < 0.2

    def test_what_holds_without_the_first_token_too_is_not_about_it(self):
        length = noise(0, 1)
        row = self.verdict(length + noise(1), length + noise(2), length + noise(3))
        assert row["ci_low"] > 0.5
        assert row["verdict"] in (CONTRADICTED, UNDECIDED)
        assert row["without_first"] == pytest.approx(row["estimate"], abs=0.02)

    def test_what_the_first_token_brings(self):
        length = noise(0, 1)
        row = self.verdict(length + noise(1), noise(2, 1), length + noise(3))
        assert row["verdict"] == SUPPORTED
        assert 0 < row["beyond_low"] < row["estimate"] - row["without_first"] < row["beyond_high"]
        assert not row["fragile"]
