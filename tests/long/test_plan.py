"""`snakemake plan` says what a study will take, to whoever asks, and stays out of the study's own runs."""

import json

import polars as pl
import pytest


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
    assert 0.75 * written < plan["bytes_on_disk"][0] < written


def durations_of(project):
    """Ask for the plan; the rows of its durations, by what is done."""
    done = project.run("--cores", "2", "plan")
    assert done.returncode == 0, done.stdout
    table = pl.read_csv(project.folder / project.config.get("results", "results") / "plan/durations.csv")
    return {row["work"]: row for row in table.iter_rows(named=True)}


def records_of(project):
    """The run records of all extractions."""
    folder = project.folder / project.config.get("results", "results") / "states"
    return pl.DataFrame([json.loads(path.read_text()) for path in folder.rglob("*.json")])


def test_planned_loads_and_times_are_those_of_a_run_at_the_rates_of_its_records(finished):
    """Arithmetic on what the run recorded: no time is compared with that of another run."""
    planned = durations_of(finished)
    plan = pl.read_csv(finished.folder / "results/plan/plan.csv").row(0, named=True)
    records = records_of(finished)
    loaded = records.filter(pl.col("seconds_loading") > 0)
    assert planned["states"]["loads"] == len(records) == len(loaded) == 4
    assert planned["components"]["loads"] == len([*(finished.folder / "results/components").rglob("*.parquet")]) == 2

    sums = records.select(pl.col("^seconds_.*$").sum()).row(0, named=True)
    taken = sums["seconds_starting"] + sums["seconds_loading"] + sums["seconds_total"]
    rest = taken - sums["seconds_loading"] - sums["seconds_forward"] - sums["seconds_write"]
    finished.config["hardware"] = {
        "cpu_tflops": plan["petaflops"] * 1e3 / sums["seconds_forward"],
        "read_gb_per_second": planned["states"]["bytes_read"] / 1e9 / sums["seconds_loading"],
        "write_gb_per_second": plan["bytes_written"] / 1e9 / sums["seconds_write"],
        "startup_seconds": rest / len(records),
    }
    assert set(finished.planned()) == {"make_report"}
    assert set(finished.planned("plan")) == {"plan", "plan_extraction"}
    several = durations_of(finished)["states"]
    assert several["seconds_total"] == pytest.approx(taken, rel=1e-6)
    assert several["computing_share"] == pytest.approx(sums["seconds_forward"] / taken, rel=1e-6)

    # the same reviews in one shard, planned at these rates and really extracted: half the loads, the same passes
    finished.config["results"] = "one"
    finished.config["corpus"] = finished.config["corpus"] | {"shard_size": 12}
    one = durations_of(finished)["states"]
    assert one["seconds_computing"] == pytest.approx(several["seconds_computing"], rel=1e-6)
    a_load = finished.config["hardware"]["startup_seconds"] + sums["seconds_loading"] / len(records)
    assert several["seconds_total"] - one["seconds_total"] == pytest.approx(2 * a_load, rel=1e-3)
    assert one["computing_share"] > several["computing_share"]
    finished.make("states")
    assert one["loads"] == len(records_of(finished).filter(pl.col("seconds_loading") > 0)) == 2
    assert records_of(finished)["n_tokens"].sum() == records["n_tokens"].sum()
