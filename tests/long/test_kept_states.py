"""States that are not kept: they go when every metric has read them, and come back where something needs them."""

import polars as pl

from homogenization.states.store import open_store


def table(folder, name):
    return pl.read_parquet(folder / "results/tables" / name)


def test_states_go_when_all_has_been_read_from_them(project, finished_run):
    project.config["states"] = {"keep": False, "sample_tokens": 5}
    done = project.run("--cores", "2")
    assert done.returncode == 0, done.stdout
    assert not list((project.folder / "results/states").rglob("*.zarr.zip"))
    for name in ("metrics.parquet", "mauve.parquet", "attention.parquet", "cosines.parquet"):
        assert table(project.folder, name).equals(table(finished_run, name)), name
    assert not project.planned(), "what is gone is not missed"

    samples = sorted((project.folder / "results/samples").rglob("*.zarr.zip"))
    assert len(samples) == 4
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
