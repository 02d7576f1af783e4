"""Interventions once more, on the eager attention of transformers, text by text: softmax is replaced, rows in loops."""

from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import torch

from homogenization.corpus.hashing import seeded_hash


@dataclass(frozen=True)
class Plain:
    """What transformers gives for one text: states (layers, n, d), logits (n, vocabulary) or None, attention."""

    states: np.ndarray
    logits: torch.Tensor | None
    own: np.ndarray  # weights (blocks, heads, n, n) as the softmax gives them
    used: np.ndarray  # those that weigh the values

    @property
    def received(self):
        return self.used.mean(axis=1).sum(axis=1).mean(axis=0)

    @property
    def moved(self):
        """By block, the total variation of both."""
        return np.abs(self.used - self.own).sum(axis=-1).mean(axis=(1, 2)) / 2


def run_plainly(made, token_ids, change=None, positions=None):
    """Run a text through a network of transformers; `change(block, A)` takes and returns (heads, n, n) float64."""
    softmax, own, used = torch.nn.functional.softmax, [], []

    def changed(scores, *arguments, **named):
        weights = softmax(scores, *arguments, **named)
        if scores.ndim < 4:  # that of a router
            return weights
        own.append(weights[0].double().numpy())
        used.append(own[-1] if change is None else change(len(own) - 1, own[-1]))
        return torch.from_numpy(used[-1])[None].to(weights.dtype)

    before = made.config._attn_implementation
    made.set_attn_implementation("eager")
    states = []
    listed = next(module for module in made.base_model.modules() if isinstance(module, torch.nn.ModuleList))
    hooks = [listed[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0][0].clone()))]

    def keep(_module, _inputs, output):
        states.append((output[0] if isinstance(output, tuple) else output)[0].clone())

    hooks += [block.register_forward_hook(keep) for block in listed]
    ids = torch.as_tensor(token_ids)[None]
    named = {} if positions is None else {"position_ids": torch.as_tensor(positions)[None]}
    with torch.no_grad(), patch("torch.nn.functional.softmax", changed):
        output = made(ids, attention_mask=torch.ones_like(ids), use_cache=False, **named)
    for hook in hooks:
        hook.remove()
    made.set_attn_implementation(before)
    logits = getattr(output, "logits", None)
    return Plain(torch.stack(states).numpy(), logits if logits is None else logits[0], np.stack(own), np.stack(used))


def plain_steering(pattern, strength, blocks, draw, scattered):
    """A' = (1 - λ) A + λ P in `blocks`, row by row; what a query sees is where its weights are not 0.

    Rows that do not see the first token stay. Of `permuted`, 128 queries of a block draw together.
    """

    def permuted(block, query, row, seen, n_keys):
        start = query // 128 * 128
        name = seeded_hash(0, draw.hex(), "weights", block, start)
        drawn = np.random.default_rng(int.from_bytes(name)).random((query - start + 1, n_keys))[-1]
        made = np.zeros(len(row))
        made[seen] = row[seen[np.argsort(drawn[seen])]]
        return made

    def row_of(block, query, row, n_keys):
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
        if pattern == "permuted":
            return permuted(block, query, row, seen, n_keys)
        shares = np.zeros(n)
        shares[seen] = [1.0 if pattern == "uniform" else 0.5 ** (abs(query - key) / 4) for key in seen]
        return shares / shares.sum()

    def change(block, attention):
        if block not in blocks:
            return attention
        n = attention.shape[1]
        n_keys = [np.flatnonzero(attention[0, start : start + 128].any(axis=0))[-1] + 1 for start in range(0, n, 128)]
        targets = [[row_of(block, i, row, n_keys[i // 128]) for i, row in enumerate(head)] for head in attention]
        return (1 - strength) * attention + strength * np.array(targets)

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


def plain_metrics(tokens, left):
    """By view and metric, likeness of tokens (n, d); `left` are those without the first and the massive ones."""
    tokens = tokens.astype(np.float64)
    n, found = len(tokens), {}
    views = {"all_tokens": tokens, "without_first": tokens[left], "centred": tokens - tokens.mean(axis=0)}
    for view, rows in (views | {"after_quarter": tokens[max(1, -(-n // 4)) :]}).items():
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        pairs = ~np.eye(len(rows), dtype=bool)
        found[view, "cosine_anisotropy"] = (units @ units.T)[pairs].mean()
        sigma = np.linalg.svd(rows, compute_uv=False)
        sigma = sigma[sigma > 1e-9 * sigma[0]]
        found[view, "max_explainable_variance"] = sigma[0] ** 2 / (sigma**2).sum()
        shares, largest = sigma / sigma.sum(), min(len(rows) - (view == "centred"), rows.shape[1])
        found[view, "normalized_effective_rank"] = np.exp(-(shares * np.log(shares)).sum()) / largest
        if view == "all_tokens":
            found[view, "cosine_to_first_token"] = (units[1:] @ units[0]).mean()
    return found


def plain_damage(before, after, token_ids):
    """KL of the next token from the run before, and cross-entropy after, in nats; None without logits."""
    if before.logits is None:
        return None, None
    p, q = (one.logits.double().softmax(-1).numpy() for one in (before, after))
    loss = [-np.log(q[place, token]) for place, token in enumerate(token_ids[1:])]
    return (p * np.log(p / q)).sum(axis=-1).mean(), np.mean(loss)
