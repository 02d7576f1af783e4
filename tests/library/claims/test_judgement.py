"""How a claim is judged: by its interval and its p, and by the size of what it says."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.run.parquet import write_table
from library.statistics.shared import (
    CONFIDENCE,
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
    judged,
    judged_row,
    metric_rows,
    noise,
    run_tabulate,
    similarity_rows,
)
from measured import wide_of

FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
CHANGE = {"metric": RANK}
RISE = np.linspace(0, 10, N_BLOCKS + 1)  # depth raises the metric by 10: the margin is .2


def at_the_output(values):
    """(reviews, layers) that are 0 but at the output: the net change of a review is its value there."""
    return np.column_stack([np.zeros((len(values), N_BLOCKS)), values])


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
        values = noise(0)[:, 0]
        evidence = evidence_of(metric_rows(at_the_output(values + mean - values.mean())))
        assert judged_row(evidence, net_change=CHANGE, **criterion)["verdict"] == verdict

    @pytest.mark.parametrize(
        ("criterion", "verdict"),
        [
            # the step spans .5 to .625
            ({"above": 0.4}, SUPPORTED),
            ({"above": 0.5}, UNDECIDED),  # the bound does not belong to what is claimed
            ({"above": 0.5625}, UNDECIDED),
            ({"above": 0.625}, CONTRADICTED),
            ({"below": 0.63}, SUPPORTED),
            ({"below": 0.5625}, UNDECIDED),
            ({"below": 0.5}, CONTRADICTED),
            ({"between": [0.5, 0.625]}, SUPPORTED),  # here it does
            ({"between": [0.25, 0.5625]}, UNDECIDED),
            ({"between": [0.75, 1]}, CONTRADICTED),
        ],
    )
    def test_of_what_is_no_mean(self, criterion, verdict):
        profile = np.array([5, 5, 5, 5, 4, 1, 1, 1, 1.0])
        row = judged_row(evidence_of(metric_rows(profile + noise(0, 0.01))), steepest={"metric": RANK}, **criterion)
        assert row["verdict"] == verdict
        assert np.isnan([row[name] for name in ("p_value", "p_max_t")]).all()

    @pytest.mark.parametrize(
        ("largest", "verdict"), [(["residual", "attention"], SUPPORTED), (["feed_forward"], CONTRADICTED)]
    )
    def test_the_lead_of_a_component_decides_by_its_interval(self, largest, verdict):
        evidence = evidence_of(components=component_rows(component_changes()))
        component = {"metric": "cosine_anisotropy", "largest": largest}
        assert judged_row(evidence, component=component)["verdict"] == verdict

    def test_one_review_decides_nothing(self):
        row = judged_row(evidence_of(metric_rows(at_the_output(np.array([9.0])))), net_change=CHANGE, above=0)
        assert (row["verdict"], row["n_reviews"], row["reason"]) == (UNDECIDED, 1, None)
        assert np.isnan([row["ci_low"], row["p_value"], row["p_max_t"]]).all()

    def test_p_decides_where_it_says_less_than_the_interval(self):
        """At the output alone it would be a finding; it is the one layer of nine that happens to differ."""
        original = RISE + noise(0)
        differences = spread_evenly(0, 1)[:, None] * np.random.default_rng(1).choice([-1, 1], (N_REVIEWS, N_BLOCKS + 1))
        differences -= differences.mean(axis=0)
        differences[:, -1] += 2.3 * differences[:, -1].std(ddof=1) / np.sqrt(N_REVIEWS)
        evidence = evidence_of(metric_rows(original), metric_rows(original + differences, variant="front"))
        row = judged_row(evidence, contrast=FRONT_LESS_ORIGINAL | {"layers": "output"}, above=0)
        assert row["ci_low"] > 0
        assert row["p_value"] < 0.05 < row["p_max_t"]
        assert (row["verdict"], row["p_decides"]) == (UNDECIDED, True)


def changed(differences, original=None, **more):
    """Evidence in which each review's metric differs by one of `differences` at all layers."""
    original = RISE + noise(0) if original is None else original
    front = metric_rows(original + differences[:, None], variant="front")
    return evidence_of(metric_rows(original), front, **more)


def spread_evenly(mean, spread):
    return mean + spread * stats.norm.ppf((np.arange(N_REVIEWS) + 0.5) / N_REVIEWS)


def contrasted(evidence, above=0):
    return judged_row(evidence, contrast=FRONT_LESS_ORIGINAL, above=above)


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
        row = contrasted(changed(spread_evenly(mean, spread)))
        assert row["verdict"] == verdict
        assert row["yardstick"] == pytest.approx(10, abs=0.2)
        assert row["relative_effect"] == pytest.approx(row["estimate"] / row["yardstick"])
        assert (row["p_max_t"] < 0.05) == (mean != 0 and verdict != UNDECIDED)

    def test_a_claim_that_names_a_size_is_judged_by_it(self):
        evidence = changed(spread_evenly(0.1, 0.02))
        assert contrasted(evidence, above=0.01)["verdict"] == SUPPORTED
        assert contrasted(evidence, above=0.15)["verdict"] == CONTRADICTED

    @pytest.mark.parametrize(("mean", "verdict"), [(0.005, NEGLIGIBLE), (0.03, SUPPORTED)])
    def test_where_depth_does_less_than_reviews_differ_the_margin_is_a_share_of_that(self, mean, verdict):
        """A range of .01 would make .001 notable among reviews that lie 1 apart; the margin is .02 of 1."""
        own = np.linspace(-1.7, 1.7, N_REVIEWS)[:, None]
        row = contrasted(changed(spread_evenly(mean, 0.002), own / own.std(ddof=1) + 0.001 * RISE))
        assert row["yardstick"] == pytest.approx(1)
        assert row["relative_effect"] == pytest.approx(mean)
        assert row["verdict"] == verdict

    @pytest.mark.parametrize("criterion", [0, 0.2])
    def test_where_one_review_decides_a_claim_is_undecided(self, criterion):
        differences = spread_evenly(0.4, 0.01)
        differences[0] += 1
        row = contrasted(changed(differences), above=criterion)
        assert (row["verdict"], row["reason"]) == (UNDECIDED, "one review decides")

    def test_without_a_margin_nothing_is_negligible(self):
        assert contrasted(changed(spread_evenly(0.1, 0.02), margin=0.0))["verdict"] == SUPPORTED

    def test_a_slope_is_a_share_of_the_yardstick_and_a_place_is_none(self):
        evidence = changed(spread_evenly(0, 1))
        assert judged_row(evidence, slope={"metric": RANK}, above=0)["relative_effect"] == pytest.approx(1, abs=0.02)
        place = judged_row(evidence, steepest={"metric": RANK}, above=0)
        assert np.isnan([place["yardstick"], place["relative_effect"]]).all()


class TestCorrelations:
    def row(self, mev, bare, norm):
        evidence = evidence_of(
            metric_rows(norm, NORM, "all_tokens"),
            metric_rows(mev, "max_explainable_variance"),
            metric_rows(bare, "max_explainable_variance", "raw_without_first"),
        )
        correlation = {"metric": "max_explainable_variance", "with_metric": NORM}
        return judged_row(evidence, correlation=correlation, above=0.5)

    def test_a_trend_over_depth_is_no_correlation(self):
        row = self.row(RISE + noise(0), RISE + noise(1), RISE + noise(2))
        assert row["verdict"] == CONTRADICTED
        assert abs(row["estimate"]) < 0.2

    def test_what_holds_without_the_first_token_too_is_not_about_it(self):
        length = noise(0, 1)
        row = self.row(length + noise(1), length + noise(2), length + noise(3))
        assert row["ci_low"] > 0.5
        assert row["verdict"] in (CONTRADICTED, UNDECIDED)
        assert row["without_first"] == pytest.approx(row["estimate"], abs=0.02)

    def test_what_the_first_token_brings(self):
        length = noise(0, 1)
        row = self.row(length + noise(1), noise(2, 1), length + noise(3))
        assert row["verdict"] == SUPPORTED
        assert 0 < row["beyond_low"] < row["estimate"] - row["without_first"] < row["beyond_high"]


class TestTable:
    accepted = pl.Series("accepted", np.arange(N_REVIEWS) < 20)
    evidence = evidence_of(
        metric_rows(RISE + noise(0), model="a"),
        metric_rows(noise(1) - RISE, model="b"),
        similarity=similarity_rows(np.full(N_REVIEWS, 0.95)).with_columns(accepted),
    )
    claims = (
        claim_of("rises", net_change=CHANGE, above=0),
        claim_of("steep", slope=CHANGE, above=5),
        claim_of("moved", contrast=FRONT_LESS_ORIGINAL, below=0),
    )

    def test_schema_order_and_what_is_copied(self):
        table = judged(self.claims, self.evidence, ["b", "a"])
        assert dict(table.schema) == CLAIMS_SCHEMA
        keys = [(name, model) for name in ("rises", "steep", "moved") for model in "ba"]
        assert table.select("claim", "model").rows() == keys
        assert table["criterion"].unique(maintain_order=True).to_list() == ["> 0", "> 5", "< 0"]
        assert table["statistic"].unique(maintain_order=True).to_list() == ["net_change", "slope", "contrast"]
        assert table["verdict"].to_list() == [CONTRADICTED, SUPPORTED] * 2 + [NOT_TESTED] * 2

    def test_order_of_rows_models_and_claims_does_not_matter(self):
        tables = {name: getattr(self.evidence, name) for name in ("metrics", "similarity")}
        mixed = {name: table.sample(fraction=1, shuffle=True, seed=0) for name, table in tables.items()}
        shuffled = replace(self.evidence, **mixed)
        table = judged(self.claims, self.evidence, ["a", "b"])
        again = pl.concat([judged([claim], shuffled, ["b", "a"]) for claim in self.claims])
        assert again.sort("claim", "model").equals(table.sort("claim", "model"))

    def test_only_what_is_about_a_difference_has_a_p_whichever_claims_stand_with_it(self):
        rows = [metric_rows(noise(n) + 0.05 * n, variant=name) for n, name in enumerate(("original", "front"))]
        evidence, claims = evidence_of(*rows), [self.claims[0], self.claims[2]]
        together = judged(claims, evidence)
        assert together.equals(pl.concat([judged([claim], evidence) for claim in claims]))
        assert together["p_max_t"].is_nan().to_list() == [True, False]

    @pytest.mark.parametrize("apart", [True, False])
    def test_the_script_writes_it(self, tmp_path, apart):
        components = component_rows({"attention": noise(3) + 1, "norm_1": noise(4)}, model="a") if apart else None
        evidence = replace(self.evidence, components=components)
        paths = {}
        for name in ("metrics", "similarity", "components", "contrasts", "depth"):
            paths[name] = []
            if getattr(evidence, name) is not None:
                paths[name] = str(tmp_path / f"{name}.parquet")
                table = getattr(evidence, name)
                write_table(wide_of(table) if name == "metrics" else table, paths[name])
        claims = [*self.claims, claim_of("lead", component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        run_tabulate(
            tmp_path,
            "claims.judgement",
            paths,
            [tmp_path / "claims.csv"],
            claims=claims,
            models=["a", "b"],
            variants=evidence.variants,
            n_reviews=N_REVIEWS,
            min_reviews=MIN_REVIEWS,
            resampling={"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED, "margin": MARGIN},
        )
        expected = judged(claims, evidence, ["a", "b"])
        assert expected.filter(claim="lead")["verdict"][0] == (SUPPORTED if apart else NOT_TESTED)
        assert pl.read_csv(tmp_path / "claims.csv", schema_overrides=CLAIMS_SCHEMA).equals(expected)
