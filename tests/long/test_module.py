"""A small study through modules of another workflow, with a prefix and without: the files of a direct run."""

import copy

from compare_runs import differences, read_whole
from conftest import SMALL, Project, copy_workflow
from parent import Parent


def test_a_module_makes_what_the_workflow_makes(tmp_path):
    config = copy.deepcopy(SMALL)
    # originals alone, without what takes long
    config["corpus"] |= {"n_reviews": 5, "shard_size": 4}
    config["variants"] = {"original": {"rewriter": "none"}}
    config["metrics"] = ["effective_rank", "resultant_length"]
    config |= dict.fromkeys(("components", "interventions", "consequences"))
    parent = Parent(tmp_path, config, study=None, second="studies/second")
    parent.make("study_all", "second_all")
    assert not (parent.folder / "mine.txt").exists()

    copy_workflow(tmp_path / "direct")
    direct = Project(tmp_path / "direct", config)
    direct.make()
    results = direct.folder / "results"
    assert len(list(results.glob("tables/*.parquet"))) > 5
    assert differences(results, parent.folder / "results") == []
    # with a prefix, provenance names other paths
    second = parent.folder / "studies/second/results"
    for name in (difference.partition(":")[0] for difference in differences(results, second)):
        assert name.startswith("states/") or name == "configuration.yaml"
    for store in results.rglob("*.zarr.zip"):
        arrays, others = (read_whole(folder / store.relative_to(results))[0] for folder in (results, second))
        assert arrays.keys() == others.keys()
        assert all(arrays[name].tobytes() == others[name].tobytes() for name in arrays)
    assert "second_all" not in parent.planned("study_all", "second_all")
