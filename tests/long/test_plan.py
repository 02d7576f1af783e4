"""`snakemake plan` says what a study will take, to whoever asks, and stays out of the study's own runs."""

import polars as pl


def test_the_plan_is_printed_whenever_it_is_asked_for(finished):
    assert "count_tokens" not in finished.planned()
    for _ in range(2):
        done = finished.run("--cores", "2", "plan")
        assert done.returncode == 0, done.stdout
        assert "\ntotal " in done.stdout
    plan = pl.read_csv(finished.folder / "results/plan/plan.csv")
    planned = dict(zip(plan["model"], plan["tokens"], strict=True))
    extraction = pl.read_parquet(finished.folder / "results/tables/extraction.parquet")
    assert planned == {"tiny": extraction["n_tokens"].sum(), "total": extraction["n_tokens"].sum()}
    written = sum(path.stat().st_size for path in (finished.folder / "results/states").rglob("*.zarr.zip"))
    # these stores are so small that headers weigh
    assert 0.75 * written < plan["bytes_written"][0] < written
    works = pl.read_csv(finished.folder / "results/plan/works.csv")
    jobs = dict(zip(works["work"], works["jobs"], strict=True))
    made = {work: len([*(finished.folder / "results" / work).rglob("*.parquet")]) for work in ("spectra", "components")}
    assert {work: jobs[work] for work in made} == made
    assert jobs["states"] == len(extraction)
    assert works["hours"].null_count() == len(works)


def test_a_pilot_times_each_kind_of_job_once_and_leaves_nothing_but_times(project):
    project.make("plan", "--config", "pilot=8")
    works = pl.read_csv(project.folder / "results/plan/works.csv").filter(pl.col("work") != "total")
    timed = set(works.filter(pl.col("hours") > 0)["work"])
    assert timed == set(works["work"]) - {"interventions", "consequences", "training"}
    assert {"states", "components", "spectra"} <= timed
    left = {path.suffix for path in (project.folder / "results/pilot").rglob("*") if path.is_file()}
    assert left == {".parquet", ".json", ".tsv"}
    assert not [*(project.folder / "results/states").glob("**/*")]
    # the same pilot is not read again, and no job of the study knows of it
    assert set(project.planned("plan", "--config", "pilot=8")) == {"plan"}
    assert not {rule for rule in project.planned("--config", "pilot=8") if rule.startswith(("time_", "sample_pilot"))}
