"""Arms: one entry of the configuration stands for a model of each seed and snapshot."""

import json

from configured import arm
from conftest import SMALL
from homogenization.config.study import load_study


def study_of(arms=(), **models):
    return load_study(SMALL | {"models": SMALL["models"] | models, "arms": list(arms)})


def test_an_arm_is_a_model_of_each_seed_and_snapshot():
    study = study_of(own=arm(seeds=[0, 2]), none=arm(positions="none", seeds=[0], snapshots=[0, 100]))
    assert list(study.models) == ["tiny", "own-0", "own-2", "none-0-step0", "none-0-step100"]
    assert study.trained_models == [
        ["none-0-step0", "none", 0, 0],
        ["none-0-step100", "none", 0, 100],
        ["own-0", "own", 0, 100],
        ["own-2", "own", 2, 100],
    ]
    assert len(study.training_runs) == 3
    runs = [study.models[name].weights.run for name in ("own-0", "own-2", "none-0-step0", "none-0-step100")]
    assert len(set(runs)) == 3
    assert runs[2] == runs[3]
    assert study.models["own-0"].weights.files("r", "own-0")[0] == f"r/training/{runs[0]}/100/config.json"
    assert study.random_sources[runs[1]].seed == 2
    assert study.random_sources[runs[2]].positions == "none"


def test_a_snapshot_goes_on_from_the_one_before_it():
    study = study_of(a=arm(seeds=[0], snapshots=[0, 50, 100]))
    (run,) = study.training_runs.values()
    assert run.states_before("0", "r") == []
    assert all("/50/state/" in file for file in run.states_before("100", "r"))
    assert [file.split("/")[-2] for *_, file in study.losses] == ["0", "50", "100"]


def test_equal_entries_share_a_run_and_others_do_not():
    study = study_of(a=arm(), b=arm(), c=arm(learning_rate=0.01), d=arm() | {"bos": "always"})
    runs = {name: study.models[f"{name}-0"].weights.run for name in "abcd"}
    assert runs["a"] == runs["b"]
    assert len(set(runs.values())) == 3


def test_a_model_without_seeds_may_be_subtracted_and_the_one_that_the_arm_starts_from_is_known(tmp_path):
    assert study_of([["a", "tiny"]], a=arm()).arms == [["a", "tiny"]]
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "tokenizer.json").touch()
    start = {"path": str(tmp_path)}
    tuned = {"weights": {"tuned": {"of": start, "steps": 1}}, "device": "cpu"}
    pairs = [["a", "start"], ["a", "tiny"], ["b", "start"]]
    study = study_of(pairs, a=tuned, b=arm(), start={"weights": start, "device": "cpu"})
    assert study.arms_and_their_start == [["a", "start"]]
