"""Loading models: what is recorded, and what is refused with which words."""

import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save_file

from homogenization.models.built import BUILT_FILES
from homogenization.models.devices import choose_device
from homogenization.models.tokens import tokenize
from homogenization.models.untrained import build_random_model
from homogenization.plan.token_counts import token_counts
from homogenization.run.errors import HomogenizationError
from homogenization.states.model import load_model
from homogenization.states.network import transformer_of
from tiny_folders import ENTRY, LLAMA, TEXTS, edit
from tiny_models import CONFIGS


def load(folder, **changes):
    return load_model({**ENTRY, "weights": {"path": str(folder)}, **changes})


def test_a_random_model_is_the_same_bytes_each_time(built, tmp_path):
    assert sorted(path.name for path in built.iterdir()) == sorted(BUILT_FILES.values())
    torch.manual_seed(99)  # the state of the generator outside does not matter, and stays
    before = torch.get_rng_state()
    build_random_model(LLAMA, 0, TEXTS, 300, tmp_path / "again")
    assert torch.equal(before, torch.get_rng_state())
    for name in BUILT_FILES.values():
        assert (tmp_path / "again" / name).read_bytes() == (built / name).read_bytes()


def test_the_seed_changes_the_weights_alone(built, tmp_path):
    build_random_model(LLAMA, 1, TEXTS, 300, tmp_path)
    changed = [name for name in BUILT_FILES.values() if (tmp_path / name).read_bytes() != (built / name).read_bytes()]
    assert changed == ["model.safetensors"]


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "gpt_neox", "bert", "qwen2"])
def test_any_architecture_can_have_random_weights(name, tmp_path):
    config = CONFIGS[name].to_diff_dict()
    fields = {key: value for key, value in config.items() if not key.endswith("token_id") and key != "vocab_size"}
    fields.pop("transformers_version")
    build_random_model(fields, 0, TEXTS, 300, tmp_path)
    model = load(tmp_path)
    assert model.transformer.n_blocks == 3
    assert model.tokenizer("A film")["input_ids"][0] == model.tokenizer.bos_token_id


def test_misspelt_fields_and_architectures_are_named(tmp_path):
    with pytest.raises(HomogenizationError, match=r"weights\.random\.hiden_size.*'hidden_size'"):
        build_random_model({**LLAMA, "hiden_size": 8}, 0, TEXTS, 300, tmp_path)
    with pytest.raises(HomogenizationError, match=r"model_type: 'lama'.*'llama'"):
        build_random_model({**LLAMA, "model_type": "lama"}, 0, TEXTS, 300, tmp_path)


def test_provenance_is_recorded(folder):
    model = load(folder, bos="always", max_tokens=32, dtype="bfloat16")
    assert model.transformer.network.dtype == torch.bfloat16
    assert model.max_tokens == 32
    record = {key: value for key, value in model.provenance.items() if key != "libraries"}
    assert record == {
        "weights": f"the local folder {folder}",
        "revision": None,
        "architecture": "LlamaModel",
        "dtype": "bfloat16",
        "bos": "always",
        "max_tokens": 32,
    }
    assert model.provenance["libraries"]["torch"] == torch.__version__


def test_more_tokens_than_the_context_are_refused_with_both_numbers(folder):
    assert load(folder).max_tokens == 64
    with pytest.raises(HomogenizationError, match=r"max_tokens: 65 .* context of 64"):
        load(folder, max_tokens=65)


def test_long_texts_are_refused_where_rotation_depends_on_the_longest(folder):
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
    with pytest.raises(HomogenizationError, match="Set max_tokens to at most 32"):
        load(folder)
    assert load(folder, max_tokens=32).max_tokens == 32


def test_bos_of_the_configuration_opens_a_text_where_the_tokenizer_names_none(folder):
    # as Qwen2.5: nothing opens a text by itself, the tokenizer names no BOS, config.json does
    edit(folder / "tokenizer.json", post_processor=None)
    edit(folder / "tokenizer_config.json", bos_token=None)
    edit(folder / "config.json", bos_token_id=7)
    plain, opened = (load(folder, bos=bos) for bos in ("default", "always"))
    assert plain.tokenizer.bos_token_id is None
    assert len(opened.tokenizer) == len(plain.tokenizer)
    default, always, never = (
        tokenize(model.tokenizer, ["a", "b"], TEXTS[:2], bos)
        for model, bos in ((plain, "default"), (opened, "always"), (plain, "never"))
    )
    for index in range(2):
        assert always.by_review[index].tolist() == [7, *default.by_review[index]]
        assert always.offsets_of(index).tolist() == [[0, 0], *default.offsets_of(index).tolist()]
        assert never.by_review[index].tolist() == default.by_review[index].tolist()
    pl.DataFrame({"review_id": ["a", "b"], "text": TEXTS[:2]}).write_parquet(folder / "texts.parquet")
    entry = {"bos": "always", "max_tokens": None}
    counted = token_counts(folder, entry, [("original", "0", "original")], [str(folder / "texts.parquet")])
    assert counted["lengths"].to_list() == [always.lengths.tolist()]


@pytest.mark.parametrize(("token_id", "said"), [(None, "nor its config.json"), (10**6, "has no such token")])
def test_bos_without_a_bos_token_is_refused(folder, token_id, said):
    edit(folder / "tokenizer.json", post_processor=None)
    edit(folder / "tokenizer_config.json", bos_token=None)
    edit(folder / "config.json", bos_token_id=token_id)
    with pytest.raises(HomogenizationError, match=f"bos: 'always', but .*{said}"):
        load(folder, bos="always")
    load(folder, bos="default")


def test_no_tokenizer_is_named(folder):
    (folder / "tokenizer.json").unlink()
    with pytest.raises(HomogenizationError, match="tokenizer"):
        load(folder)


@pytest.mark.parametrize("damage", ["header", "truncated", "empty"])
def test_damaged_weights_are_named(folder, damage):
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    if damage == "header":
        content[20] ^= 0xFF
    path.write_bytes({"header": content, "truncated": content[:-100], "empty": b""}[damage])
    with pytest.raises(HomogenizationError, match="the weights can't be loaded"):
        load(folder)


def test_missing_tensors_are_not_filled_with_random_numbers(folder):
    path = folder / "model.safetensors"
    tensors = load_file(path)
    del tensors["layers.1.mlp.up_proj.weight"]
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(HomogenizationError, match=r"lack 1 tensors of LlamaModel, such as layers\.1\.mlp"):
        load(folder)


def test_encoder_decoders_are_refused_by_name(folder):
    edit(folder / "config.json", model_type="t5", is_encoder_decoder=True)
    with pytest.raises(HomogenizationError, match="t5: an encoder-decoder"):
        load(folder)


def test_a_device_that_is_not_there_is_named():
    absent = "mps" if not torch.backends.mps.is_available() else "cuda"
    with pytest.raises(HomogenizationError, match=f"device: '{absent}' is not available.*cpu"):
        choose_device(absent)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")])
def test_auto_takes_cuda_then_mps_then_cpu(monkeypatch, cuda, mps, chosen):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device("auto").type == chosen


def test_blocks_that_cannot_be_told_apart_are_refused(folder):
    network = load(folder).transformer.network
    network.second_list = torch.nn.ModuleList(torch.nn.Identity() for _ in network.layers)
    with pytest.raises(HomogenizationError, match="LlamaModel: 2 lists of 2 blocks"):
        transformer_of(network)
