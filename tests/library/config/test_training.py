"""One entry of the configuration that is trained stands for a model of each seed; a penalty has its control."""

from configured import trained
from conftest import SMALL
from homogenization.config.study import load_study


def study_of(models):
    return load_study(SMALL | {"models": SMALL["models"] | models})


def test_an_entry_is_a_model_of_each_seed():
    study = study_of({"own": trained(seeds=[0, 2]), "none": trained(seeds=[1])})
    assert list(study.models) == ["tiny", "own-0", "own-2", "none-1"]
    assert study.trained_models == ["none-1", "own-0", "own-2"]
    weights = study.models["own-2"].weights
    assert weights.files("r", "own-2")[0] == "r/training/own-2/config.json"
    assert weights.start.files("r", "own-2")[0] == "r/models/own-2/config.json"
    assert study.random_sources["own-2"].seed == weights.seed == 2


def test_a_control_differs_by_the_weight_of_the_penalty_alone():
    penalty = {"metric": "centred_effective_rank", "weight": 0.5, "layers": [2]}
    models = {
        "control": trained(seeds=[0, 1]),
        "rank": trained(seeds=[0, 1, 2], penalty=penalty),
        "cosine": trained(penalty={"weight": 2.0}),
        "longer": trained(steps=200, penalty=penalty),
    }
    expected = {"rank-0": "control-0", "rank-1": "control-1", "cosine-0": "control-0"}
    assert study_of(models).penalty_controls == expected
