"""Untrained controls: the same bytes each time, in any architecture."""

import pytest
import torch

from homogenization.models.built import BUILT_FILES
from homogenization.models.network import load_model
from homogenization.models.untrained import build_random_model, train_tokenizer
from homogenization.run.errors import HomogenizationError
from tiny_folders import ENTRY, LLAMA, TEXTS
from tiny_models import CONFIGS


def changed(folder, other):
    return [name for name in BUILT_FILES.values() if (folder / name).read_bytes() != (other / name).read_bytes()]


def test_a_random_model_is_the_same_bytes_each_time_and_its_seed_changes_the_weights_alone(built, tmp_path):
    assert sorted(path.name for path in built.iterdir()) == sorted(BUILT_FILES.values())
    torch.manual_seed(99)  # the state of the generator outside does not matter, and stays
    before = torch.get_rng_state()
    build_random_model(LLAMA, 0, TEXTS, tmp_path / "again")
    assert torch.equal(before, torch.get_rng_state())
    assert changed(tmp_path / "again", built) == []
    build_random_model(LLAMA, 1, TEXTS, tmp_path / "other")
    assert changed(tmp_path / "other", built) == ["model.safetensors"]


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "gpt_neox", "bert", "qwen2"])
def test_any_architecture_can_have_random_weights(name, tmp_path):
    config = CONFIGS[name].to_diff_dict()
    fields = {key: value for key, value in config.items() if not key.endswith("token_id") and key != "vocab_size"}
    fields.pop("transformers_version")
    build_random_model(fields, 0, TEXTS, tmp_path)
    model = load_model({**ENTRY, "weights": {"built": str(tmp_path)}})
    assert model.n_blocks == 3
    text = "ends, 1997's HARBOUR\n\n\nfilms!!"
    assert model.tokenizer(text)["input_ids"] == train_tokenizer(TEXTS).encode(text).ids
    assert model.tokenizer(text)["input_ids"][0] == model.tokenizer.bos_token_id == 0


@pytest.mark.parametrize(
    ("fields", "options", "words"),
    [
        ({"hiden_size": 8}, {}, r"weights\.random\.hiden_size.*'hidden_size'"),
        ({"bos_token_id": 7}, {}, r"weights\.random\.bos_token_id: .*Leave it out"),
        ({"model_type": "lama"}, {}, r"model_type: 'lama'.*'llama'"),
        ({"num_attention_heads": "two"}, {}, "weights.random: llama refuses"),
        ({"model_type": "clip_text_model"}, {"head": True}, "no AutoModelForCausalLM of clip_text_model"),
    ],
)
def test_what_can_not_be_built_is_named(tmp_path, fields, options, words):
    with pytest.raises(HomogenizationError, match=words):
        build_random_model(LLAMA | fields, 0, TEXTS, tmp_path, **options)
    assert not list(tmp_path.iterdir())
