"""Every condition, in every kind of network, equals its independent implementation on transformers' eager attention."""

import numpy as np
import polars as pl
import pytest
import transformers

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition, blocks_of
from homogenization.interventions.doses import norms_attention
from homogenization.interventions.intervened import intervene
from homogenization.interventions.passes import run, run_in
from homogenization.interventions.patterns import PATTERNS, drawn_place
from plain_interventions import plain_damage, plain_masked, plain_metrics, plain_steering, run_plainly
from tiny_models import _GROUPED, CONFIGS, FURTHER, language_model, random_texts

_MIXED = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"], "sliding_window": 12}
MADE = {
    "gemma3": transformers.Gemma3TextConfig(**_GROUPED, **_MIXED, head_dim=16, query_pre_attn_scalar=16),
    "olmo2": transformers.Olmo2Config(**_GROUPED, rms_norm_eps=1e-9),
}
ARCHITECTURES = (
    CONFIGS | {name: FURTHER[name] for name in ("qwen3", "smollm3", "mistral", "mixtral", "phi", "glm4")} | MADE
)
POST_NORM = {"gemma2", "gemma3", "olmo2", "glm4"}
LENGTHS = {"a": 41, "b": 9, "c": 150}  # one shorter than a window, one whose orders are drawn twice
TEXTS = dict(zip(LENGTHS, map(np.array, random_texts(list(LENGTHS.values()))), strict=True))
CONDITIONS = [
    *(Condition(STEERING, name, 0.3, "2,3") for name in PATTERNS),
    *(Condition(MASKED, name) for name in ("first", "random_2", "most_attended", "massive")),
    Condition(POSITIONS, "constant"),
]
METRICS = ["cosine_anisotropy", "max_explainable_variance", "normalized_effective_rank", "cosine_to_first_token"]


def plain_of(condition, review, untouched):
    """The independent implementation of a condition for one text, and its positions."""
    n_tokens, draw = LENGTHS[review], seeded_hash(0, review)
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, 3)
        scattered = drawn_place(1, -(-n_tokens // 4), draw, "scattered")
        return plain_steering(condition.pattern, condition.strength, blocks, draw, scattered), None
    if condition.kind == MASKED:
        drawn = drawn_place(1, n_tokens, draw, condition.pattern)
        most = int(untouched.received.argmax())
        places = {"first": [0], "random_2": [drawn], "most_attended": [most], "massive": []}
        return plain_masked(places[condition.pattern]), None
    return None, np.zeros(n_tokens, dtype=np.int64)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_condition_equals_its_plain_implementation(name):
    model = language_model(name, ARCHITECTURES[name])
    rotary = name not in {"gpt2", "bert"}
    runs = {review: run(model, token_ids) for review, token_ids in TEXTS.items()}
    plain = {review: run_plainly(model.network, token_ids) for review, token_ids in TEXTS.items()}
    for condition in CONDITIONS[: None if rotary else -1]:
        moved = 0.0
        for review, token_ids in TEXTS.items():
            untouched = runs[review]
            changed = run_in(condition, model, token_ids, untouched, draw=seeded_hash(0, review))
            after = run_plainly(model.network, token_ids, *plain_of(condition, review, plain[review]))
            distance = np.linalg.norm(np.stack(changed.states) - after.states, axis=-1)
            assert (distance / np.linalg.norm(after.states, axis=-1)).mean() < 1e-5, (condition.name, review)
            received = after.own.mean(axis=1).sum(axis=1).mean(axis=0) if condition.kind == STEERING else after.received
            np.testing.assert_allclose(changed.received, received, atol=1e-4, err_msg=condition.name)
            moved = max(moved, np.abs(changed.states[-1] - untouched.states[-1]).max())
        norm_undoes_it = name in POST_NORM and condition.pattern == "removed"
        assert (moved < 1e-2) == (norm_undoes_it or condition.pattern == "massive"), (condition.name, moved)
    assert norms_attention(model) == (name in POST_NORM)


@pytest.mark.parametrize("name", ["llama", "gemma2", "qwen2_sliding", "gpt2", "bert"])
def test_the_tables_of_every_condition_have_the_plain_numbers(name):
    model = language_model(name, ARCHITECTURES[name])
    conditions = [Condition(UNTOUCHED), *CONDITIONS[::3], *CONDITIONS[-1:]]
    for condition in conditions if name not in {"gpt2", "bert"} else conditions[:-1]:
        tables = intervene(model, TEXTS, condition, METRICS, seed=0)
        for review, token_ids in TEXTS.items():
            before = run_plainly(model.network, token_ids)
            plain = (None, None) if condition.kind == UNTOUCHED else plain_of(condition, review, before)
            after = run_plainly(model.network, token_ids, *plain)
            dose = tables["doses"].row(by_predicate=pl.col("review_id") == review, named=True)
            kl, loss = plain_damage(before, after, token_ids)
            assert dose["kl"] == (None if kl is None else pytest.approx(kl, rel=1e-4, abs=1e-6)), condition.name
            assert dose["cross_entropy"] == (None if loss is None else pytest.approx(loss, rel=1e-5))
            changed_blocks = [1, 2] if condition.kind == STEERING else [0, 1, 2]
            moved = pytest.approx(after.moved[changed_blocks].mean(), abs=1e-6)
            assert dose["moved_mass"] == (None if condition.kind == POSITIONS else moved)
            left = list(range(1, len(token_ids)))
            for layer, (old, new) in enumerate(zip(before.states, after.states, strict=True)):
                rows = tables["metrics"].filter(review_id=review, layer=layer)
                found = {(row["view"], row["metric"]): row for row in rows.iter_rows(named=True)}
                untouched, values = plain_metrics(old, left), plain_metrics(new, left)
                assert found.keys() == values.keys()
                for cell, row in found.items():
                    assert row["value"] == pytest.approx(values[cell], rel=1e-4, abs=1e-5), (condition.name, cell)
                    assert row["untouched"] == pytest.approx(untouched[cell], rel=1e-4, abs=1e-5)
                pooled = tables["states"].filter(review_id=review, layer=layer)["state"][0].to_numpy()
                np.testing.assert_allclose(pooled, new[left].mean(axis=0), rtol=1e-3, atol=1e-4)
