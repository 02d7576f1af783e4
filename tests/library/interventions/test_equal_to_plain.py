"""Every kind of intervention equals its independent implementation, on the eager attention of transformers."""

import numpy as np
import pytest

from homogenization.interventions.conditions import CONSTANT, MASKED, POSITIONS, STEERING, Condition, blocks_of
from homogenization.interventions.passes import divergence
from homogenization.interventions.patterns import PATTERNS, drawn_place, scattered_place
from homogenization.interventions.schedule import Reviews, apply
from plain_interventions import plain_masked, plain_steering, run_plainly, tiny_language_model
from tiny_models import BIDIRECTIONAL, CONFIGS, random_texts

LENGTHS = [41, 9, 150]  # one alone, one shorter than a window, one of two chunks of queries
TEXTS = random_texts(LENGTHS)
STEERINGS = [Condition(STEERING, name, 0.3, "2,3") for name in PATTERNS if name != "permuted"]
OTHERS = [Condition(MASKED, "first"), Condition(MASKED, "random_2")]
ROTARY = [Condition(POSITIONS, CONSTANT)]


def plain_of(condition, reviews, text):
    """The independent implementation of a condition for one text, and its positions."""
    n_tokens = LENGTHS[text]
    if condition.kind == STEERING:
        blocks = blocks_of(condition.blocks, reviews.model.n_blocks, "tiny")
        return plain_steering(
            condition.pattern, condition.strength, blocks, scattered_place(n_tokens, reviews.draw(text))
        ), None
    if condition.kind == MASKED:
        place = 0 if condition.pattern == "first" else drawn_place(1, n_tokens, reviews.draw(text), condition.pattern)
        return plain_masked([place]), None
    return lambda _block, attention: attention, np.zeros(n_tokens, dtype=np.int64)


@pytest.mark.parametrize("name", [name for name in CONFIGS if name != "gpt_neox_sequential"])
def test_every_condition_equals_its_plain_implementation(name):
    made, model = tiny_language_model(name, CONFIGS[name])
    reviews = Reviews(model, name, ["a", "b", "c"], TEXTS, 0)
    conditions = STEERINGS + OTHERS + ([] if name in {"gpt2", *BIDIRECTIONAL} else ROTARY)
    for condition in conditions:
        moved = 0.0
        for text in range(len(TEXTS)):
            untouched = reviews.through(text)()
            changed = apply(condition, reviews, text, untouched)
            moved = max(moved, np.abs(changed.states[-1] - untouched.states[-1]).max())
            plain, positions = plain_of(condition, reviews, text)
            states, logits = run_plainly(made, TEXTS[text], plain, positions)
            difference = np.linalg.norm(np.stack(changed.states) - states, axis=-1) / np.linalg.norm(states, axis=-1)
            assert difference.mean() < 1e-5, (condition.name, text, difference.mean())
            if logits is not None:
                assert abs(divergence(changed.logits, logits[0])) < 1e-5, condition.name
        # a norm after the attention of Gemma 2 undoes a common factor
        nothing = name == "gemma2" and condition.pattern == "removed"
        assert (moved < 1e-2) == nothing, condition.name
