import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.run.parquet import write_table
from homogenization.statistics.answers import answers_table
from homogenization.statistics.claims import CLAIMS_SCHEMA, claims_table
from homogenization.statistics.verdicts import (
    CONTRADICTED,
    NEGLIGIBLE,
    NOT_TESTED,
    SUPPORTED,
    UNDECIDED,
    in_words,
    verdicts_table,
)
from homogenization.tables.pooled import POOLED_METRICS_SCHEMA
from library.statistics.shared import (
    CONFIDENCE,
    COSINE,
    DRAWS,
    MARGIN,
    MIN_REVIEWS,
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
    run_tabulate,
    similarity_rows,
)


def judged(claims, evidence, models=("m",)):
    return claims_table(claims, models, evidence)


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
        assert table.select("p_value", "q_value", "effect_size", "n_80").row(0) == pytest.approx(
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
        assert np.isnan([row["ci_low"], row["p_value"], row["q_value"]]).all()
        assert in_words(row) == "undecided: 9.02, n 1"

    def decides_alone(self, evidence, shift):
        return verdict_of(evidence, level={"metric": RANK}, above=-shift) == SUPPORTED

    def test_a_significant_p_is_not_enough_where_there_are_many_tests(self):
        values = noise(0)
        evidence = evidence_of(metric_rows(values - values.mean()))
        alone = [shift for shift in np.arange(0, 0.1, 0.001) if self.decides_alone(evidence, shift)]
        shift = float(alone[0])
        many = [claim_of(f"n{number}", level={"metric": RANK}, above=0) for number in range(9)]
        table = judged([claim_of(level={"metric": RANK}, above=-shift), *many], evidence)
        first = table.row(0, named=True)
        assert first["p_value"] < 0.05 < first["q_value"]
        assert first["verdict"] == UNDECIDED


FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
RISE = np.linspace(0, 10, N_BLOCKS + 1)  # depth raises the metric by 10: the margin is .2


def changed(differences):
    """Evidence in which each review's metric differs by one of `differences` at all layers."""
    original = RISE + noise(0)
    return evidence_of(metric_rows(original), metric_rows(original + differences[:, None], variant="front"))


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
        assert row["share_of_depth"] == pytest.approx(row["estimate"] / row["depth_range"])
        assert (row["q_value"] < 0.05) == (mean != 0 and verdict != UNDECIDED)

    def test_a_claim_that_names_a_size_is_judged_by_it(self):
        evidence = changed(spread_evenly(0.1, 0.02))
        assert judged_contrast(evidence, above=0.01)["verdict"] == SUPPORTED
        assert judged_contrast(evidence, above=0.15)["verdict"] == CONTRADICTED

    def test_without_a_margin_nothing_is_negligible(self):
        evidence = replace(changed(spread_evenly(0.1, 0.02)), margin=0.0)
        assert judged_contrast(evidence, above=0)["verdict"] == SUPPORTED

    def test_a_slope_is_a_share_of_what_depth_does_and_a_level_is_none(self):
        evidence = changed(spread_evenly(0, 1))
        slope = judged([claim_of(slope={"metric": RANK}, above=0)], evidence).row(0, named=True)
        assert slope["share_of_depth"] == pytest.approx(1, abs=0.02)
        level = judged([claim_of(level={"metric": RANK}, above=0)], evidence).row(0, named=True)
        assert np.isnan([level["depth_range"], level["share_of_depth"]]).all()


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

    def test_q_decides_where_it_says_less_than_the_interval(self):
        values = noise(0) - noise(0).mean()
        least = -2.3 * values.mean(axis=1).std(ddof=1) / np.sqrt(N_REVIEWS)
        claims = [claim_of(f"m{number}", level={"metric": RANK}, above=0) for number in range(40)]
        first = claim_of(level={"metric": RANK}, above=least)
        row = judged([first, *claims], evidence_of(metric_rows(values))).row(0, named=True)
        assert row["ci_low"] > least
        assert (row["verdict"], row["q_decides"]) == (UNDECIDED, True)


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


class TestThesis:
    """Claims in the convention of the thesis, from the table of pooled tokens."""

    def pooled(self, heights, variant="original", output=None):
        """A pool for each height: a profile that peaks in the middle; the state after the final norm is `output`."""
        rows = []
        for shard, height in enumerate(heights):
            profile = height - np.abs(np.arange(N_BLOCKS + 1) - N_BLOCKS / 2) / N_BLOCKS
            for layer, value in enumerate(profile):
                rows.append((f"{shard:03d}", layer, "residual_stream", layer / N_BLOCKS, value))
            if output is not None:
                rows.append((f"{shard:03d}", N_BLOCKS, "final_norm", 1.0, output + 0.01 * shard))
        table = pl.DataFrame(rows, schema=["shard", "layer", "point", "depth", "value"], orient="row")
        named = {"model": "m", "variant": variant, "view": "pooled_centred", "metric": "max_explainable_variance"}
        table = table.with_columns(pl.lit(value).alias(name) for name, value in named.items())
        return table.select(*POOLED_METRICS_SCHEMA).cast(POOLED_METRICS_SCHEMA)

    def row(self, pooled, **measured):
        evidence = evidence_of(metric_rows(noise(0)), pooled=pooled)
        return judged([claim_of(convention="thesis", **measured)], evidence).row(0, named=True)

    def test_pools_are_replicates_with_students_interval(self):
        heights = np.array([0.84, 0.85, 0.86, 0.85])
        level = {"metric": "max_explainable_variance", "layers": "input"}
        row = self.row(self.pooled(heights), level=level, between=[0.3, 0.4])
        assert (row["claim"], row["convention"], row["unit"], row["n_reviews"]) == ("c-thesis", "thesis", "pools", 4)
        low, high = stats.t.interval(CONFIDENCE, 3, 0.35, stats.sem(heights))
        assert (row["estimate"], row["ci_low"], row["ci_high"]) == pytest.approx((0.35, low, high))
        assert row["verdict"] == SUPPORTED
        assert np.isnan([row["p_value"], row["robust"]]).all()

    def test_the_output_is_that_after_the_final_norm(self):
        level = {"metric": "max_explainable_variance", "layers": "output"}
        row = self.row(self.pooled([0.85, 0.86], output=0.2), level=level, above=0)
        assert row["estimate"] == pytest.approx(0.205)

    def test_a_peak_has_a_depth_and_a_height(self):
        pooled = self.pooled([0.84, 0.86], output=0.2)
        peak = {"metric": "max_explainable_variance"}
        depth = self.row(pooled, peak=peak, between=[0.25, 0.75])
        assert (depth["estimate"], depth["ci_low"], depth["ci_high"], depth["verdict"]) == (0.5, 0.5, 0.5, SUPPORTED)
        height = self.row(pooled, peak=peak | {"of": "height"}, between=[0.8, 0.9])
        assert (height["estimate"], height["ci_low"], height["ci_high"]) == pytest.approx((0.85, 0.84, 0.86))

    def test_a_contrast_is_paired_by_pool_and_a_share_of_the_pooled_depth(self):
        heights = np.array([0.8, 0.85, 0.9])
        pooled = pl.concat([self.pooled(heights), self.pooled(np.array([0.9, 0.96, 0.99]), "front")])
        evidence = evidence_of(metric_rows(noise(0)), metric_rows(noise(1), variant="front"), pooled=pooled)
        contrast = {"metric": "max_explainable_variance", "variant": "front", "minus": "original"}
        row = judged([claim_of(convention="thesis", contrast=contrast, above=0)], evidence).row(0, named=True)
        assert (row["estimate"], row["share_of_depth"]) == pytest.approx((0.1, 0.2))
        assert row["verdict"] == SUPPORTED

    @pytest.mark.parametrize(
        "measured",
        [
            {"level": {"metric": "max_explainable_variance"}, "above": 0},
            {"peak": {"metric": "max_explainable_variance"}, "between": [0.25, 0.75]},
            {"steepest": {"metric": "max_explainable_variance"}, "between": [0.25, 0.75]},
        ],
    )
    def test_one_pool_has_no_interval_and_decides_nothing(self, measured):
        row = self.row(self.pooled([0.85]), **measured)
        assert (row["verdict"], row["reason"]) == (UNDECIDED, "one pool of texts has no interval")
        assert np.isfinite(row["estimate"])
        assert np.isnan(row["ci_low"])

    def test_components_have_their_centred_view(self):
        evidence = evidence_of(components=component_rows(component_changes(), view="centred"))
        component = {"metric": "cosine_anisotropy", "largest": ["residual", "attention"]}
        row = judged([claim_of(convention="thesis", component=component)], evidence).row(0, named=True)
        assert (row["verdict"], row["unit"]) == (SUPPORTED, "reviews")
        assert judged([claim_of(component=component)], evidence)["verdict"].item() == NOT_TESTED

    def test_without_pooled_tokens(self):
        row = self.row(None, slope={"metric": "max_explainable_variance"}, above=0)
        assert (row["verdict"], row["reason"]) == (NOT_TESTED, "the study does not pool the tokens of its texts")


class TestNumbers:
    def test_p_is_exact_for_few_reviews(self):
        values = noise(4, 1)[:9]
        evidence = evidence_of(metric_rows(values))
        row = judged([claim_of(level={"metric": RANK}, below=0.2)], evidence).row(0, named=True)
        by_review = values.mean(axis=1) - 0.2
        exact = stats.permutation_test(
            (by_review, np.zeros(9)), lambda x, y: (x - y).mean(), permutation_type="samples", n_resamples=np.inf
        )
        assert row["p_value"] == pytest.approx(exact.pvalue)
        assert 0.01 < row["p_value"] < 1

    def test_effect_size_and_power_are_of_the_distance_to_the_bound(self):
        values = noise(0)
        row = judged([claim_of(level={"metric": RANK}, above=-0.01)], evidence_of(metric_rows(values))).row(
            0, named=True
        )
        by_review = values.mean(axis=1) + 0.01
        effect = by_review.mean() / by_review.std(ddof=1)
        assert row["effect_size"] == pytest.approx(effect)

        def power(n):
            critical = stats.t.ppf(0.975, n - 1)
            return stats.nct.sf(critical, n - 1, abs(effect) * n**0.5)

        assert power(row["n_80"]) >= 0.8 - 1e-6
        assert power(row["n_80"] - 1) < 0.8

    def test_q_is_that_of_scipy_over_the_tested_rows_alone(self):
        evidence = evidence_of(
            *(metric_rows(noise(seed) + 0.01 * seed, model=model) for seed, model in enumerate("ab")),
            similarity=similarity_rows(0.9 + noise(9)[:, 0]),
        )
        claims = [
            claim_of("level", level={"metric": RANK}, above=0),
            claim_of("slope", slope={"metric": RANK}, below=0),
            claim_of("range", level={"metric": RANK}, between=[0, 1]),
            claim_of("missing", level={"metric": RANK, "variant": "front"}, above=0),
            claim_of("similar", similarity={"variant": "front"}, above=0.89),
        ]
        table = judged(claims, evidence, ["a", "b"])
        tested = table.filter(pl.col("p_value").is_not_nan())
        assert tested["claim"].to_list() == ["level", "level", "slope", "slope", "similar"]
        expected = stats.false_discovery_control(tested["p_value"].to_numpy())
        np.testing.assert_allclose(tested["q_value"], expected)
        assert table.filter(pl.col("p_value").is_nan())["q_value"].is_nan().all()

    def test_similarity_is_of_all_reviews_and_of_no_model(self):
        f1 = 0.9 + noise(0)[:, 0]
        similarity = similarity_rows(f1).with_columns(pl.Series("accepted", np.arange(N_REVIEWS) < 20))
        evidence = evidence_of(metric_rows(noise(1)), similarity=similarity)
        claims = [claim_of(similarity={"variant": "front"}, above=0.5)]
        row = judged(claims, evidence, ["a", "b"]).row(0, named=True)
        assert (row["model"], row["n_reviews"]) == (None, N_REVIEWS)
        assert row["estimate"] == pytest.approx(f1.mean())


class TestNotTested:
    @pytest.mark.parametrize(
        ("measured", "reason"),
        [
            ({"level": {"metric": "alpha_req"}, "above": 0}, "no metric alpha_req"),
            ({"level": {"metric": RANK, "variant": "front"}, "above": 0}, "no variant 'front'"),
            ({"contrast": {"metric": RANK, "variant": "original", "minus": "end"}, "above": 0}, "no variant 'end'"),
            ({"slope": {"metric": RANK, "view": "unit"}, "above": 0}, f"no view 'unit' of {RANK}"),
            ({"level": {"metric": RANK, "point": "final_norm"}, "above": 0}, f"no values of {RANK} at final_norm"),
            ({"level": {"metric": NORM, "layers": "input"}, "above": 0}, f"no values of {NORM} at the layers 'input'"),
            ({"level": {"metric": "schatten_1"}, "above": 0}, "schatten_1 is undefined in every review"),
            ({"steepest": {"metric": NORM}, "above": 0}, f"{NORM} moves towards homogenization between no two layers"),
            ({"correlation": {"metric": RANK, "with_metric": "alpha_req"}, "above": 0}, "no metric alpha_req"),
            ({"correlation": {"metric": COSINE, "with_metric": "schatten_2"}, "above": 0}, "at the same layer"),
            ({"correlation": {"metric": RANK, "with_metric": NORM}, "above": 0}, "no view 'raw_without_first'"),
            (
                {"contrast": {"metric": RANK, "variant": "original", "minus": "key control"}, "above": 0},
                "no key control of",
            ),
            ({"component": {"metric": "cosine_anisotropy", "largest": ["norm"]}}, "takes no blocks apart"),
            ({"similarity": {"variant": "end"}, "above": 0}, "no similarity of a variant 'end'"),
        ],
    )
    def test_says_what_is_missing(self, measured, reason):
        first = metric_rows(noise(0)).filter(pl.col("layer") == 0)
        cosines = [metric_rows(noise(2), COSINE, view) for view in ("all_tokens", "without_first")]
        evidence = evidence_of(
            first,
            *(rows.filter(pl.col("layer") == 0) for rows in cosines),
            metric_rows(noise(1), "schatten_2").filter(pl.col("layer") == 1),
            metric_rows(np.full((N_REVIEWS, N_BLOCKS + 1), np.nan), "schatten_1"),
            metric_rows(np.ones((N_REVIEWS, N_BLOCKS + 1)), NORM, "all_tokens").filter(pl.col("layer") > 0),
        )
        row = judged([claim_of(**measured)], evidence).row(0, named=True)
        assert row["verdict"] == NOT_TESTED
        assert reason in row["reason"]
        assert row["n_reviews"] == 0
        assert np.isnan([row[name] for name in ("estimate", "ci_low", "ci_high", "p_value", "q_value")]).all()

    def test_a_model_whose_blocks_were_not_taken_apart(self):
        components = component_rows({"attention": noise(0), "norm_1": noise(1)}, model="a")
        evidence = evidence_of(components=components)
        claims = [claim_of(component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        table = judged(claims, evidence, ["a", "b"])
        assert table["reason"].is_null().to_list() == [True, False]
        assert "no blocks of this model" in table["reason"][1]

    @pytest.mark.parametrize(
        ("measured", "reason"),
        [
            (
                {"contrast": {"metric": RANK, "variant": "front", "minus": "original"}, "above": 0},
                "9 of 30 .* front;",
            ),
            (
                {"contrast": {"metric": RANK, "variant": "end", "minus": "front"}, "above": 0},
                "4 of 30 .* end and front",
            ),
            ({"slope": {"metric": RANK, "variant": "front"}, "above": 0}, "9 of 30 reviews accepted in front"),
            ({"level": {"metric": RANK, "variant": "lost"}, "above": 0}, "0 of 30 .* in lost; at least 10 are needed"),
            ({"contrast": {"metric": RANK, "variant": "end", "minus": "original"}, "above": 0}, None),
            ({"similarity": {"variant": "front"}, "above": 0}, None),
            ({"similarity": {"variant": "lost"}, "above": 0}, "no review was rewritten as 'lost'"),
            ({"level": {"metric": RANK}, "above": 0}, None),
        ],
    )
    def test_too_few_accepted_reviews(self, measured, reason):
        """9 reviews are accepted as front, 25 as end, 4 as both; none was rewritten as lost."""
        number = np.arange(N_REVIEWS)
        similarity = pl.concat(
            [
                similarity_rows(np.full(N_REVIEWS, 0.9), "front", pl.Series(number < 9)),
                similarity_rows(np.full(N_REVIEWS, 0.9), "end", pl.Series(number >= 5)),
            ]
        )
        metrics = [metric_rows(noise(n) + n, variant=name) for n, name in enumerate(("original", "front", "end"))]
        evidence = evidence_of(*metrics, similarity=similarity, variants=["original", "front", "end", "lost"])
        row = judged([claim_of(**measured)], evidence).row(0, named=True)
        assert (row["verdict"] == NOT_TESTED) == (reason is not None)
        if reason is not None:
            assert re.search(reason, row["reason"])
            assert np.isnan([row[name] for name in ("estimate", "ci_low", "p_value", "q_value")]).all()


class TestTables:
    evidence = evidence_of(
        metric_rows(noise(0) + 1, model="a"),
        metric_rows(noise(1) - 1, model="b"),
        similarity=similarity_rows(0.95 + 0.1 * noise(2)[:, 0]),
    )
    claims = (
        claim_of("positive", level={"metric": RANK}, above=0, published="> 0"),
        claim_of("similar", similarity={"variant": "front"}, above=0.89),
        claim_of("moved", contrast={"metric": RANK, "variant": "front", "minus": "original"}, below=0),
    )

    def test_schema_order_and_what_is_copied(self):
        table = judged(self.claims, self.evidence, ["b", "a"])
        assert dict(table.schema) == CLAIMS_SCHEMA
        keys = [("positive", "b"), ("positive", "a"), ("similar", None), ("moved", "b"), ("moved", "a")]
        assert table.select("claim", "model").rows() == keys
        assert table["criterion"].to_list() == ["> 0", "> 0", "> 0.89", "< 0", "< 0"]
        assert table["statistic"].unique(maintain_order=True).to_list() == ["level", "similarity", "contrast"]
        assert table["published"].to_list() == ["> 0", "> 0", None, None, None]

    def test_order_of_rows_and_models_does_not_matter(self):
        shuffled = replace(
            self.evidence,
            metrics=self.evidence.metrics.sample(fraction=1, shuffle=True, seed=0),
            similarity=self.evidence.similarity.sample(fraction=1, shuffle=True, seed=0),
        )
        table = judged(self.claims, self.evidence, ["a", "b"])
        again = judged(self.claims, shuffled, ["b", "a"])
        assert again.sort("claim", "model").equals(table.sort("claim", "model"))

    def test_no_claims(self):
        table = judged([], self.evidence)
        assert dict(table.schema) == CLAIMS_SCHEMA
        assert verdicts_table(table, ["a"]).columns == ["statement", "source", "criterion", "a"]

    def test_verdicts_have_a_column_for_each_model(self):
        table = verdicts_table(judged(self.claims, self.evidence, ["a", "b"]), ["b", "a"])
        assert table.columns == ["statement", "source", "criterion", "b", "a"]
        assert [text.partition(":")[0] for text in table["b"]] == [CONTRADICTED, SUPPORTED, NOT_TESTED]
        assert [text.partition(":")[0] for text in table["a"]] == [SUPPORTED, SUPPORTED, NOT_TESTED]
        assert table["b"][1] == table["a"][1]
        assert table["a"][2] == "not tested: the study has no variant 'front'"

    @pytest.mark.parametrize("apart", [True, False])
    def test_the_script_writes_all(self, tmp_path, apart):
        components = component_rows({"attention": noise(3) + 1, "norm_1": noise(4)}, model="a") if apart else None
        evidence = replace(self.evidence, components=components)
        paths = {name: str(tmp_path / f"{name}.parquet") for name in ("metrics", "similarity", "components")}
        for name, path in paths.items():
            if getattr(evidence, name) is not None:
                write_table(getattr(evidence, name), path)
        claims = [*self.claims, claim_of("lead", component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        run_tabulate(
            tmp_path,
            "statistics.claims",
            paths if apart else {**paths, "components": []},
            [tmp_path / f"{name}.csv" for name in ("claims", "verdicts", "answers")],
            claims=claims,
            models=["a", "b"],
            variants=evidence.variants,
            controls={},
            n_reviews=N_REVIEWS,
            min_reviews=MIN_REVIEWS,
            margin=MARGIN,
            draws=DRAWS,
            confidence=CONFIDENCE,
            seed=SEED,
        )
        expected = judged(claims, evidence, ["a", "b"])
        assert expected.filter(claim="lead")["verdict"][0] == (SUPPORTED if apart else NOT_TESTED)
        assert pl.read_csv(tmp_path / "claims.csv", schema_overrides=CLAIMS_SCHEMA).equals(expected)
        verdicts = pl.read_csv(tmp_path / "verdicts.csv", infer_schema=False)
        assert verdicts.equals(verdicts_table(expected, ["a", "b"]))
        answers = pl.read_csv(tmp_path / "answers.csv")
        assert answers.equals(answers_table(expected, ["a", "b"], {}, {}))
        assert "lead" in (tmp_path / "log").read_text()
