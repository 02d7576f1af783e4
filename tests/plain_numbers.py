"""Cells of the final tables by transformers and numpy alone, written the plain way."""

import importlib.util

import numpy as np
import polars as pl
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from conftest import ROOT
from homogenization.tables.metrics import values_of

_specification = importlib.util.spec_from_file_location("plain", ROOT / "benchmarks" / "plain.py")
plain_script = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(plain_script)


def plain_states(folder, text: str, opening: bool) -> tuple[list[np.ndarray], np.ndarray, list[np.ndarray]]:
    """Residual stream per layer, last hidden state, attention maps (heads averaged) of one text, by transformers."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    encoded = tokenizer(text, return_tensors="pt")
    if opening:
        assert encoded["input_ids"][0, 0] in (tokenizer.bos_token_id, tokenizer.cls_token_id)
    with torch.inference_mode():
        output = network(**encoded, output_hidden_states=True, output_attentions=True)
    # transformers' last entry stands after the final norm where there is one: the last block is read by a hook
    taken = []
    blocks = network.layers if hasattr(network, "layers") else network.encoder.layer
    hook = blocks[-1].register_forward_hook(
        lambda module, inputs, out: taken.append(out[0] if isinstance(out, tuple) else out)
    )
    with torch.inference_mode():
        network(**encoded)
    hook.remove()
    states = [*output.hidden_states[:-1], taken[0]]
    return (
        [layer[0].double().numpy() for layer in states],
        output.last_hidden_state[0].double().numpy(),
        [layer[0].mean(dim=0).double().numpy() for layer in output.attentions],
    )


def effective_rank(tokens: np.ndarray) -> float:
    values = np.linalg.svd(tokens, compute_uv=False)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def max_explainable_variance(tokens: np.ndarray) -> float:
    values = np.linalg.svd(tokens, compute_uv=False) ** 2
    return float(values[0] / values.sum())


def resultant_length(tokens: np.ndarray) -> float:
    return float(np.linalg.norm((tokens / np.linalg.norm(tokens, axis=1, keepdims=True)).mean(axis=0)))


SPECTRAL = {"effective_rank": effective_rank, "max_explainable_variance": max_explainable_variance}


def compare_with_tables(results, folder, model: str, variant: str, n_reviews: int) -> int:
    """Compare every cell of some reviews, and return how many were compared."""
    metrics = values_of(pl.read_parquet(results / "tables/metrics.parquet")).filter(model=model, variant=variant)
    reviews = pl.read_parquet(results / f"variants/{variant}/*.parquet")
    n_compared = 0
    for review_id in sorted(metrics["review_id"].unique())[:n_reviews]:
        text = reviews.filter(review_id=review_id)["text"].item()
        states, last, attention = plain_states(folder, text, opening=True)
        expected = {}
        points = [("residual_stream", layer, tokens) for layer, tokens in enumerate(states)]
        for point, layer, tokens in [*points, ("final_norm", len(states) - 1, last)]:
            for name, compute in SPECTRAL.items():
                expected[point, layer, "raw", name] = compute(tokens)
                expected[point, layer, "raw_without_first", name] = compute(tokens[1:])
            expected[point, layer, "all_tokens", "resultant_length"] = resultant_length(tokens)
            expected[point, layer, "without_first", "resultant_length"] = resultant_length(tokens[1:])
        for block, weights in enumerate(attention, start=1):
            share = weights.sum(axis=0)[0] / len(weights)
            expected["residual_stream", block, "all_tokens", "first_token_attention_share"] = share
        for row in metrics.filter(review_id=review_id).iter_rows(named=True):
            key = (row["point"], row["layer"], row["view"], row["metric"])
            if key in expected:
                assert row["value"] == pytest.approx(expected[key], rel=2e-5), key
                n_compared += 1
    return n_compared
