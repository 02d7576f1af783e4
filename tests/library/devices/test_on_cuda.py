"""The library on a GPU has the numbers that it has on the CPU: `make test-gpu`."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from extracted import EMBEDDED, IDENTITY, read, run, trained_tokenizer
from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition
from homogenization.interventions.intervened import intervene
from homogenization.measures.components import NUMBERS, measure
from homogenization.models.network import LanguageModel
from homogenization.models.tokens import tokenize
from homogenization.states.texts import Texts
from tiny_models import CONFIGS, FURTHER

NETWORKS = {name: (CONFIGS | FURTHER)[name] for name in ("llama", "gemma2", "gemma3_text", "mixtral")}
CONDITIONS = [
    Condition(UNTOUCHED),
    Condition(STEERING, "first", 0.2),
    Condition(MASKED, "massive"),
    Condition(POSITIONS, "constant"),
]


def tiny_model(name: str, device: str) -> LanguageModel:
    """A model with its head, the same in each call."""
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(NETWORKS[name]).eval().to(device)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>")
    return LanguageModel(network, tokenizer, 400, "default", {"dtype": "float32"})


def extracted(model: LanguageModel, path: str) -> list[np.ndarray]:
    run(model, EMBEDDED[:3], path)
    return list(read(path)[:3])


def components(model: LanguageModel, _: str) -> list[np.ndarray]:
    tables, _ = measure(model, Texts(["a", "b"], EMBEDDED[:2]), IDENTITY)
    return [tables["components"].select(*NUMBERS).to_numpy()]


def intervened(model: LanguageModel, _: str) -> list[np.ndarray]:
    tokens = tokenize(model.tokenizer, ["a", "b", "c"], EMBEDDED[:3], "default").by_review
    reviews = dict(zip("abc", tokens, strict=True))
    made = [intervene(model, reviews, condition, ["cosine_anisotropy"], seed=0) for condition in CONDITIONS]
    values = [one["metrics"]["value"].to_numpy() for one in made]
    return values + [one["doses"].select("kl", "cross_entropy", "moved_mass").to_numpy() for one in made]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("stage", [extracted, components, intervened])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_stage_has_the_same_numbers_on_a_gpu(stage, name, tmp_path):
    made = [stage(tiny_model(name, device), str(tmp_path / f"{device}.zarr.zip")) for device in ("cuda", "cpu")]
    for found, expected in zip(*made, strict=True):
        assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
