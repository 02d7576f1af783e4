import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.config.claims import STATISTICS, Claim
from homogenization.run.parquet import write_table
from homogenization.statistics.claims import (
    CLAIMS_SCHEMA,
    CONTRADICTED,
    NOT_TESTED,
    SUPPORTED,
    UNDECIDED,
    claims_table,
    in_words,
    verdicts_table,
)
from homogenization.statistics.evidence import CLAIM_STATISTICS, COMPONENT_GROUPS, Study, UnavailableError, measure
from homogenization.statistics.resampling import bootstrap_weights, mean_interval
from homogenization.tables.components import COMPONENTS_SCHEMA
from homogenization.tables.metrics import METRICS_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA

ROOT = Path(__file__).parents[3]
N_REVIEWS, N_BLOCKS = 30, 8
DEPTH = np.arange(N_BLOCKS + 1) / N_BLOCKS
RANK, COSINE, NORM = "normalized_effective_rank", "cosine_anisotropy", "first_token_norm"
FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
WITH_NORM = {"metric": "max_explainable_variance", "with_metric": NORM}
DRAWS, CONFIDENCE, SEED = 2000, 0.95, 0


def noise(seed, scale=0.1):
    return scale * np.random.default_rng(seed).standard_normal((N_REVIEWS, N_BLOCKS + 1))


def metric_rows(values, metric=RANK, view="raw", variant="original", model="m", point="residual_stream"):
    """Rows of tables/metrics.parquet from (reviews, layers) values."""
    review, layer = (index.ravel() for index in np.indices(values.shape))
    columns = {
        "model": model,
        "variant": variant,
        "review_id": [f"r{number:03d}" for number in review],
        "point": point,
        "layer": layer,
        "depth": layer / N_BLOCKS,
        "view": view,
        "metric": metric,
        "value": values.ravel(),
    }
    return pl.DataFrame(columns, schema=METRICS_SCHEMA)


def similarity_rows(f1, variant="front", analysed=True):
    columns = {"variant": variant, "review_id": [f"r{number:03d}" for number in range(len(f1))], "f1": f1}
    scores = pl.DataFrame(columns).with_columns(precision="f1", recall="f1", accepted=analysed, analysed=analysed)
    return scores.select(*SIMILARITY_SCHEMA).cast(SIMILARITY_SCHEMA)


def component_rows(changes, metric="cosine_anisotropy", view="all_tokens", model="m", variant="original"):
    """Rows of tables/components.parquet from {component: (reviews, blocks) changes}."""
    parts = []
    for component, of_component in changes.items():
        review, block = (index.ravel() for index in np.indices(of_component.shape))
        columns = {
            "model": model,
            "variant": variant,
            "review_id": [f"r{number:03d}" for number in review],
            "layer": block + 1,
            "depth": (block + 1) / of_component.shape[1],
            "component": component,
            "view": view,
            "metric": metric,
            "before": 0.0,
            "after": of_component.ravel(),
            "change": of_component.ravel(),
        }
        parts.append(pl.DataFrame(columns, schema=COMPONENTS_SCHEMA))
    return pl.concat(parts)


def study_of(*metrics, similarity=None, components=None, draws=DRAWS):
    table = pl.concat([pl.DataFrame(schema=METRICS_SCHEMA), *metrics])
    scores = pl.DataFrame(schema=SIMILARITY_SCHEMA) if similarity is None else similarity
    return Study(table, scores, components, draws, CONFIDENCE, SEED)


def claim_of(name="c", statement="It is so.", source="s", **measured):
    """A claim as the configuration gives it."""
    return Claim(claim=name, statement=statement, source=source, **measured).as_params()


def judged(claims, study, models=("m",)):
    return claims_table(claims, models, study)


def verdict_of(study, **measured):
    return judged([claim_of(**measured)], study)["verdict"].item()


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
        found = measure(claim_of(level={"metric": RANK, "layers": layers}, above=0), "m", study_of(metric_rows(values)))
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
        found = measure(claim_of(level=level, above=0), "m", study_of(wanted, *others))
        assert found.estimate == pytest.approx((noise(0) + 1).mean())

    def test_undefined_values_are_left_out(self):
        values = noise(0) + 1
        values[0], values[1, :4] = np.nan, np.nan
        found = measure(claim_of(level={"metric": RANK}, above=0), "m", study_of(metric_rows(values)))
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
        study = study_of(rows.sample(fraction=1, shuffle=True, seed=0))
        found = measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", study)
        by_review = np.nanmean(np.delete(front - original, [0, 1, 5], axis=0), axis=1)
        np.testing.assert_allclose(found.values, by_review)

    def test_without_a_review_in_both(self):
        front = metric_rows(noise(0), variant="front").with_columns(pl.lit("elsewhere").alias("review_id"))
        with pytest.raises(UnavailableError, match="in both 'front' and 'original'"):
            measure(claim_of(contrast=FRONT_LESS_ORIGINAL, above=0), "m", study_of(front, metric_rows(noise(1))))


def test_slope_is_that_of_scipy():
    values = noise(0) + 3 * DEPTH
    values[0, 4] = np.nan
    found = measure(claim_of(slope={"metric": RANK}, above=0), "m", study_of(metric_rows(values)))
    expected = [stats.linregress(DEPTH[~np.isnan(row)], row[~np.isnan(row)]).slope for row in values]
    np.testing.assert_allclose(found.values, expected)


def test_steepest_follows_homogenization_and_not_the_size_of_the_change():
    profile = np.array([0, 0, 5, 5, 4, 2, 2, 2, 2.0])  # the rank rises most at block 2, falls most at block 5
    study = study_of(metric_rows(profile + noise(0, 0.01)), metric_rows(profile + noise(1, 0.01), COSINE, "all_tokens"))
    falling = measure(claim_of(steepest={"metric": RANK}, between=[0, 1]), "m", study)
    rising = measure(claim_of(steepest={"metric": COSINE}, between=[0, 1]), "m", study)
    assert (falling.estimate, falling.low, falling.high) == (4.5 / 8, 4.5 / 8, 4.5 / 8)
    assert rising.estimate == 1.5 / 8
    assert falling.n_reviews == N_REVIEWS


class TestCorrelation:
    def test_pools_reviews_and_layers(self):
        x = noise(0, 1)
        y = x + noise(1, 1) + DEPTH
        x[0], y[1, 2] = np.nan, np.nan
        study = study_of(metric_rows(x, "max_explainable_variance"), metric_rows(y, NORM, "all_tokens"))
        found = measure(claim_of(correlation=WITH_NORM, above=0), "m", study)
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
        study = study_of(metric_rows(noise(0), NORM, "all_tokens"))
        found = measure(claim_of(correlation={"metric": NORM, "with_metric": NORM}, above=0), "m", study)
        assert (found.estimate, found.low, found.high) == pytest.approx((1, 1, 1))

    def test_of_a_constant_is_not_tested(self):
        study = study_of(
            metric_rows(noise(0), "max_explainable_variance"), metric_rows(np.ones((30, 9)), NORM, "all_tokens")
        )
        with pytest.raises(UnavailableError, match="the same everywhere"):
            measure(claim_of(correlation=WITH_NORM, above=0), "m", study)


class TestComponent:
    def changes(self, parallel=False):
        generator = np.random.default_rng(0)
        means = {"attention": 0.5, "feed_forward": -0.1, "norm_1": 0.1, "norm_2": 0.15}
        means |= {"addition": 0.4} if parallel else {"attention_addition": 0.1, "feed_forward_addition": 0.3}
        return {name: mean + 0.2 * generator.standard_normal((N_REVIEWS, N_BLOCKS)) for name, mean in means.items()}

    def measured(self, changes, largest, **more):
        component = {"metric": "cosine_anisotropy", "largest": largest}
        return measure(claim_of(component=component), "m", study_of(components=component_rows(changes), **more))

    @pytest.mark.parametrize("parallel", [False, True])
    def test_is_the_lead_of_the_smallest_named_over_the_largest_other(self, parallel):
        changes = self.changes(parallel)
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

    def test_decides_by_its_interval(self):
        study = study_of(components=component_rows(self.changes()))
        named = {"metric": "cosine_anisotropy", "largest": ["residual", "attention"]}
        assert verdict_of(study, component=named) == SUPPORTED
        named["largest"] = ["feed_forward"]
        assert verdict_of(study, component=named) == CONTRADICTED

    def test_undefined_changes_leave_a_block_out(self):
        changes = self.changes()
        changes["norm_2"][0, 3] = np.nan
        norm = np.nanmean(changes["norm_1"] + changes["norm_2"], axis=1).mean()  # the largest of the others
        residual = (changes["attention_addition"] + changes["feed_forward_addition"]).mean()
        found = self.measured(changes, ["residual", "attention"])
        assert found.estimate == pytest.approx(min(residual, changes["attention"].mean()) - norm)

    def test_what_the_blocks_lack(self):
        changes = {name: change for name, change in self.changes().items() if not name.startswith("norm")}
        with pytest.raises(UnavailableError, match="no component 'norm'"):
            self.measured(changes, ["norm"])
        with pytest.raises(UnavailableError, match="no other component"):
            self.measured({"attention": changes["attention"]}, ["attention"])


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
        study = study_of(metric_rows(values))
        assert verdict_of(study, level={"metric": RANK}, **criterion) == verdict

    @pytest.mark.parametrize(
        ("criterion", "verdict"),
        [
            ({"above": 0.5}, SUPPORTED),
            ({"above": 0.5625}, CONTRADICTED),  # the bound does not belong to what is claimed
            ({"above": 0.6}, CONTRADICTED),
            ({"below": 0.6}, SUPPORTED),
            ({"below": 0.5625}, CONTRADICTED),
            ({"between": [0.25, 0.75]}, SUPPORTED),
            ({"between": [0.25, 0.5625]}, SUPPORTED),  # here it does
            ({"between": [0.75, 1]}, CONTRADICTED),
        ],
    )
    def test_of_what_is_no_mean(self, criterion, verdict):
        profile = np.array([5, 5, 5, 5, 4, 1, 1, 1, 1.0])
        study = study_of(metric_rows(profile + noise(0, 0.01)))
        table = judged([claim_of(steepest={"metric": RANK}, **criterion)], study)
        assert table["verdict"].item() == verdict
        assert table.select("p_value", "q_value", "effect_size", "n_80").row(0) == pytest.approx(
            [np.nan] * 4, nan_ok=True
        )

    def test_an_interval_across_a_bound_decides_nothing(self):
        profile = np.array([4, 3, 3, 3, 3, 3, 3, 3, 2.0])  # as steep at the first block as at the last
        study = study_of(metric_rows(profile + noise(0, 0.5)))
        for criterion in ({"above": 0.5}, {"below": 0.5}, {"between": [0, 0.5]}):
            assert verdict_of(study, steepest={"metric": RANK}, **criterion) == UNDECIDED

    def test_one_review_decides_nothing(self):
        study = study_of(metric_rows(noise(0)[:1] + 9))
        table = judged([claim_of(level={"metric": RANK}, above=0)], study)
        row = table.row(0, named=True)
        assert (row["verdict"], row["n_reviews"], row["reason"]) == (UNDECIDED, 1, None)
        assert np.isnan([row["ci_low"], row["p_value"], row["q_value"]]).all()
        assert in_words(row) == "undecided: 9.02, n 1"

    def decides_alone(self, study, shift):
        return verdict_of(study, level={"metric": RANK}, above=-shift) == SUPPORTED

    def test_a_significant_p_is_not_enough_where_there_are_many_tests(self):
        values = noise(0)
        study = study_of(metric_rows(values - values.mean()))
        alone = [shift for shift in np.arange(0, 0.1, 0.001) if self.decides_alone(study, shift)]
        shift = float(alone[0])
        many = [claim_of(f"n{number}", level={"metric": RANK}, above=0) for number in range(9)]
        table = judged([claim_of(level={"metric": RANK}, above=-shift), *many], study)
        first = table.row(0, named=True)
        assert first["p_value"] < 0.05 < first["q_value"]
        assert first["verdict"] == UNDECIDED


class TestNumbers:
    def test_p_is_exact_for_few_reviews(self):
        values = noise(4, 1)[:9]
        study = study_of(metric_rows(values))
        row = judged([claim_of(level={"metric": RANK}, below=0.2)], study).row(0, named=True)
        by_review = values.mean(axis=1) - 0.2
        exact = stats.permutation_test(
            (by_review, np.zeros(9)), lambda x, y: (x - y).mean(), permutation_type="samples", n_resamples=np.inf
        )
        assert row["p_value"] == pytest.approx(exact.pvalue)
        assert 0.01 < row["p_value"] < 1

    def test_effect_size_and_power_are_of_the_distance_to_the_bound(self):
        values = noise(0)
        row = judged([claim_of(level={"metric": RANK}, above=-0.01)], study_of(metric_rows(values))).row(0, named=True)
        by_review = values.mean(axis=1) + 0.01
        effect = by_review.mean() / by_review.std(ddof=1)
        assert row["effect_size"] == pytest.approx(effect)

        def power(n):
            critical = stats.t.ppf(0.975, n - 1)
            return stats.nct.sf(critical, n - 1, abs(effect) * n**0.5)

        assert power(row["n_80"]) >= 0.8 - 1e-6
        assert power(row["n_80"] - 1) < 0.8

    def test_q_is_that_of_scipy_over_the_tested_rows_alone(self):
        study = study_of(
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
        table = judged(claims, study, ["a", "b"])
        tested = table.filter(pl.col("p_value").is_not_nan())
        assert tested["claim"].to_list() == ["level", "level", "slope", "slope", "similar"]
        expected = stats.false_discovery_control(tested["p_value"].to_numpy())
        np.testing.assert_allclose(tested["q_value"], expected)
        assert table.filter(pl.col("p_value").is_nan())["q_value"].is_nan().all()

    def test_similarity_is_of_all_reviews_and_of_no_model(self):
        f1 = 0.9 + noise(0)[:, 0]
        similarity = similarity_rows(f1).with_columns(pl.Series("analysed", np.arange(N_REVIEWS) < 20))
        study = study_of(metric_rows(noise(1)), similarity=similarity)
        claims = [claim_of(similarity={"variant": "front"}, above=0.5)]
        row = judged(claims, study, ["a", "b"]).row(0, named=True)
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
            ({"correlation": {"metric": RANK, "with_metric": "schatten_2"}, "above": 0}, "at the same layer"),
            ({"component": {"metric": "cosine_anisotropy", "largest": ["norm"]}}, "takes no blocks apart"),
            ({"similarity": {"variant": "end"}, "above": 0}, "no similarity of a variant 'end'"),
        ],
    )
    def test_says_what_is_missing(self, measured, reason):
        first = metric_rows(noise(0)).filter(pl.col("layer") == 0)
        study = study_of(
            first,
            metric_rows(noise(1), "schatten_2").filter(pl.col("layer") == 1),
            metric_rows(np.full((N_REVIEWS, N_BLOCKS + 1), np.nan), "schatten_1"),
            metric_rows(np.ones((N_REVIEWS, N_BLOCKS + 1)), NORM, "all_tokens").filter(pl.col("layer") > 0),
        )
        row = judged([claim_of(**measured)], study).row(0, named=True)
        assert row["verdict"] == NOT_TESTED
        assert reason in row["reason"]
        assert row["n_reviews"] == 0
        assert np.isnan([row[name] for name in ("estimate", "ci_low", "ci_high", "p_value", "q_value")]).all()

    def test_a_model_whose_blocks_were_not_taken_apart(self):
        components = component_rows({"attention": noise(0), "norm_1": noise(1)}, model="a")
        study = study_of(components=components)
        claims = [claim_of(component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        table = judged(claims, study, ["a", "b"])
        assert table["reason"].is_null().to_list() == [True, False]
        assert "no blocks of this model" in table["reason"][1]


class TestTables:
    study = study_of(
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
        table = judged(self.claims, self.study, ["b", "a"])
        assert dict(table.schema) == CLAIMS_SCHEMA
        keys = [("positive", "b"), ("positive", "a"), ("similar", None), ("moved", "b"), ("moved", "a")]
        assert table.select("claim", "model").rows() == keys
        assert table["criterion"].to_list() == ["> 0", "> 0", "> 0.89", "< 0", "< 0"]
        assert table["statistic"].unique(maintain_order=True).to_list() == ["level", "similarity", "contrast"]
        assert table["published"].to_list() == ["> 0", "> 0", None, None, None]

    def test_order_of_rows_and_models_does_not_matter(self):
        shuffled = Study(
            self.study.metrics.sample(fraction=1, shuffle=True, seed=0),
            self.study.similarity.sample(fraction=1, shuffle=True, seed=0),
            None,
            DRAWS,
            CONFIDENCE,
            SEED,
        )
        table = judged(self.claims, self.study, ["a", "b"])
        again = judged(self.claims, shuffled, ["b", "a"])
        assert again.sort("claim", "model").equals(table.sort("claim", "model"))

    def test_no_claims(self):
        table = judged([], self.study)
        assert dict(table.schema) == CLAIMS_SCHEMA
        assert verdicts_table(table, ["a"]).columns == ["statement", "source", "criterion", "a"]

    def test_verdicts_have_a_column_for_each_model(self):
        table = verdicts_table(judged(self.claims, self.study, ["a", "b"]), ["b", "a"])
        assert table.columns == ["statement", "source", "criterion", "b", "a"]
        assert [text.partition(":")[0] for text in table["b"]] == [CONTRADICTED, SUPPORTED, NOT_TESTED]
        assert [text.partition(":")[0] for text in table["a"]] == [SUPPORTED, SUPPORTED, NOT_TESTED]
        assert table["b"][1] == table["a"][1]
        assert table["a"][2] == "not tested: the study has no variant 'front'"

    @pytest.mark.parametrize(
        ("numbers", "words"),
        [
            ((-0.0123456, -0.015, -0.009, 0.000312), "supported: −0.0123 [−0.015, −0.009], n 499, q .00031"),
            ((0.65, 0.6, 0.701, np.nan), "supported: 0.65 [0.6, 0.701], n 499"),
            ((1234567.0, 1e-5, 2.34567e7, 1.0), "supported: 1.23e6 [1e−5, 2.35e7], n 499, q 1"),
            ((0.0, -1.5e-10, 0.0, 1e-9), "supported: 0 [−1.5e−10, 0], n 499, q < .0001"),
            ((100.0, 99.9, 100.1, 0.5), "supported: 100 [99.9, 100], n 499, q .5"),
        ],
    )
    def test_in_words(self, numbers, words):
        row = dict(zip(("estimate", "ci_low", "ci_high", "q_value"), numbers, strict=True))
        assert in_words(row | {"verdict": SUPPORTED, "n_reviews": 499, "reason": None}) == words

    @pytest.mark.parametrize("apart", [True, False])
    def test_the_script_writes_both(self, tmp_path, apart):
        path = ROOT / "workflow" / "scripts" / "judge_claims.py"
        spec = importlib.util.spec_from_file_location("judge_claims", path)
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        components = component_rows({"attention": noise(3) + 1, "norm_1": noise(4)}, model="a") if apart else None
        study = Study(self.study.metrics, self.study.similarity, components, DRAWS, CONFIDENCE, SEED)
        paths = {name: str(tmp_path / f"{name}.parquet") for name in ("metrics", "similarity")}
        for name, written in paths.items():
            write_table(getattr(study, name), written)
        if apart:
            write_table(components, tmp_path / "components.parquet")
        claims = [*self.claims, claim_of("lead", component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        script.main(
            **paths,
            components=str(tmp_path / "components.parquet") if apart else [],
            claims_csv=str(tmp_path / "claims.csv"),
            verdicts_csv=str(tmp_path / "verdicts.csv"),
            claims=claims,
            models=["a", "b"],
            draws=DRAWS,
            confidence=CONFIDENCE,
            seed=SEED,
        )
        expected = judged(claims, study, ["a", "b"])
        assert expected.filter(claim="lead")["verdict"][0] == (SUPPORTED if apart else NOT_TESTED)
        assert pl.read_csv(tmp_path / "claims.csv", schema_overrides=CLAIMS_SCHEMA).equals(expected)
        verdicts = pl.read_csv(tmp_path / "verdicts.csv", infer_schema=False)
        assert verdicts.equals(verdicts_table(expected, ["a", "b"]))
