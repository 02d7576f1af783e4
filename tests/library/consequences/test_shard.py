"""Pooled states and loss of a tiny model, as other code computes them."""

import numpy as np
import polars as pl
import pytest
import torch
import transformers

from homogenization.interventions.readings import pooled
from homogenization.run.parquet import read_table, write_table
from script import run_script
from tiny_blocks import EMBEDDED, saved

NAMES = ["a", "b", "c"]


def hidden_states(folder, text):
    """(layers, tokens, width) of the residual stream, by transformers alone; and the logits."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    taken = []
    for block in network.model.layers:
        block.register_forward_pre_hook(lambda _, inputs: taken.append(inputs[0][0]))
    network.model.layers[-1].register_forward_hook(
        lambda _module, _inputs, output: taken.append((output[0] if isinstance(output, tuple) else output).squeeze(0))
    )
    ids = torch.tensor([tokenizer(text)["input_ids"]])
    with torch.no_grad():
        logits = network(ids).logits[0]
    return torch.stack(taken).numpy(), logits, ids[0]


def test_pooled_states_and_loss_are_those_of_transformers(tmp_path):
    entry = saved(tmp_path / "llama", "llama", True)
    reviews = pl.DataFrame({"review_id": NAMES, "text": EMBEDDED[:3], "rank": [0, 1, 2]})
    write_table(reviews, tmp_path / "original.parquet")
    inputs = dict.fromkeys(("original", "variant"), str(tmp_path / "original.parquet"))
    outputs = {name: str(tmp_path / f"{name}.parquet") for name in ("metrics", "doses", "states")}
    params = {"model": {"name": "llama", "max_tokens": None, **entry}, "variant": "original", "shard": "000"}
    params |= {"n_reviews": 3, "condition": ["untouched"], "metrics": ["cosine_anisotropy"], "seed": 0, "code": "1"}
    run_script("read_in_condition", tmp_path / "log", inputs, outputs, params)
    doses, states = (read_table(outputs[name]) for name in ("doses", "states"))
    for name, text in zip(NAMES[:2], EMBEDDED[:2], strict=True):  # the third is cut
        layers, logits, ids = hidden_states(tmp_path / "llama", text)
        own = states.filter(review_id=name).sort("layer")
        np.testing.assert_allclose(np.stack(own["state"].to_list()), layers[:, 1:].mean(axis=1), atol=2e-6)
        row = doses.filter(review_id=name).row(0, named=True)
        loss = torch.nn.functional.cross_entropy(logits[:-1], ids[1:])
        assert row["cross_entropy"] == pytest.approx(float(loss), abs=1e-5)
        assert row["kl"] == 0


def test_massive_tokens_and_the_first_are_no_part_of_the_mean():
    states = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(pooled(list(states), {2}), states[:, [1, 3]].mean(axis=1))
    assert np.isnan(pooled(list(states), {1, 2, 3})).all()
