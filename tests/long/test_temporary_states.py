"""Where states are not kept, they go as soon as they are measured, and an edit of their extraction is not lost."""

import re

import polars as pl
from polars.testing import assert_frame_equal

from conftest import SMALL

MEASURED = ("matrices", "attention", "texts", "tokens")


def test_a_study_that_keeps_no_states_has_the_same_numbers_and_forgets_no_edit(project, finished_run):
    shards = {path.stem for path in (finished_run / "results/corpus").glob("[0-9]*.parquet")}
    n_jobs = len(SMALL["variants"]) * len(shards)
    project.config["states"] = {"keep": False}
    printed = project.make("tables", "--resources", "states=1")
    # a store goes before the next one is made
    made_and_gone = re.findall(r"^\w*rule (extract_states):|^Removing temporary output .*(zarr)", printed, re.MULTILINE)
    assert made_and_gone == [("extract_states", ""), ("", "zarr")] * n_jobs
    assert not list((project.folder / "results/states").rglob("*.zarr.zip"))
    for measure in MEASURED:
        files = sorted((project.folder / "results/measures").rglob(f"{measure}.parquet"))
        assert len(files) == n_jobs
        for file in files:
            stored = finished_run / file.relative_to(project.folder)
            assert_frame_equal(pl.read_parquet(file), pl.read_parquet(stored), rel_tol=1e-9)
    assert "extract_states" not in project.planned("tables")
    # an edit whose jobs fail, and the same command again
    project.config["states"] = {"keep": False, "dtype": "float16"}
    weights = project.folder / "results/models/tiny/model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(b"")
    assert project.run("--cores", "2", "tables").returncode != 0
    weights.write_bytes(content)
    assert project.planned("tables")["extract_states"] == n_jobs
