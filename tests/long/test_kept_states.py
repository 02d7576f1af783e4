"""States that are not kept: a job measures them while its model reads, and the models run again for another measure."""

import shutil
from unittest.mock import ANY

import polars as pl
import pytest

from conftest import SMALL, Project, with_changes
from homogenization.measures.catalogue import MEASURES
from homogenization.run.parquet import table_metadata
from homogenization.states.store import open_store

SHARDS = ("000", "001")
# the table of docs/states.md: edits, and how many of the four jobs run the model again
EDITS = (
    ({"metrics": [*SMALL["metrics"], "stable_rank"], "contrasts.draws": 300}, 0),
    ({"mauve.seeds": 3}, 4),
    ({"mauve.scale": 4.0}, 4),
    ({"mauve.variants": ["original"], "mauve.seeds": 3}, 4),  # of those of `front`, MAUVE goes
    ({"pooled.variants": ["original", "front"]}, 2),
    ({"views": ["raw"]}, 4),
    ({"states.sample_tokens": 6}, 4),
    ({"states.chunk_tokens": 500}, 4),
    ({"models.tiny.token_budget": 1000}, 4),
    ({"models.tiny.gpus": 2, "models.tiny.billions": 1.0}, 0),
)
# these read the model again, or nothing of a model
WITHOUT_STATES = ("components", "interventions", "consequences", "sensitivity")
# what follows from the measures of states, with numbers and their metadata
FROM_STATES = ("metrics", "mauve", "attention", "pooled")


@pytest.fixture
def project(finished) -> Project:
    """The finished run without states and all that is computed of them."""
    for name in ("states", *MEASURES, "tables", "figures", "logs"):
        shutil.rmtree(finished.folder / "results" / name, ignore_errors=True)
    return finished


def table(folder, name):
    return pl.read_parquet(folder / "results/tables" / name)


def test_states_that_are_not_kept_are_measured_in_the_pass(project, finished_run):
    project.config["states"] = {"keep": False, "sample_tokens": 5}
    project.config |= dict.fromkeys(WITHOUT_STATES)
    wanted = [f"results/samples/tiny/{variant}/{shard}.zarr.zip" for variant in SMALL["variants"] for shard in SHARDS]
    project.make("tables", *wanted)
    assert not list((project.folder / "results/states").rglob("*.zarr.zip"))
    logs = [path.read_text() for path in (project.folder / "results/logs/states/tiny").rglob("*.log")]
    assert len(logs) == 4
    assert all("INFO rule measure_states" in log for log in logs)
    for name in FROM_STATES:
        mine, theirs = (table(folder, f"{name}.parquet") for folder in (project.folder, finished_run))
        assert mine.equals(theirs), name
    assert table_metadata(project.folder / "results/mauve/tiny/front/000.parquet")["states"] == {
        **(theirs := table_metadata(finished_run / "results/mauve/tiny/front/000.parquet")["states"]),
        "extracted_by": theirs["extracted_by"] | {"rule": "measure_states", "params": ANY, "key": ANY},
    }
    assert not project.planned("tables", *wanted), "what is gone is not missed"
    drawn = ("plot_", "make_", "read_examples")  # of tables that other jobs have made
    assert not [rule for rule in project.planned() if not rule.startswith(drawn)], "nor for figures and pages"

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

    unedited = project.config
    for changes, n_jobs in EDITS:
        project.config = with_changes(unedited, changes)
        assert project.planned()["measure_states"] == n_jobs, changes
    project.config = unedited
    project.config["metrics"].append("stable_rank")
    assert "measure_states" not in project.planned(), "singular values are kept"
    project.config["variants"]["end"] = {"rewriter": "rules", "position": "end"}
    assert project.planned()["measure_states"] == len(SHARDS), "a new variant alone"
    project.config["mauve"]["variants"] = ["original", "front"]
    assert project.planned()["measure_states"] == len(SHARDS), "others are measured as before"
    project.config["views"].append("unit")
    assert project.planned()["measure_states"] == 6, "singular values of another view need the states again"


def test_a_run_that_is_killed_keeps_what_is_measured(project):
    """One job of four, as a run leaves it that is killed after it."""
    project.config["states"] = {"keep": False}
    project.config |= dict.fromkeys(WITHOUT_STATES)
    done = project.run("--cores", "2", "results/spectra/tiny/front/001.parquet")
    assert done.returncode == 0, done.stdout
    assert project.planned("tables")["measure_states"] == 3


def test_stores_of_a_finished_study_may_go_by_hand_and_another_road_measures_again(finished):
    for store in (finished.folder / "results/states").rglob("*.zarr.zip"):
        store.unlink()
    assert finished.planned() == {}
    finished.config["states"] = {"keep": False}
    planned = finished.planned()
    assert planned["measure_states"] == len(SHARDS) * len(SMALL["variants"])
    assert not {rule for rule in planned if rule.startswith(("extract_", "rewrite_", "build_", "compute_"))}


def test_samples_are_part_of_the_whole_and_rerun_nothing_else(finished):
    finished.config["states"] = {"sample_tokens": 5}
    assert finished.planned() == {"sample_states": 4, "make_report": 1}
