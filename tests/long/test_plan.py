"""`snakemake plan` says what a study will take, to whoever asks, and stays out of the study's own runs."""

import polars as pl

from homogenization.tables.extraction import records


def test_the_plan_is_printed_whenever_it_is_asked_for(finished):
    assert "plan_model" not in finished.planned()
    for _ in range(2):
        done = finished.run("--cores", "2", "plan")
        assert done.returncode == 0, done.stdout
        assert "\ntotal " in done.stdout
    plan = pl.read_csv(finished.folder / "results/plan/plan.csv")
    planned = dict(zip(plan["model"], plan["tokens"], strict=True))
    extraction = records(sorted((finished.folder / "results/states").rglob("*.json")))
    assert planned == {"tiny": extraction["n_tokens"].sum(), "total": extraction["n_tokens"].sum()}
    written = sum(path.stat().st_size for path in (finished.folder / "results/states").rglob("*.zarr.zip"))
    # these stores are so small that headers weigh
    assert 0.7 * written < plan["bytes_written"][0] < written
    assert plan["jobs"].to_list() == [len(extraction)] * 2
