"""A small study through modules of another workflow, with a prefix and without: the files of a direct run."""

import copy
from pathlib import Path

import numpy as np

from compare_runs import differences, read_whole
from conftest import SMALL, Project, copy_workflow
from parent import Parent

RECORDS = {".zip": "extracted_by", ".json": "made_by"}  # where a file says which job made it


def of_file(path: Path) -> tuple[dict[str, np.ndarray], dict]:
    """Arrays and attributes of a store; or a record alone."""
    return read_whole(path) if path.suffix == ".zip" else ({}, read_whole(path))


def test_a_module_makes_what_the_workflow_makes(tmp_path):
    config = copy.deepcopy(SMALL)
    # originals alone, without what takes long
    config["corpus"] |= {"n_reviews": 5, "shard_size": 4}
    config["variants"] = {"original": {"rewriter": "none"}}
    config["metrics"] = ["effective_rank", "resultant_length"]
    config |= dict.fromkeys(("components", "interventions", "consequences"))
    config["states"] = {"record_attention": False}
    parent = Parent(tmp_path, config, study=None, second="studies/second")
    parent.make("study_all", "second_all")
    assert not (parent.folder / "mine.txt").exists()

    copy_workflow(tmp_path / "direct")
    direct = Project(tmp_path / "direct", config)
    direct.make()
    results = direct.folder / "results"
    assert len(list(results.glob("tables/*.parquet"))) > 5
    # each store, and the record of its job
    files = [str(file.relative_to(results)) for file in results.glob("states/*/*/*") if file.suffix in RECORDS]
    assert len(files) == 4
    for made, rule in (("results", "study_extract_states"), ("studies/second/results", "second_extract_states")):
        others = parent.folder / made
        # they name the rule that has made them, which a module renames
        assert sorted(differences(results, others)) == sorted(f"{file}: other values" for file in files)
        for file in files:
            (arrays, here), (other_arrays, there) = (of_file(folder / file) for folder in (results, others))
            assert arrays.keys() == other_arrays.keys()
            assert all(arrays[name].tobytes() == other_arrays[name].tobytes() for name in arrays)
            record = RECORDS[Path(file).suffix]
            assert here == there | {record: there[record] | {"rule": "extract_states"}}
            assert there[record]["rule"] == rule
    assert "second_all" not in parent.planned("study_all", "second_all")
