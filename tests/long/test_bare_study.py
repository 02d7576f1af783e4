"""The least that a study can be: originals alone, no labels, and a last shard of one review; or texts of others."""

import polars as pl

from conftest import ROOT
from homogenization.corpus.cleaning import clean_text


def test_a_bare_study_runs_to_its_report(project):
    project.config["variants"] = {"original": {"rewriter": "none"}}
    project.config["corpus"] |= {"n_reviews": 5, "shard_size": 4, "label_column": None}
    project.make()
    tables = project.folder / "results/tables"
    metrics = pl.read_parquet(tables / "metrics.parquet")
    assert metrics["review_id"].n_unique() == 5
    numbers = metrics.select("effective_rank", "resultant_length", "max_explainable_variance")
    assert [column.is_null().all() for column in numbers] == [False, False, True]
    assert set(pl.read_parquet(tables / "mauve.parquet")["n_values"]) == {2 * 2}
    assert pl.read_csv(tables / "acceptance.csv").is_empty()
    assert (project.folder / "results/report.html").stat().st_size > 100_000
    assert project.planned() == {}


def test_a_study_of_given_texts_parses_nothing_and_runs_to_its_report(project):
    reviews = pl.read_ndjson(ROOT / project.config["corpus"]["source"]).with_columns(
        mine=pl.col("text").str.to_uppercase()
    )
    reviews.write_ndjson(project.folder / "mine.jsonl")
    project.config["corpus"] |= {"source": "mine.jsonl"}
    project.config["variants"] = {"original": {"rewriter": "none"}, "mine": {"rewriter": "column", "column": "mine"}}
    assert not {"parse_reviews", "extract_keyphrases"} & project.planned().keys()
    project.make()
    made = pl.read_parquet(project.folder / "results/variants/mine/*.parquet")
    assert set(made["text"]) < set(map(clean_text, reviews["mine"]))
    scored = pl.read_parquet(project.folder / "results/tables/similarity.parquet").filter(variant="mine")
    assert (scored["f1"] > 0.5).all()
    assert len(scored) == len(made) == 12
