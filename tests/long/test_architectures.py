"""Every architecture that is read, saved and loaded as a job does: its states are those of the network in memory."""

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from homogenization.models.network import LanguageModel, load_model
from homogenization.models.untrained import train_tokenizer
from homogenization.states.forward import forward
from tiny_models import CONFIGS, FURTHER, HEADLESS, WITHOUT_INTERFACE, network, random_texts

ALL = CONFIGS | FURTHER | WITHOUT_INTERFACE


@pytest.mark.parametrize("name", ALL)
def test_a_loaded_model_gives_what_its_network_gave(tmp_path, name):
    made = network(ALL[name], head=name not in HEADLESS)
    made.save_pretrained(tmp_path)
    tokenizer = train_tokenizer(["A film that I will not forget."], 300)
    saved = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", model_max_length=512)
    saved.save_pretrained(tmp_path)
    entry = {"dtype": "float32", "device": "cpu", "bos": "default"}
    model = load_model(entry | {"weights": {"path": str(tmp_path)}})
    in_memory = LanguageModel(made, None, 512, "default", {})
    assert (model.has_head, model.causal) == (in_memory.has_head, in_memory.causal)
    for weight in model.network.parameters():  # a product of one row rounds by where weights lie in memory
        weight.data = weight.data.clone()
    # attention without the interface is of another kind in memory
    close = {"rtol": 1e-5, "atol": 1e-5} if name in WITHOUT_INTERFACE else {"rtol": 0, "atol": 0}
    for text in random_texts([70, 1]):
        ours, expected = forward(model, text), forward(in_memory, text)
        assert (ours.received is None) == (name in WITHOUT_INTERFACE)
        for part in ("states", "last", "logits", "received"):
            if getattr(expected, part) is not None:
                torch.testing.assert_close(getattr(ours, part), getattr(expected, part), **close)
