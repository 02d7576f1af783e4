"""Interventions once more, on the eager attention of transformers, text by text: softmax is replaced, rows in loops."""

import copy
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import torch
import transformers

from homogenization.states.network import transformer_of
from tiny_models import BIDIRECTIONAL


def tiny_language_model(name, config):
    """A tiny network with a head where it is causal, and its `Transformer` with the head."""
    torch.manual_seed(0)
    auto = transformers.AutoModel if name in BIDIRECTIONAL else transformers.AutoModelForCausalLM
    made = auto.from_config(copy.deepcopy(config), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in made.base_model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    return made, replace(transformer_of(made.base_model), network=made)


def run_plainly(made, token_ids, change, positions=None):
    """Residual stream (layers, tokens, width) and logits of a text; `change(block, A)` takes (heads, n, n) float64."""
    softmax, blocks = torch.nn.functional.softmax, iter(range(100))

    def changed(scores, *arguments, **named):
        weights = softmax(scores, *arguments, **named)
        rows = change(next(blocks), weights[0].double().numpy())
        return torch.from_numpy(rows)[None].to(weights.dtype)

    before = made.config._attn_implementation
    made.set_attn_implementation("eager")
    made.config.tie_last_hidden_states = False
    states = []
    base = made.base_model
    listed = next(module for module in base.modules() if isinstance(module, torch.nn.ModuleList))
    hooks = [listed[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0][0].clone()))]

    def keep(_module, _inputs, output):
        states.append((output[0] if isinstance(output, tuple) else output)[0].clone())

    hooks += [block.register_forward_hook(keep) for block in listed]
    ids = torch.tensor([token_ids])
    named = {} if positions is None else {"position_ids": torch.as_tensor(positions)[None]}
    with torch.no_grad(), patch("torch.nn.functional.softmax", changed):
        output = made(ids, attention_mask=torch.ones_like(ids), use_cache=False, **named)
    for hook in hooks:
        hook.remove()
    made.set_attn_implementation(before)
    return torch.stack(states).numpy(), getattr(output, "logits", None)


def plain_steering(pattern, strength, blocks, scattered):
    """A' = (1 - λ) A + λ P in `blocks`, row by row; what a query sees is where its weights are not 0.

    Rows that do not see the first token stay.
    """

    def row_of(query, row):
        seen, n = np.flatnonzero(row), len(row)
        if 0 not in seen:
            return row
        target = {"first": 0, "second": 1, "self": query, "scattered": scattered}.get(pattern)
        if target is not None:
            return np.eye(n)[target] if target in seen else row
        if pattern == "ends":
            return (np.eye(n)[0] + np.eye(n)[seen[-1]]) / 2
        if pattern == "removed":
            return np.zeros(n)
        shares = np.zeros(n)
        shares[seen] = [1.0 if pattern == "uniform" else 0.5 ** (abs(query - key) / 4) for key in seen]
        return shares / shares.sum()

    def change(block, attention):
        if block not in blocks:
            return attention
        made = [[(1 - strength) * row + strength * row_of(i, row) for i, row in enumerate(head)] for head in attention]
        return np.array(made)

    return change


def plain_masked(places):
    """Keys of `places` that only their own query reads; rows are divided by their sums."""

    def change(_block, attention):
        attention = attention.copy()
        for query in range(attention.shape[1]):
            for key in set(places) - {query}:
                attention[:, query, key] = 0
        return attention / attention.sum(axis=-1, keepdims=True)

    return change
