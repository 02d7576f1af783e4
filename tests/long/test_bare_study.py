"""The least that a study can be: originals alone, no labels, and a last shard of one review."""

import polars as pl


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
