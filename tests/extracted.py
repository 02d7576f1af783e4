"""Hidden states of a few reviews, extracted and read back."""

from functools import cache

import numpy as np
import polars as pl
import torch
from transformers import PreTrainedTokenizerFast

from conftest import ROOT
from homogenization.models.untrained import train_tokenizer
from homogenization.states.extraction import extract
from homogenization.states.held import HeldStates
from homogenization.states.long_texts import Texts
from homogenization.states.model import LanguageModel
from homogenization.states.network import packed_model
from homogenization.states.reading import Reading
from homogenization.states.store import open_store
from homogenization.states.writer import written_store
from tiny_models import network

IDENTITY = {"model": "tiny", "variant": "front", "shard": "001"}
EMBEDDED = pl.read_ndjson(ROOT / "config" / "reviews.jsonl")["text"].to_list()


def run(model, texts, path, token_budget=2048, record_attention=True, dtype="auto", chunk_tokens=1000, layers=None):
    return extract(
        reading_of(model, texts, token_budget, record_attention, dtype=dtype, layers=layers), path, chunk_tokens
    )


def held(model, texts, token_budget=2048, record_attention=True, dtype="auto", layers=None):
    """States that the model is about to read."""
    return HeldStates(reading_of(model, texts, token_budget, record_attention, dtype=dtype, layers=layers))


def reading_of(model, texts, token_budget=2048, record_attention=True, **options):
    texts = texts if isinstance(texts, Texts) else Texts([f"r{index}" for index in range(len(texts))], texts)
    return Reading(model, texts, IDENTITY, token_budget, record_attention=record_attention, **options)


def read(path):
    with open_store(path) as store:
        states = np.stack([store.residual_stream(layer) for layer in store.layers])
        return states, store.final_norm(), store.attention_received(), store.review_offsets


@cache
def trained_tokenizer():
    return train_tokenizer(EMBEDDED, 300)


def tiny(config, max_tokens=64, dtype=torch.float32, weights=None):
    """A language model around a tiny random network."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>")
    made = network(config, dtype)
    if weights is not None:
        weights(made)
    provenance = {"dtype": str(dtype).removeprefix("torch."), "bos": "default"}
    return LanguageModel(packed_model(made), tokenizer, max_tokens, "default", provenance)


def write_in_threads(monkeypatch):
    """Let extraction write as it does where the model runs on another device than the CPU."""

    def with_threads(*arguments):
        return written_store(*arguments[:-1], writing_threads=2)

    monkeypatch.setattr("homogenization.states.extraction.written_store", with_threads)


def pack_reviews_together(monkeypatch):
    """Let a pass on the CPU read several reviews, as one on another device does."""
    monkeypatch.setattr("homogenization.states.network.gains_from_packs", lambda device: True)
