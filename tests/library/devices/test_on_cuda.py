"""The library on a GPU has the numbers that it has on the CPU: `make test-gpu`."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from extracted import EMBEDDED, IDENTITY, reading_of, trained_tokenizer
from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition
from homogenization.interventions.intervened import intervene
from homogenization.interventions.schedule import Reviews
from homogenization.measures.components import NUMBERS, component_states
from homogenization.states.extraction import read_states
from homogenization.states.model import LanguageModel
from homogenization.states.network import transformer_of
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
    return LanguageModel(
        transformer_of(network.base_model), tokenizer, 400, "default", {"dtype": "float32"}, head=network
    )


def extracted(model: LanguageModel) -> list[np.ndarray]:
    states = read_states(reading_of(model, EMBEDDED[:3]))
    return [*map(states.residual_stream, states.layers), states.final_norm(), states.attention_received()]


def components(model: LanguageModel) -> list[np.ndarray]:
    table, _ = component_states(reading_of(model, EMBEDDED[:2], record_attention=False))
    return [table.select(*NUMBERS).to_numpy()]


def intervened(model: LanguageModel) -> list[np.ndarray]:
    tokens = reading_of(model, EMBEDDED[:3]).tokens
    reviews = Reviews(model.with_head, "tiny", ["a", "b", "c"], tokens.by_review, 0)
    made = [intervene(reviews, condition, ["cosine_anisotropy"], IDENTITY) for condition in CONDITIONS]
    values = [one.metrics["value"].to_numpy() for one in made]
    return values + [one.doses.select("kl", "cross_entropy", "moved_mass").to_numpy() for one in made]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("stage", [extracted, components, intervened])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_stage_has_the_same_numbers_on_a_gpu(stage, name):
    for found, expected in zip(stage(tiny_model(name, "cuda")), stage(tiny_model(name, "cpu")), strict=True):
        assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
