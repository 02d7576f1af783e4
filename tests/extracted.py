"""Hidden states of a few reviews, extracted and read back."""

from functools import cache

import numpy as np
import polars as pl
import torch
from transformers import PreTrainedTokenizerFast

from conftest import ROOT
from homogenization.models.network import LanguageModel
from homogenization.models.untrained import train_tokenizer
from homogenization.states.extraction import extract
from homogenization.states.store import open_store
from homogenization.states.texts import Texts
from tiny_models import network

IDENTITY = {"model": "tiny", "variant": "front", "shard": "001"}
EMBEDDED = pl.read_ndjson(ROOT / "config" / "reviews.jsonl")["text"].to_list()


def run(model, texts, path, **options):
    texts = texts if isinstance(texts, Texts) else Texts([f"r{index}" for index in range(len(texts))], texts)
    return extract(model, texts, IDENTITY, path, **options)


def read(path):
    with open_store(path) as store:
        states = np.stack([store.residual_stream(layer) for layer in store.layers])
        return states, store.final_norm(), (store.attention() or [None])[0], store.review_offsets


@cache
def trained_tokenizer():
    return train_tokenizer(EMBEDDED, 300)


def tiny(config, max_tokens=512, dtype=torch.float32, weights=None, head=False):
    """A model around a tiny random network, with or without a language-model head."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer(), bos_token="<s>")
    made = network(config, dtype, head)
    if weights is not None:
        weights(made)
    provenance = {"dtype": str(dtype).removeprefix("torch."), "bos": "default"}
    return LanguageModel(made, tokenizer, max_tokens, "default", provenance)
