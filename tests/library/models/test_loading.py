"""Loading models: what is recorded, and what is refused with which words."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from homogenization.models.loading import load_network
from homogenization.models.network import load_model
from homogenization.run.errors import HomogenizationError
from tiny_folders import ENTRY, edit
from tiny_models import BEHIND_PADDING, CONFIGS, FURTHER


def load(folder, **changes):
    return load_model({**ENTRY, "weights": {"built": str(folder)}, **changes})


def test_provenance_is_recorded(folder):
    model = load_model({"weights": {"path": str(folder)}, "bos": "always", "dtype": "bfloat16", "device": "cpu"})
    assert model.network.dtype == torch.bfloat16
    record = {key: value for key, value in model.provenance.items() if key != "libraries"}
    assert record == {
        "weights": f"the local folder {folder}",
        "revision": None,
        "architecture": "LlamaModel",
        "dtype": "bfloat16",
        "bos": "always",
        "max_tokens": 64,
    }
    assert model.provenance["libraries"]["torch"] == torch.__version__


def test_a_model_in_several_files_is_read_and_a_pickle_beside_it_is_not(built, folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    places = {}
    for number in (1, 2):
        name = f"model-0000{number}-of-00002.safetensors"
        part = dict(sorted(tensors.items())[number - 1 :: 2])
        save_file(part, folder / name, metadata={"format": "pt"})
        places |= dict.fromkeys(part, name)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    torch.save({}, folder / "pytorch_model.bin")
    network, plain = load(folder).network, load(built).network
    assert all(map(torch.equal, network.state_dict().values(), plain.state_dict().values()))


@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen2", "gpt2", "gpt_neox", "opt", "bert", "modernbert"])
def test_a_model_has_the_head_that_its_files_have(folder, name):
    config = (CONFIGS | FURTHER)[name]
    predicts = name not in ("bert", "modernbert")
    classes = [(transformers.AutoModel, predicts and config.tie_word_embeddings)]
    classes += [(transformers.AutoModelForCausalLM, True)] if predicts else []
    for auto_class, has_head in classes:
        made = auto_class.from_config(config).eval()
        made.save_pretrained(folder)
        model = load(folder)
        assert model.has_head == has_head
        assert (model.causal, model.n_blocks, model.width) == (predicts, 3, 48)
        ours, theirs = model.base.state_dict(), made.base_model.state_dict()
        assert all(torch.equal(tensor, theirs[key]) for key, tensor in ours.items())
        if predicts and not has_head:
            with pytest.raises(HomogenizationError, match=r"lack 1 tensors of .*, such as (lm_head|embed_out)\.weight"):
                load_network(transformers.AutoModelForCausalLM, folder, "float32")


@pytest.mark.parametrize("name", ["layers.1.mlp.up_proj.weight", "norm.weight", "embed_tokens.weight"])
def test_missing_tensors_are_not_filled_with_random_numbers(folder, name):
    tensors = load_file(folder / "model.safetensors")
    del tensors[name]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(HomogenizationError, match=rf"the safetensors lack .*, such as .*{name}"):
        load(folder)


def test_damaged_weights_are_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(HomogenizationError, match=f"{folder}: the weights can't be loaded"):
        load(folder)


@pytest.mark.parametrize(
    "fields",
    [
        {"num_hidden_layers": "two"},
        {"model_type": "new", "auto_map": {"AutoConfig": "c.New"}},
        {"num_hidden_layers": 3},
        {"intermediate_size": 48},
    ],
)
def test_a_configuration_that_does_not_fit_is_named(folder, fields):
    edit(folder / "config.json", **fields)
    with pytest.raises(HomogenizationError, match=str(folder)):
        load(folder)


@pytest.mark.parametrize("config", BEHIND_PADDING.values(), ids=BEHIND_PADDING)
def test_a_text_begins_behind_the_position_of_padding(folder, config):
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    assert load(folder).max_tokens == 512 - 4


def test_a_context_ends_where_rotation_begins_to_depend_on_the_length(folder):
    edit(
        folder / "config.json",
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "short_factor": [1.0] * 4,
            "long_factor": [2.0] * 4,
            "factor": 2.0,
            "original_max_position_embeddings": 32,
        },
    )
    assert load(folder).max_tokens == 32


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model_type": "t5", "is_encoder_decoder": True}, "t5: an encoder-decoder"),
        ({"altup_num_inputs": 4}, "llama: it keeps several residual streams"),
        ({"index_topk": 8}, "llama: an indexer chooses"),
    ],
)
def test_architectures_without_one_residual_stream_are_refused_by_name(folder, fields, words):
    edit(folder / "config.json", **fields)
    with pytest.raises(HomogenizationError, match=words):
        load(folder)
