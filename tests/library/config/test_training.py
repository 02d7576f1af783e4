"""Arms: one entry of the configuration stands for a model of each seed and snapshot."""

import copy
import json

import pytest

from conftest import SMALL
from homogenization.config.study import load_study
from homogenization.run.errors import HomogenizationError

ARCHITECTURE = {"model_type": "gpt2"}
TWO_BLOCKS = {"model_type": "llama", "num_hidden_layers": 2, "max_position_embeddings": 64}


def arm(steps=100, **keys):
    own = {key: keys.pop(key) for key in ("seeds", "snapshots") if key in keys}
    trained = {"architecture": ARCHITECTURE, "steps": steps, "max_tokens": 64, **keys}
    return {"weights": {"trained": trained, **own}, "device": "cpu"}


def study_of(arms=(), **models):
    raw = copy.deepcopy(SMALL)
    return load_study(raw | {"models": raw["models"] | models, "arms": list(arms)})


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


@pytest.mark.parametrize(
    ("models", "arms", "named"),
    [
        ({"a": arm(snapshots=[200])}, [], r"models\.a\.weights: snapshots: \[200\] are beyond the 100 steps"),
        ({"a": arm(seeds=[1, 0])}, [], "no ascending list"),
        ({"a": arm(), "a-0": arm()}, [], "one of its models is called 'a-0'"),
        ({"a": arm()}, [["b", "tiny"]], r"arms: no arm is called 'b'.*allowed: a"),
        ({"a": arm()}, [["tiny", "a"]], "no arm is called 'tiny'"),
        ({"a": arm(), "b": arm(seeds=[1])}, [["a", "b"]], "share no seed and step"),
        ({"a": arm()}, [["a", "a"]], "no pair of two arms"),
        ({"a": arm(penalty={"metric": "cosine", "strength": 0})}, [], "0 does nothing"),
        ({"a": arm(penalty={"metric": "cosine", "strength": 1, "layers": [2, 2]})}, [], "different layers"),
        (
            {"a": arm(penalty={"metric": "cosine", "strength": 1, "layers": "steep"})},
            [],
            "'steep' is neither 'steepest'",
        ),
        (
            {"a": arm(penalty={"metric": "cosine", "strength": float("nan")})},
            [],
            r"nan is not allowed; .* finite number",
        ),
        ({"a": arm(architecture={"model_type": "bert"})}, [], r"a: the model that is trained \(bert\) reads .* both"),
        (
            {"a": arm(architecture=TWO_BLOCKS, penalty={"metric": "cosine", "strength": 1, "layers": [2, 3]})},
            [],
            r"models: a: .* \(llama\) has no layers \[3\] for penalty.layers; its blocks make the layers 1 to 2",
        ),
        ({"a": arm(architecture=TWO_BLOCKS, max_tokens=65)}, [], "reads at most 64 tokens; max_tokens is 65"),
        ({"a": {"weights": {"tuned": {"of": {"random": ARCHITECTURE}, "steps": 1}}}}, [], "have learnt nothing"),
        ({"a": {"weights": {"tuned": {"of": {"hub": "a/b"}, "steps": 1, "dtype": "bfloat16"}}}}, [], "give 'lora'"),
    ],
)
def test_mistakes_are_named(models, arms, named):
    with pytest.raises(HomogenizationError, match=named):
        study_of(arms, **models)


def test_quantised_weights_are_refused_before_anything_runs(tmp_path):
    told = {"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4}}
    (tmp_path / "config.json").write_text(json.dumps(told))
    (tmp_path / "model.safetensors").touch()
    (tmp_path / "tokenizer.json").touch()
    with pytest.raises(HomogenizationError, match=r"quantization_config \(gptq\)"):
        study_of(a={"weights": {"tuned": {"of": {"path": str(tmp_path)}, "steps": 1}}})


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
