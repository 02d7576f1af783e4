"""States that are not kept: they go when every metric has read them, and come back where something needs them."""

import threading

import polars as pl

from conftest import SMALL
from homogenization.states.store import open_store

SHARDS = ("000", "001")
# these read the model again, or nothing of a model
WITHOUT_STATES = ("components", "interventions", "consequences", "sensitivity")


def table(folder, name):
    return pl.read_parquet(folder / "results/tables" / name)


def test_states_go_when_all_has_been_read_from_them(project, finished_run):
    project.config["states"] = {"keep": False, "sample_tokens": 5}
    project.config |= dict.fromkeys(WITHOUT_STATES)
    wanted = [f"results/samples/tiny/{variant}/{shard}.zarr.zip" for variant in SMALL["variants"] for shard in SHARDS]
    done = project.run("--cores", "2", "tables", *wanted)
    assert done.returncode == 0, done.stdout
    assert not list((project.folder / "results/states").rglob("*.zarr.zip"))
    for name in ("metrics.parquet", "mauve.parquet", "attention.parquet", "cosines.parquet"):
        assert table(project.folder, name).equals(table(finished_run, name)), name
    assert not project.planned("tables", *wanted), "what is gone is not missed"
    assert {rule for rule in project.planned() if not rule.startswith("plot_")} == {"make_report"}, "nor for figures"

    samples = sorted((project.folder / "results/samples").rglob("*.zarr.zip"))
    assert samples == sorted(project.folder / name for name in wanted)
    for sample in samples:
        whole = finished_run / "results/states" / sample.relative_to(project.folder / "results/samples")
        with open_store(sample) as kept, open_store(whole) as full:
            assert kept.review_ids == full.review_ids
            assert set(kept.review_offsets[1:] - kept.review_offsets[:-1]) == {5}
            for layer in full.layers:
                of_full = full.residual_stream(layer)
                of_kept = kept.residual_stream(layer)
                for review, first in enumerate(full.review_offsets[:-1]):
                    mine = slice(kept.review_offsets[review], kept.review_offsets[review + 1])
                    assert (of_kept[mine] == of_full[first + kept.positions[mine]]).all()

    project.config["metrics"].append("stable_rank")
    assert "extract_states" not in project.planned(), "singular values are kept"
    project.config["views"].append("unit")
    assert project.planned()["extract_states"] == 4, "singular values of another view need the states again"


def test_keeping_states_or_not_reruns_nothing(finished):
    finished.config["states"] = {"keep": False}
    assert finished.planned().keys() <= {"make_report"}  # it shows the configuration


def test_samples_are_part_of_the_whole_and_rerun_nothing_else(finished):
    finished.config["states"] = {"sample_tokens": 5}
    assert finished.planned() == {"sample_states": 4, "make_report": 1}


def test_stores_do_not_pile_up_beyond_the_limit(project):
    """Four stores, each of which takes all of `store_mb`, are made and measured one after the other."""
    project.config |= dict.fromkeys(WITHOUT_STATES)
    project.config |= {"states": {"keep": False}, "positional": None, "corpus": SMALL["corpus"] | {"shard_size": 3}}
    wanted = [f"results/{name}/tiny/original/00{n}.parquet" for n in range(4) for name in ("geometry", "pooled")]
    most, stop = [], threading.Event()

    def watch():
        while not stop.wait(0.05):
            most.append(len([*(project.folder / "results/states").glob("*/*/*.zarr.zip")]))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        done = project.run("--cores", "3", "--resources", "store_mb=1", "--", *wanted)
    finally:
        stop.set()
        watching.join()
    assert done.returncode == 0, done.stdout
    assert max(most) == 1
    assert all((project.folder / name).exists() for name in wanted)
