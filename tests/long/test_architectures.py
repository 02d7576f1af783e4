"""Every architecture that is read beside those of the fast tests, saved, loaded and read as a job does."""

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from homogenization.models.untrained import train_tokenizer
from homogenization.states.model import load_model
from homogenization.states.network import forward
from tiny_models import CONFIGS, FURTHER, network, random_texts, reference

ALL = CONFIGS | FURTHER


@pytest.mark.parametrize("name", ALL)
def test_states_and_attention_are_those_of_transformers(tmp_path, name):
    network(ALL[name]).save_pretrained(tmp_path)
    tokenizer = train_tokenizer(["A film that I will not forget."], 300)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(tmp_path)
    entry = {"dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None}
    model = load_model(entry | {"weights": {"path": str(tmp_path)}}).transformer
    for text in random_texts([70, 23, 1, 48]):
        states: list = []
        result = forward(model, text, lambda _, taken, states=states: states.append(taken.clone().numpy()))
        expected = reference(model.network, text)
        close = {"rtol": 1e-4, "atol": 1e-4}
        np.testing.assert_allclose(np.stack(states), np.stack(expected.residual_stream), **close)
        np.testing.assert_allclose(result.last_hidden_state, expected.last_hidden_state, **close)
        np.testing.assert_allclose(result.received, expected.attention.mean(axis=1).sum(axis=1), **close)
