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
    config |= dict.fromkeys(("components", "interventions", "positional", "consequences", "sensitivity"))
    config["states"] = {"record_attention": False}
    parent = Parent(tmp_path, config, study=None, second="studies/second")
    parent.make("study_all", "second_all")
    assert not (parent.folder / "mine.txt").exists()

    copy_workflow(tmp_path / "direct")
    direct = Project(tmp_path / "direct", config)
    direct.make()
    results = direct.folder / "results"
    assert len(list(results.glob("tables/*.parquet"))) > 5
    stores = [str(store.relative_to(results)) for store in results.glob("states/*/*/*.zip")]
    assert len(stores) == 2
    for made, rule in (("results", "study_extract_states"), ("studies/second/results", "second_extract_states")):
        others = parent.folder / made
        # a store names the rule that has made it, which a module renames
        assert sorted(differences(results, others)) == sorted(f"{store}: other values" for store in stores)
        for store in stores:
            (arrays, here), (other_arrays, there) = read_whole(results / store), read_whole(others / store)
            assert arrays.keys() == other_arrays.keys()
            assert all(arrays[name].tobytes() == other_arrays[name].tobytes() for name in arrays)
            assert here == there | {"extracted_by": there["extracted_by"] | {"rule": "extract_states"}}
            assert there["extracted_by"]["rule"] == rule
    assert "second_all" not in parent.planned("study_all", "second_all")
