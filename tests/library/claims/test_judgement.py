"""How a claim is judged: by its interval and its p, by the size of what it says, and how easily that turns."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from conftest import ROOT
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.claims.verdicts import in_words, verdicts_table
from homogenization.config.claims import load_claims
from homogenization.names.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED
from homogenization.run.parquet import write_table
from homogenization.statistics.resampling import reviews_for_power
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

FRONT_LESS_ORIGINAL = {"metric": RANK, "variant": "front", "minus": "original"}
RISE = np.linspace(0, 10, N_BLOCKS + 1)  # depth raises the metric by 10: the margin is .2


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
        assert judged_row(evidence_of(metric_rows(values)), level={"metric": RANK}, **criterion)["verdict"] == verdict

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
        assert np.isnan([row[name] for name in ("p_value", "p_max_t", "effect_size", "sample_size_80")]).all()

    @pytest.mark.parametrize(
        ("largest", "verdict"), [(["residual", "attention"], SUPPORTED), (["feed_forward"], CONTRADICTED)]
    )
    def test_the_lead_of_a_component_decides_by_its_interval(self, largest, verdict):
        evidence = evidence_of(components=component_rows(component_changes()))
        component = {"metric": "cosine_anisotropy", "largest": largest}
        assert judged_row(evidence, component=component)["verdict"] == verdict

    def test_one_review_decides_nothing(self):
        row = judged_row(evidence_of(metric_rows(noise(0)[:1] + 9)), level={"metric": RANK}, above=0)
        assert (row["verdict"], row["n_reviews"], row["reason"]) == (UNDECIDED, 1, None)
        assert np.isnan([row["ci_low"], row["p_value"], row["p_max_t"]]).all()
        assert in_words(row) == "undecided: 9.02, n 1"

    def test_effect_size_and_power_are_of_the_distance_to_the_bound(self):
        values = noise(0)
        row = judged_row(evidence_of(metric_rows(values)), level={"metric": RANK}, above=-0.01)
        by_review = values.mean(axis=1) + 0.01
        effect = by_review.mean() / by_review.std(ddof=1)
        assert row["effect_size"] == pytest.approx(effect)

        assert row["sample_size_80"] == reviews_for_power(np.array([effect])).item()

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
        assert row["depth_range"] == pytest.approx(10, abs=0.2)
        assert row["relative_effect"] == pytest.approx(row["estimate"] / row["depth_range"])
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
        assert (row["depth_range"], row["review_sd"]) == pytest.approx((0.01, 1))
        assert row["relative_effect"] == pytest.approx(mean / 0.01)  # of little
        assert row["verdict"] == verdict

    def test_without_a_margin_nothing_is_negligible(self):
        assert contrasted(changed(spread_evenly(0.1, 0.02), margin=0.0))["verdict"] == SUPPORTED

    def test_a_slope_is_a_share_of_what_depth_does_and_a_level_is_none(self):
        evidence = changed(spread_evenly(0, 1))
        assert judged_row(evidence, slope={"metric": RANK}, above=0)["relative_effect"] == pytest.approx(1, abs=0.02)
        level = judged_row(evidence, level={"metric": RANK}, above=0)
        assert np.isnan([level["depth_range"], level["relative_effect"]]).all()


class TestFirstToken:
    """As in Qwen, which begins texts with no token of its own: another first word moves a review more than the rest."""

    def row(self, n_changed, differences=None, by_first=True):
        """Of `n_changed` reviews, the first token of `front` is another."""
        if differences is None:
            differences = spread_evenly(0.01, 0.02)
            differences[:n_changed] += 3 * np.resize([1, -1], n_changed)
        names = {"model": "m", "review_id": [f"r{number:03d}" for number in range(N_REVIEWS)]}
        openings = [
            pl.DataFrame({**names, "first_token": np.arange(N_REVIEWS) < n}).with_columns(variant=pl.lit(variant))
            for variant, n in (("original", 0), ("front", n_changed))
        ]
        return contrasted(changed(differences, opening_tokens=pl.concat(openings) if by_first else None))

    @pytest.mark.parametrize(
        ("n_changed", "differences", "verdicts", "said"),
        [
            (16, None, (UNDECIDED, NEGLIGIBLE, True), "where the first token stays negligible"),
            (0, None, (NEGLIGIBLE, NEGLIGIBLE, False), ""),  # it stays everywhere
            (N_REVIEWS - MIN_REVIEWS + 1, None, (UNDECIDED, None, False), "the first token stays in 9, too few"),
            (16, spread_evenly(0.5, 0.1), (SUPPORTED, SUPPORTED, False), ""),  # verdicts that agree
        ],
    )
    def test_the_reviews_where_it_stays_have_a_verdict_of_their_own(self, n_changed, differences, verdicts, said):
        row = self.row(n_changed, differences)
        assert (row["verdict"], row["verdict_same_first"], row["first_decides"]) == verdicts
        assert row["n_same_first"] == N_REVIEWS - n_changed
        by_review = spread_evenly(0.01, 0.02) if differences is None else differences
        own = by_review[n_changed:].mean() if verdicts[1] else np.nan
        assert row["same_first"] == pytest.approx(own, nan_ok=True)
        ends = [row[f"same_first{end}"] for end in ("_low", "_high")]
        assert n_changed or [row["same_first"], *ends] == [row[name] for name in ("estimate", "ci_low", "ci_high")]
        assert (ends[0] < own < ends[1]) == (verdicts[1] is not None)
        assert (ends[1] < 0.2) == (verdicts[1] == NEGLIGIBLE)
        assert said in in_words(row)
        assert ("first token" in in_words(row)) == bool(said)

    def test_without_the_table_it_is_not_known_and_all_other_numbers_are_the_same(self):
        one, other = self.row(16), self.row(16, by_first=False)
        assert (other["n_same_first"], other["verdict_same_first"]) == (None, None)
        rest = [name for name in one if "first" not in name]
        assert [one[name] for name in rest] == pytest.approx([other[name] for name in rest], nan_ok=True)


class TestFragile:
    @pytest.mark.parametrize(
        ("mean", "spread", "few", "verdict", "fragile", "apart"),
        [
            (0, 0.02, np.linspace(2, 20, 9), SUPPORTED, True, np.nan),  # a few reviews carry it
            (0.5, 0.3, 0, SUPPORTED, False, 0.01),  # all do
            (0.5, 0.3, -60, UNDECIDED, False, 0.06),  # an undecided claim has nothing to turn
        ],
    )
    def test_a_decided_verdict_that_other_estimates_turn(self, mean, spread, few, verdict, fragile, apart):
        differences = spread_evenly(mean, spread)
        differences[-np.size(few) :] += few
        row = contrasted(changed(differences))
        assert (row["verdict"], row["fragile"]) == (verdict, fragile)
        assert ("by the Hodges-Lehmann estimate it is undecided" in (row["why_fragile"] or "")) == fragile
        assert row["robust_low"] <= row["robust"] <= row["robust_high"]
        assert row["kept"] < row["estimate"] if fragile else row["robust"] == pytest.approx(mean, abs=apart)
        assert fragile or row["robust_low"] > 0.2


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
        assert not row["fragile"]


class TestTables:
    of_claim = ("statement", "measured", "convention", "source", "criterion", "claim")
    f1 = 0.95 + 0.1 * noise(2)[:, 0]
    evidence = evidence_of(
        metric_rows(noise(0) + 1, model="a"),
        metric_rows(noise(1) - 1, model="b"),
        similarity=similarity_rows(f1).with_columns(pl.Series("accepted", np.arange(N_REVIEWS) < 20)),
    )
    claims = (
        claim_of("positive", level={"metric": RANK}, above=0, published="> 0"),
        claim_of("similar", similarity={"variant": "front"}, above=0.89),
        claim_of("moved", contrast=FRONT_LESS_ORIGINAL, below=0),
    )

    def test_schema_order_and_what_is_copied(self):
        table = judged(self.claims, self.evidence, ["b", "a"])
        assert dict(table.schema) == CLAIMS_SCHEMA
        keys = [("positive", "b"), ("positive", "a"), ("similar", None), ("moved", "b"), ("moved", "a")]
        assert table.select("claim", "model").rows() == keys
        assert table["criterion"].to_list() == ["> 0", "> 0", "> 0.89", "< 0", "< 0"]
        assert table["statistic"].unique(maintain_order=True).to_list() == ["level", "similarity", "contrast"]
        assert table["published"].to_list() == ["> 0", "> 0", None, None, None]
        similar = table.row(2, named=True)  # of all reviews, accepted or not
        assert (similar["n_reviews"], similar["estimate"]) == (N_REVIEWS, pytest.approx(self.f1.mean()))

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

    def test_verdicts_have_a_column_for_each_model(self):
        table = verdicts_table(judged(self.claims, self.evidence, ["a", "b"]), ["b", "a"])
        assert table.columns == [*self.of_claim, "b", "a"]
        assert [text.partition(":")[0] for text in table["b"]] == [CONTRADICTED, SUPPORTED, NOT_TESTED]
        assert [text.partition(":")[0] for text in table["a"]] == [SUPPORTED, SUPPORTED, NOT_TESTED]
        assert table["b"][1] == table["a"][1]
        assert table["a"][2] == "not tested: the study has no variant 'front'"

    def test_verdicts_on_no_single_model_have_one_column(self):
        table = judged(self.claims, self.evidence, ["a"])
        of_all = verdicts_table(table.with_columns(model=pl.lit(None, pl.String)), ["a"])
        assert of_all.columns == [*self.of_claim, "the study"]
        assert of_all["the study"].to_list() == verdicts_table(table, ["a"])["a"].to_list()
        assert verdicts_table(judged([], self.evidence), ["a"]).columns == of_all.columns

    def test_verdicts_of_one_statement_can_be_told_apart(self):
        files = ("claims", "claims-causes", "claims-consequences")
        claims = [claim for name in files for claim in load_claims(ROOT / f"config/{name}.yaml")]
        table = verdicts_table(judged(claims, self.evidence, ["a", "b"]), ["a", "b"])
        assert table["claim"].n_unique() == len(table) == len(claims)
        assert table.select(self.of_claim[:-1]).is_unique().all()
        assert table["statement"].n_unique() < len(table)

    @pytest.mark.parametrize("apart", [True, False])
    def test_the_script_writes_all(self, tmp_path, apart):
        components = component_rows({"attention": noise(3) + 1, "norm_1": noise(4)}, model="a") if apart else None
        evidence = replace(self.evidence, components=components)
        paths = {}
        for name in ("metrics", "similarity", "components", "contrasts", "depth"):
            paths[name] = []
            if getattr(evidence, name) is not None:
                paths[name] = str(tmp_path / f"{name}.parquet")
                write_table(getattr(evidence, name), paths[name])
        claims = [*self.claims, claim_of("lead", component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        run_tabulate(
            tmp_path,
            "claims.judgement",
            paths,
            [tmp_path / f"{name}.csv" for name in ("claims", "verdicts")],
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
        verdicts = pl.read_csv(tmp_path / "verdicts.csv", infer_schema=False)
        assert verdicts.equals(verdicts_table(expected, ["a", "b"]))
        assert "lead" in (tmp_path / "log").read_text()
