"""Every architecture that docs/states.md lists beside those of the fast tests, saved, loaded and read as a job does."""

from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from homogenization.models.untrained import train_tokenizer
from homogenization.states.check import check_against_eager
from homogenization.states.model import load_model
from homogenization.states.network import run_packed
from tiny_models import CONFIGS, FURTHER, WINDOW, network, random_texts, reference

LENGTHS = [70, 23, 1, 48]
ALL = CONFIGS | FURTHER


def saved(name: str, folder: Path) -> Path:
    network(ALL[name]).save_pretrained(folder)
    tokenizer = train_tokenizer(["A film that I will not forget."], 300)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", ALL)
def test_states_and_attention_are_those_of_transformers(tmp_path, name):
    entry = {"dtype": "float32", "device": "cpu", "bos": "default", "max_tokens": None, "token_budget": 2048}
    model = load_model(entry | {"weights": {"path": str(saved(name, tmp_path))}}).packed
    check_against_eager(model, 2 * WINDOW, record_attention=True)
    states: list = []
    texts = random_texts(LENGTHS)
    ids = [token for text in texts for token in text]
    result = run_packed(model, ids, LENGTHS, True, lambda _, taken: states.append(taken.clone().numpy()))
    start = 0
    for text in texts:
        stop = start + len(text)
        expected = reference(model.network, text)
        np.testing.assert_allclose(
            np.stack(states)[:, start:stop], np.stack(expected.residual_stream), rtol=1e-4, atol=1e-4
        )
        np.testing.assert_allclose(
            result.last_hidden_state[start:stop], expected.last_hidden_state, rtol=1e-4, atol=1e-4
        )
        received = expected.attention.mean(axis=1).sum(axis=1)
        np.testing.assert_allclose(result.received[:, start:stop], received, rtol=1e-4, atol=1e-4)
        start = stop
