"""What has to come out whatever the weights: no dose, packing, massive tokens; and on a trained model."""

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
from homogenization.interventions.schedule import Pack, apply
from homogenization.models.tokens import tokenize
from homogenization.states.model import load_model
from homogenization.states.network import run_packed
from plain_interventions import tiny_language_model
from tiny_blocks import EMBEDDED
from tiny_models import BIDIRECTIONAL, CONFIGS, random_texts

NAMES = [name for name in CONFIGS if name != "gpt_neox_sequential"]
LENGTHS = [40, 7, 140]
TEXTS = random_texts(LENGTHS)
IDS = np.concatenate(TEXTS)
DRAWS = [bytes([number]) for number in range(len(LENGTHS))]
STORIES = SHARED / "models/stories260k"
EVERY = {
    "blocks": ["all"],
    "steering": {"patterns": list(PATTERNS), "strengths": [0.2]},
    "masked": ["first", "random", "most_attended", "massive"],
    "positions": None,
}


def pack_of(name):
    return Pack(tiny_language_model(name, CONFIGS[name])[1], name, ["a", "b", "c"], TEXTS, 0)


@pytest.mark.parametrize("name", NAMES)
def test_no_dose_is_no_steering_bit_for_bit_and_no_damage(name):
    pack = pack_of(name)
    untouched = pack.through()
    plain: list[np.ndarray] = []
    # a window or a cap has the same route as steering; elsewhere, recording the attention takes it
    run_packed(pack.model, IDS, LENGTHS, True, lambda _, states: plain.append(states.numpy().copy()))
    for pattern in PATTERNS:
        changed = apply(Condition(STEERING, pattern, 0.0), pack, untouched)
        for ours, before, stored in zip(changed.states, untouched.states, plain, strict=True):
            assert np.array_equal(ours, before)
            assert np.array_equal(ours, stored)
        assert changed.moved_mass.tolist() == [0.0] * 3
        if changed.network is not None:
            assert all(torch.equal(changed.logits_of(review), untouched.logits_of(review)) for review in range(3))
            assert damage(untouched, changed, IDS).rows()[:, 0].tolist() == [0.0] * 3


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "bert"])
def test_a_pack_gives_what_its_reviews_give_alone(name):
    pack = pack_of(name)
    untouched = pack.through()
    for condition in conditions_of(EVERY):
        together = apply(condition, pack, untouched)
        for review in range(len(LENGTHS)):
            alone_pack = pack.part([review])
            alone = apply(condition, alone_pack, alone_pack.through())
            for ours, single in zip(together.states_of(review), alone.states, strict=True):
                np.testing.assert_allclose(ours, single, rtol=1e-5, atol=1e-5, err_msg=condition.name)
            assert together.massive[review] == alone.massive[0]
            assert together.moved_mass[review] == pytest.approx(alone.moved_mass[0], rel=1e-5, nan_ok=True)


def test_massive_keys_are_masked_until_none_is_left():
    """Token 2 of every review is massive through its feed-forward network, whatever attention does."""
    pack = pack_of("llama")
    marked = [[*text[:2], 299, *text[3:]] for text in TEXTS]
    with torch.no_grad():
        pack.model.network.get_input_embeddings().weight[299] *= 500
    pack = Pack(pack.model, "llama", pack.names, marked, 0)
    untouched = pack.through()
    assert all(2 in massive for massive in untouched.massive)
    masked = apply(Condition(MASKED, "massive"), pack, untouched)
    assert (masked.moved_mass > 0).all()
    shut = [received[2] * pack.model.n_blocks for received in masked.received]
    assert all(received <= pack.model.n_blocks + 1e-4 for received in shut), "its own query alone reads it"


def test_massive_keys_that_follow_each_other_are_masked_eight_times(monkeypatch, caplog):
    """As in trained models, where the token behind a masked one grows massive."""
    pack = pack_of("llama")
    grown = count(1)
    monkeypatch.setattr(Run, "massive", property(lambda run: [frozenset(range(next(grown)))] * len(run.changed)))
    shut = []
    monkeypatch.setattr(changes, "masked", lambda places: shut.append([len(masked) for masked in places]))
    apply(Condition(MASKED, "massive"), pack, pack.through())
    assert shut == [[number] * len(TEXTS) for number in range(1, 9)]
    assert f"in {len(TEXTS)} of {len(TEXTS)} reviews a further token is massive after 8 rounds" in caplog.text


@pytest.mark.skipif(not STORIES.is_dir(), reason="needs the model stories260k in the folder `shared`")
def test_steering_on_a_trained_model():
    """stories260k: mass on the first token, and its removal, make tokens less alike; on other patterns, more."""
    weights = {"weights": {"path": str(STORIES)}, "dtype": "float32", "device": "cpu", "bos": "always"}
    model = load_model(weights | {"max_tokens": None}, head=True)
    texts = EMBEDDED[:3]
    names = [f"r{number}" for number in range(3)]
    tokens = tokenize(model.tokenizer, names, texts, "always")
    reviews = Pack(model.with_head, "stories", names, tokens.by_review, 0)
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
    pack = pack_of(name)
    untouched = pack.through()
    for condition in conditions_of(EVERY):
        if condition.pattern == "removed":
            continue
        changed = apply(condition, pack, untouched)
        for ours, before in zip(changed.states, untouched.states, strict=True):
            firsts = changed.offsets[:-1]
            np.testing.assert_allclose(ours[firsts], before[firsts], rtol=1e-5, atol=1e-5, err_msg=condition.name)
