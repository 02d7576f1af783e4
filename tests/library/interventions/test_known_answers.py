"""What has to come out whatever the weights: no dose, massive tokens; and on a trained model."""

from itertools import count

import numpy as np
import polars as pl
import pytest
import torch

from conftest import SHARED
from homogenization.interventions import changes
from homogenization.interventions.conditions import MASKED, STEERING, UNTOUCHED, Condition, conditions_of
from homogenization.interventions.intervened import intervene
from homogenization.interventions.passes import Run, damage
from homogenization.interventions.patterns import PATTERNS
from homogenization.interventions.schedule import Reviews, apply
from homogenization.models.tokens import tokenize
from homogenization.states.model import load_model
from homogenization.states.network import forward
from plain_interventions import tiny_language_model
from tiny_blocks import EMBEDDED
from tiny_models import BIDIRECTIONAL, CONFIGS, random_texts

NAMES = [name for name in CONFIGS if name != "gpt_neox_sequential"]
LENGTHS = [40, 7, 140]
TEXTS = random_texts(LENGTHS)
STORIES = SHARED / "models/stories260k"
EVERY = {
    "blocks": ["all"],
    "steering": {"patterns": list(PATTERNS), "strengths": [0.2]},
    "masked": ["first", "random", "most_attended", "massive"],
    "positions": None,
}


def reviews_of(name):
    return Reviews(tiny_language_model(name, CONFIGS[name])[1], name, ["a", "b", "c"], TEXTS, 0)


@pytest.mark.parametrize("name", NAMES)
def test_no_dose_is_no_steering_bit_for_bit_and_no_damage(name):
    reviews = reviews_of(name)
    for place, text in enumerate(TEXTS):
        untouched = reviews.through(place)()
        plain: list[np.ndarray] = []
        forward(reviews.model, text, lambda _, states, plain=plain: plain.append(states.numpy().copy()))
        for pattern in PATTERNS:
            changed = apply(Condition(STEERING, pattern, 0.0), reviews, place, untouched)
            for ours, before, stored in zip(changed.states, untouched.states, plain, strict=True):
                assert np.array_equal(ours, before)
                assert np.array_equal(ours, stored)
            assert changed.moved_mass == 0.0
            if changed.logits is not None:
                assert torch.equal(changed.logits, untouched.logits)
                assert damage(untouched, changed, text)[0] == 0.0


def test_massive_keys_are_masked_until_none_is_left():
    """Token 2 of every review is massive through its feed-forward network, whatever attention does."""
    model = reviews_of("llama").model
    marked = [[*text[:2], 299, *text[3:]] for text in TEXTS]
    with torch.no_grad():
        model.network.get_input_embeddings().weight[299] *= 500
    reviews = Reviews(model, "llama", ["a", "b", "c"], marked, 0)
    for place in range(len(marked)):
        untouched = reviews.through(place)()
        assert 2 in untouched.massive
        masked = apply(Condition(MASKED, "massive"), reviews, place, untouched)
        assert masked.moved_mass > 0
        assert masked.received[2] * model.n_blocks <= model.n_blocks + 1e-4, "its own query alone reads it"


def test_massive_keys_that_follow_each_other_are_masked_eight_times(monkeypatch, caplog):
    """As in trained models, where the token behind a masked one grows massive."""
    reviews = reviews_of("llama")
    grown = count(1)
    monkeypatch.setattr(Run, "massive", property(lambda run: frozenset(range(next(grown)))))
    shut = []
    monkeypatch.setattr(changes, "masked", lambda places: shut.append(len(places)))
    apply(Condition(MASKED, "massive"), reviews, 0, reviews.through(0)())
    assert shut == list(range(1, 9))
    assert "in review a a further token is massive after 8 rounds" in caplog.text


@pytest.mark.skipif(not STORIES.is_dir(), reason="needs the model stories260k in the folder `shared`")
def test_steering_on_a_trained_model():
    """stories260k: mass on the first token, and its removal, make tokens less alike; on other patterns, more."""
    weights = {"weights": {"path": str(STORIES)}, "dtype": "float32", "device": "cpu", "bos": "always"}
    model = load_model(weights | {"max_tokens": None}, head=True)
    texts = EMBEDDED[:3]
    names = [f"r{number}" for number in range(3)]
    tokens = tokenize(model.tokenizer, names, texts, "always")
    reviews = Reviews(model.with_head, "stories", names, tokens.by_review, 0)
    conditions = [Condition(UNTOUCHED), *(Condition(STEERING, name, 0.1) for name in PATTERNS)]
    identity = {"model": "stories", "variant": "original"}
    metrics = ["cosine_anisotropy", "cosine_to_first_token"]
    made = [intervene(reviews, condition, metrics, identity) for condition in conditions]
    table, doses = (pl.concat(getattr(one, name) for one in made) for name in ("metrics", "doses"))
    last = table.filter(layer=5, view="all_tokens").group_by("condition", "metric").agg(pl.col("value").mean())
    cosine = dict(last.filter(metric="cosine_anisotropy").select("condition", "value").rows())
    change = {key: value - cosine["untouched"] for key, value in cosine.items()}
    assert -0.05 < change["steering-first-0.1-all"] < -0.015
    assert -0.05 < change["steering-removed-0.1-all"] < -0.015
    for name in ("uniform", "scattered", "permuted", "recency", "self"):
        assert 0.005 < change[f"steering-{name}-0.1-all"] < 0.05, name
    to_first = dict(last.filter(metric="cosine_to_first_token").select("condition", "value").rows())
    assert to_first["steering-first-0.1-all"] > to_first["untouched"] + 0.01
    kl = dict(doses.group_by("condition").agg(pl.col("kl").mean()).rows())
    assert kl.pop("untouched") == 0
    assert all(0.001 < divergence < 0.2 for divergence in kl.values()), kl


@pytest.mark.parametrize("name", sorted(set(NAMES) - BIDIRECTIONAL))
def test_the_first_token_of_a_causal_model_never_moves(name):
    """It reads itself alone, so only what takes mass away (`removed`) can move it."""
    reviews = reviews_of(name)
    for place in range(len(TEXTS)):
        untouched = reviews.through(place)()
        for condition in conditions_of(EVERY):
            if condition.pattern == "removed":
                continue
            changed = apply(condition, reviews, place, untouched)
            for ours, before in zip(changed.states, untouched.states, strict=True):
                np.testing.assert_allclose(ours[0], before[0], rtol=1e-5, atol=1e-5, err_msg=condition.name)
