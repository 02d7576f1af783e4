"""Extraction end to end: reviews by themselves, and what the store and the run record say."""

import json

import numpy as np
import polars as pl
import pytest
import torch
from tokenizers import Tokenizer

from extracted import EMBEDDED, IDENTITY, read, run, tiny
from homogenization.models.untrained import train_tokenizer
from homogenization.run.errors import HomogenizationError
from homogenization.states.store import open_store
from script import run_script
from tiny_models import CONFIGS


def test_the_store_and_the_record_tell_what_was_done(tmp_path):
    model = tiny(CONFIGS["qwen2"], 64)
    record = run(model, ["Short and good.", EMBEDDED[0], "Not that good."], tmp_path / "s.zarr.zip")
    with open_store(tmp_path / "s.zarr.zip") as store:
        assert store.review_ids == ["r0", "r2"]
        assert (store.layers, store.width) == ([0, 1, 2, 3], 48)
        assert {**store.attributes, **model.provenance, **IDENTITY} == store.attributes
        n_tokens = int(store.review_offsets[-1])
        assert [of.shape for of in store.attention()] == [(3, n_tokens), (3, n_tokens), (2, 3, 4)]
    assert {name: record[name] for name in IDENTITY} == IDENTITY
    counted = ("n_reviews", "n_left_out", "n_tokens", "max_tokens")
    assert [record[name] for name in counted] == [2, 1, n_tokens, 64]
    assert (record["device"], record["dtype"]) == ("cpu", "float32")
    assert record["seconds_total"] > 0
    json.dumps(record)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_auto_stores_the_model_dtype_without_loss(tmp_path, dtype):
    model = tiny(CONFIGS["llama"], dtype=dtype)
    run(model, EMBEDDED[:2], tmp_path / "own.zarr.zip")
    run(model, EMBEDDED[:2], tmp_path / "wide.zarr.zip", dtype="float32")
    np.testing.assert_array_equal(read(tmp_path / "own.zarr.zip")[0], read(tmp_path / "wide.zarr.zip")[0])
    with open_store(tmp_path / "own.zarr.zip") as store:
        assert store.attributes["storage_dtype"] == str(dtype).removeprefix("torch.")


def test_states_that_are_not_finite_name_layer_and_review(tmp_path):
    model = tiny(CONFIGS["llama"])
    first, second = (set(model.tokenizer(text)["input_ids"]) for text in EMBEDDED[:2])
    with torch.no_grad():
        model.base.embed_tokens.weight[min(second - first)] = torch.inf
    with pytest.raises(HomogenizationError, match=r"front, shard 001, residual_stream/000, review r1: .*not finite"):
        run(model, EMBEDDED[:2], tmp_path / "s.zarr.zip")
    assert not list(tmp_path.iterdir())


def test_some_layers_alone_are_stored(tmp_path):
    model = tiny(CONFIGS["llama"])
    run(model, EMBEDDED[:2], tmp_path / "all.zarr.zip")
    run(model, EMBEDDED[:2], tmp_path / "some.zarr.zip", layers=[-1, 1, 3])
    states, final_norm, received, _ = read(tmp_path / "all.zarr.zip")
    with open_store(tmp_path / "some.zarr.zip") as store:
        assert (store.layers, store.n_blocks) == ([1, 3], 3)
        np.testing.assert_array_equal(store.residual_stream(1), states[1])
        np.testing.assert_array_equal(store.residual_stream(3), states[3])
        np.testing.assert_array_equal(store.final_norm(), final_norm)
        np.testing.assert_array_equal(store.attention()[0], received)
        points = [(point, layer) for point, layer, _ in store.points()]
    assert points == [("residual_stream", 1), ("residual_stream", 3), ("final_norm", 3)]


@pytest.mark.parametrize("layer", [4, -5])
def test_layers_that_the_model_does_not_have_are_named(tmp_path, layer):
    with pytest.raises(HomogenizationError, match=rf"states\.layers: {layer} .*model tiny, .* 3 blocks.*0 .*to 3.* -4"):
        run(tiny(CONFIGS["llama"]), EMBEDDED[:1], tmp_path / "s.zarr.zip", layers=[0, layer])
    assert not list(tmp_path.iterdir())


def test_the_tokenizer_of_a_random_model_has_not_seen_the_sample(tmp_path):
    llama = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    corpus, sampled = str(tmp_path / "clean.parquet"), str(tmp_path / "000.parquet")
    reviews = pl.DataFrame({"review_id": ["x", "y", "z"], "text": EMBEDDED[:3]})
    reviews.write_parquet(corpus)
    reviews[2:].write_parquet(sampled)
    folder, inputs = tmp_path / "models/tiny", {"corpus": corpus, "sampled": [sampled]}
    drawn = {"random": llama, "seed": 0}
    run_script("build_random_model", tmp_path / "log", inputs, {"config": str(folder / "config.json")}, drawn)
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    assert vocabulary == train_tokenizer(EMBEDDED[:2]).get_vocab() != train_tokenizer(EMBEDDED[:3]).get_vocab()
