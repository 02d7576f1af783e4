"""What has to come out whatever the weights: no dose, massive tokens; what is refused; and on a trained model."""

from itertools import count

import numpy as np
import polars as pl
import pytest
import torch

from conftest import SHARED
from extracted import EMBEDDED
from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions import passes
from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition, conditions_of
from homogenization.interventions.doses import damage, norms_attention
from homogenization.interventions.intervened import intervene
from homogenization.interventions.passes import run, run_in
from homogenization.interventions.patterns import PATTERNS
from homogenization.metrics.geometry import TokenMatrix, cosine_anisotropy
from homogenization.models.network import load_model
from homogenization.models.tokens import tokenize
from homogenization.run.errors import HomogenizationError
from plain_interventions import tiny_language_model
from tiny_models import BIDIRECTIONAL, CONFIGS, WITHOUT_INTERFACE, random_texts

NAMES = [name for name in CONFIGS if name != "gpt_neox_sequential"]
TEXTS = list(map(np.array, random_texts([40, 7, 140])))
STORIES = SHARED / "models/stories260k"
EVERY = {
    "blocks": ["all"],
    "steering": {"patterns": list(PATTERNS), "strengths": [0.2]},
    "masked": ["first", "random", "most_attended", "massive"],
    "positions": None,
}


def tiny(name):
    return tiny_language_model(name, CONFIGS[name])


@pytest.mark.parametrize("name", NAMES)
def test_no_dose_is_no_steering_bit_for_bit_and_no_damage(name):
    model = tiny(name)
    for text in TEXTS:
        untouched = run(model, text)
        for pattern in PATTERNS:
            changed = run_in(Condition(STEERING, pattern, 0.0), model, text, untouched, draw=b"r")
            assert all(np.array_equal(*layers) for layers in zip(changed.states, untouched.states, strict=True))
            assert changed.moved_mass == 0.0
            assert damage(untouched, changed, text)[0] in (0.0, None)


@pytest.mark.parametrize("name", sorted(set(NAMES) - BIDIRECTIONAL))
def test_the_first_token_of_a_causal_model_never_moves(name):
    """It reads itself alone, so only what takes mass away (`removed`) can move it."""
    model = tiny(name)
    untouched = run(model, TEXTS[0])
    for condition in conditions_of(EVERY):
        if condition.pattern != "removed":
            changed = run_in(condition, model, TEXTS[0], untouched, draw=b"r")
            for ours, before in zip(changed.states, untouched.states, strict=True):
                np.testing.assert_allclose(ours[0], before[0], rtol=1e-5, atol=1e-5, err_msg=condition.name)


def test_massive_keys_are_masked_until_none_is_left():
    """Token 2 of every review is massive through its feed-forward network, whatever attention does."""
    model = tiny("llama")
    with torch.no_grad():
        model.network.get_input_embeddings().weight[299] *= 500
    for text in TEXTS:
        marked = np.array([*text[:2], 299, *text[3:]])
        untouched = run(model, marked)
        assert 2 in untouched.massive
        changed = run_in(Condition(MASKED, "massive"), model, marked, untouched, draw=b"r")
        assert changed.moved_mass > 0
        assert changed.received[2] <= 1 + 1e-4, "its own query alone reads it"


def test_massive_keys_that_follow_each_other_are_masked_eight_times(monkeypatch, caplog):
    """As in trained models, where the token behind a masked one grows massive."""
    grown, shut, masked = count(1), [], passes.masked
    monkeypatch.setattr(passes, "massive_tokens", lambda _: frozenset(range(next(grown))))
    monkeypatch.setattr(passes, "masked", lambda places: shut.append(len(places)) or masked(places))
    model = tiny("llama")
    run_in(Condition(MASKED, "massive"), model, TEXTS[0], run(model, TEXTS[0]), draw=b"r")
    assert shut == list(range(1, 9))
    assert "a further token is massive after 8 rounds" in caplog.text


def test_both_sides_of_a_difference_have_the_same_tokens(monkeypatch):
    """`without_first` leaves out what is massive in either run."""
    model, places = tiny("llama"), iter([{5}, {7}])
    monkeypatch.setattr(passes, "massive_tokens", lambda _: frozenset(next(places)))
    made = intervene(model, {"a": TEXTS[0]}, Condition(STEERING, "first", 0.9), ["cosine_anisotropy"], seed=0)
    monkeypatch.undo()
    untouched = run(model, TEXTS[0])
    changed = run_in(Condition(STEERING, "first", 0.9), model, TEXTS[0], untouched, draw=seeded_hash(0, "a"))
    rows = made["metrics"].filter(view="without_first").sort("layer")
    for column, of_run in (("value", changed), ("untouched", untouched)):
        expected = [cosine_anisotropy(TokenMatrix(np.delete(of, [0, 5, 7], axis=0))) for of in of_run.states]
        np.testing.assert_allclose(rows[column], expected, rtol=1e-5)
    assert made["doses"]["n_massive"].to_list() == [1]


@pytest.mark.parametrize("name", ["falcon", "bloom"])
def test_attention_that_is_out_of_reach_is_refused_but_its_states_are_read(name):
    model = tiny_language_model(name, WITHOUT_INTERFACE[name])
    assert not norms_attention(model)
    reviews = {"a": TEXTS[1]}
    assert intervene(model, reviews, Condition(UNTOUCHED), ["cosine_anisotropy"], seed=0)["doses"]["kl"].to_list() == [
        0.0
    ]
    for condition in (Condition(STEERING, "first", 0.1), Condition(MASKED, "most_attended")):
        with pytest.raises(HomogenizationError, match=f"{model.architecture}: its attention can't be changed"):
            intervene(model, reviews, condition, ["cosine_anisotropy"], seed=0)


@pytest.mark.parametrize(
    ("name", "condition", "said"),
    [
        ("gpt2", Condition(POSITIONS, "constant"), "GPT2Model has no rotary positions"),
        ("bert", Condition(POSITIONS, "constant"), "BertModel has no rotary positions"),
        ("llama", Condition(STEERING, "first", 0.1, "4"), "'4' names blocks that .* numbers from 1 to 3"),
    ],
)
def test_what_a_model_can_not_do_is_refused(name, condition, said):
    with pytest.raises(HomogenizationError, match=said):
        intervene(tiny(name), {"a": TEXTS[1]}, condition, ["cosine_anisotropy"], seed=0)


@pytest.mark.skipif(not STORIES.is_dir(), reason="needs the model stories260k in the folder `shared`")
def test_steering_on_a_trained_model():
    """stories260k: mass on the first token, and its removal, make tokens less alike; on other patterns, more."""
    weights = {"weights": {"path": str(STORIES)}, "dtype": "float32", "device": "cpu", "bos": "always"}
    model = load_model(weights)
    names = ["r0", "r1", "r2"]
    reviews = dict(zip(names, tokenize(model.tokenizer, names, EMBEDDED[:3], "always").by_review, strict=True))
    conditions = [Condition(UNTOUCHED), *(Condition(STEERING, name, 0.1) for name in PATTERNS)]
    metrics = ["cosine_anisotropy", "cosine_to_first_token"]
    made = [intervene(model, reviews, condition, metrics, seed=0) for condition in conditions]
    table, doses = (pl.concat(one[name] for one in made) for name in ("metrics", "doses"))
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
