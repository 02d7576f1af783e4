"""One entry of the configuration that is trained stands for a model of each seed."""

from configured import trained
from conftest import SMALL
from homogenization.config.study import load_study


def test_an_entry_is_a_model_of_each_seed():
    models = {"own": trained(seeds=[0, 2]), "none": trained(positions="none", seeds=[1])}
    study = load_study(SMALL | {"models": SMALL["models"] | models})
    assert list(study.models) == ["tiny", "own-0", "own-2", "none-1"]
    assert study.trained_models == ["none-1", "own-0", "own-2"]
    weights = study.models["own-2"].weights
    assert weights.files("r", "own-2")[0] == "r/training/own-2/config.json"
    assert weights.start_files("r", "own-2")[0] == "r/models/own-2/config.json"
    assert study.random_sources["own-2"].seed == weights.seed == 2
    assert study.random_sources["none-1"].positions == "none"
