"""The table of claims: its numbers, and the tables made from it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from conftest import ROOT
from homogenization.claims.answers import answers_table
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.claims.verdicts import verdicts_table
from homogenization.config.claims import load_claims
from homogenization.names.verdicts import CONTRADICTED, NOT_TESTED, SUPPORTED
from homogenization.run.parquet import write_table
from library.statistics.shared import (
    CONFIDENCE,
    DRAWS,
    MARGIN,
    MIN_REVIEWS,
    N_REVIEWS,
    RANK,
    SEED,
    claim_of,
    component_rows,
    evidence_of,
    judged,
    metric_rows,
    noise,
    run_tabulate,
    similarity_rows,
    words_of,
)

OF_CLAIM = ["statement", "measured", "convention", "source", "criterion", "claim"]


class TestNumbers:
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

        assert power(row["sample_size_80"]) >= 0.8 - 1e-6
        assert power(row["sample_size_80"] - 1) < 0.8

    def test_a_verdict_does_not_know_which_claims_stand_beside_it(self):
        rows = [metric_rows(noise(seed) + 0.05 * seed, variant=name) for seed, name in enumerate(("original", "front"))]
        evidence = evidence_of(*rows)
        contrast = {"metric": RANK, "variant": "front", "minus": "original"}
        claims = [claim_of("level", level={"metric": RANK}, above=0), claim_of("moved", contrast=contrast, above=0)]
        together = judged(claims, evidence)
        assert together.equals(pl.concat([judged([claim], evidence) for claim in claims]))
        assert together["p_max_t"].is_nan().to_list() == [True, False]

    def test_similarity_is_of_all_reviews_and_of_no_model(self):
        f1 = 0.9 + noise(0)[:, 0]
        similarity = similarity_rows(f1).with_columns(pl.Series("accepted", np.arange(N_REVIEWS) < 20))
        evidence = evidence_of(metric_rows(noise(1)), similarity=similarity)
        claims = [claim_of(similarity={"variant": "front"}, above=0.5)]
        row = judged(claims, evidence, ["a", "b"]).row(0, named=True)
        assert (row["model"], row["n_reviews"]) == (None, N_REVIEWS)
        assert row["estimate"] == pytest.approx(f1.mean())


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
        tables = self.evidence.tables
        metrics, similarity = (
            table.sample(fraction=1, shuffle=True, seed=0) for table in (tables.metrics, tables.similarity)
        )
        shuffled = replace(self.evidence, tables=replace(tables, metrics=metrics, similarity=similarity))
        table = judged(self.claims, self.evidence, ["a", "b"])
        again = judged(self.claims, shuffled, ["b", "a"])
        assert again.sort("claim", "model").equals(table.sort("claim", "model"))

    def test_no_claims(self):
        table = judged([], self.evidence)
        assert dict(table.schema) == CLAIMS_SCHEMA
        assert verdicts_table(table, ["a"]).columns == [*OF_CLAIM, "the study"]

    def test_verdicts_on_no_single_model_have_one_column(self):
        table = judged(self.claims, self.evidence, ["a", "b"])
        of_a = table.filter(pl.col("model").is_null() | (pl.col("model") == "a"))
        of_all = of_a.with_columns(model=pl.lit(None, pl.String))
        found = verdicts_table(of_all, ["a", "b"])
        assert found.columns == [*OF_CLAIM, "the study"]
        assert found["the study"].to_list() == verdicts_table(table, ["a"])["a"].to_list()

    def test_verdicts_of_one_statement_can_be_told_apart(self):
        claims = [
            claim
            for path in ("claims", "claims-written", "claims-causes", "claims-consequences")
            for claim in load_claims(ROOT / f"config/{path}.yaml")
        ]
        table = verdicts_table(judged(claims, self.evidence, ["a", "b"]), ["a", "b"])
        assert table["claim"].n_unique() == len(table) == len(claims)
        assert table.select(OF_CLAIM[:-1]).is_unique().all()
        assert table["statement"].n_unique() < len(table)

    def test_verdicts_have_a_column_for_each_model(self):
        table = verdicts_table(judged(self.claims, self.evidence, ["a", "b"]), ["b", "a"])
        assert table.columns == [*OF_CLAIM, "b", "a"]
        assert [text.partition(":")[0] for text in table["b"]] == [CONTRADICTED, SUPPORTED, NOT_TESTED]
        assert [text.partition(":")[0] for text in table["a"]] == [SUPPORTED, SUPPORTED, NOT_TESTED]
        assert table["b"][1] == table["a"][1]
        assert table["a"][2] == "not tested: the study has no variant 'front'"

    @pytest.mark.parametrize("apart", [True, False])
    def test_the_script_writes_all(self, tmp_path, apart):
        components = component_rows({"attention": noise(3) + 1, "norm_1": noise(4)}, model="a") if apart else None
        tables = replace(self.evidence.tables, components=components)
        evidence = replace(self.evidence, tables=tables)
        read = ("metrics", "similarity", "components", "contrasts", "depth")
        paths = {name: str(tmp_path / f"{name}.parquet") for name in read}
        for name, path in paths.items():
            if getattr(tables, name) is not None:
                write_table(getattr(tables, name), path)
        claims = [*self.claims, claim_of("lead", component={"metric": "cosine_anisotropy", "largest": ["attention"]})]
        run_tabulate(
            tmp_path,
            "claims.judgement",
            paths if apart else {**paths, "components": []},
            [tmp_path / f"{name}.csv" for name in ("claims", "verdicts", "answers")],
            claims=claims,
            models=["a", "b"],
            variants=evidence.settings.variants,
            controls={},
            n_reviews=N_REVIEWS,
            min_reviews=MIN_REVIEWS,
            resampling={"draws": DRAWS, "confidence": CONFIDENCE, "seed": SEED, "margin": MARGIN},
            words=words_of("claims"),
        )
        expected = judged(claims, evidence, ["a", "b"])
        assert expected.filter(claim="lead")["verdict"][0] == (SUPPORTED if apart else NOT_TESTED)
        assert pl.read_csv(tmp_path / "claims.csv", schema_overrides=CLAIMS_SCHEMA).equals(expected)
        verdicts = pl.read_csv(tmp_path / "verdicts.csv", infer_schema=False)
        assert verdicts.equals(verdicts_table(expected, ["a", "b"]))
        answers = pl.read_csv(tmp_path / "answers.csv")
        assert answers.equals(answers_table(expected, ["a", "b"], {}, {}, words_of("claims")))
        assert "lead" in (tmp_path / "log").read_text()
