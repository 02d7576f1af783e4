"""Faults on real runs: each is named, nothing is lost, and the same command run again comes to the same results."""

from compare_runs import differences, hidden

STORE = "results/states/tiny/front/001.zarr.zip"
MATRICES = "results/measures/tiny/front/001/matrices.parquet"
VARIANT = "results/variants/front/001.parquet"
SIMILARITY = "results/tables/similarity.parquet"


def test_a_store_and_a_table_that_are_cut_short_are_named_and_made_again_when_they_are_deleted(finished_run, finished):
    for made, target in ((STORE, MATRICES), (VARIANT, SIMILARITY)):
        path = finished.folder / made
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        (finished.folder / target).unlink()
        done = finished.run("--cores", "2", target)
        assert done.returncode != 0, done.stdout
        assert made in done.stdout
        path.unlink()
        finished.make(target)
    assert differences(finished_run / "results", finished.folder / "results") == []
    assert hidden(finished.folder / "results") == []
